// Blocks that are cut in rounds.
#include <gtest/gtest.h>

#include <vector>

#include "plan/chunks.hpp"

namespace quadrille::plan {
namespace {

TEST(ChunkRounds, TheExampleIsWhatIsSaid) {
  const ChunkRounds cut{4};
  EXPECT_EQ(cut.rounds(10), 3U);
  std::vector<std::uint64_t> moved;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (const std::uint64_t block : {10U, 3U}) moved.push_back(cut.bytes(round, block));
  }
  EXPECT_EQ(moved, (std::vector<std::uint64_t>{4, 3, 4, 0, 2, 0}));
}

// One behind the other, as many rounds as are needed, and none without bytes.
TEST(ChunkRounds, AllBytesMoveOnce) {
  for (const std::uint64_t piece : {1U, 4U, 4096U}) {
    const ChunkRounds cut{piece};
    for (std::uint64_t block = 0; block < 3 * piece + 3; ++block) {
      std::uint64_t at = 0;
      for (std::uint64_t round = 0; round < cut.rounds(block); ++round) {
        EXPECT_EQ(cut.begin(round), at);
        EXPECT_GT(cut.bytes(round, block), 0U);
        EXPECT_LE(cut.bytes(round, block), piece);
        at += cut.bytes(round, block);
      }
      EXPECT_EQ(at, block);
      EXPECT_EQ(cut.bytes(cut.rounds(block), block), 0U);
      EXPECT_EQ(cut.bytes(cut.rounds(block) + 7, block), 0U);
    }
  }
}

TEST(ChunkRounds, SlotsHaveRoom) {
  constexpr std::uint64_t most = std::uint64_t{128} << 20, chunk = std::uint64_t{512} << 10;
  EXPECT_EQ(piece_within(chunk, 4, 4, most), chunk);
  EXPECT_EQ(piece_within(5000, 2, 4, most), 5000U);
  for (const std::uint64_t ranks : {2U, 31U, 32U, 33U, 100U, 1000U, 4000U, 4096U}) {
    const std::uint64_t piece = piece_within(chunk, 4, ranks, most);
    EXPECT_LE(2 * 4 * ranks * piece, most);
    EXPECT_GE(piece, 4096U);
    EXPECT_EQ(piece % 4096, 0U);
  }
  EXPECT_EQ(piece_within(chunk, 16, 32768, most), 4096U) << "never less";
}

}  // namespace
}  // namespace quadrille::plan
