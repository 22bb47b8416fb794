// The list of pieces that a kernel moves, executed on the host, against the regions that it represents.
#include "memory/device_pieces.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace quadrille::pieces_test {
namespace {

using quadrille::memory::are_many;
using quadrille::memory::Piece;
using quadrille::memory::pieces_of;
using quadrille::memory::Region;
using quadrille::memory::Regions;

constexpr std::size_t room = std::size_t{1} << 20;

// What the kernel does. Each unit has to be where its size allows.
void carry_out(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    ASSERT_GT(piece.count, 0U);
    ASSERT_EQ(piece.count % piece.units, 0U);
    ASSERT_TRUE(piece.unit == 1 || piece.unit == 4 || piece.unit == 8 || piece.unit == 16);
    for (std::uint32_t u = 0; u < piece.count; ++u) {
      const std::uint64_t at = u / piece.units * piece.pitch + std::uint64_t{u % piece.units} * piece.unit;
      ASSERT_EQ((piece.to + at) % piece.unit, 0U);
      ASSERT_EQ((piece.from + at) % piece.unit, 0U);
      std::memcpy(reinterpret_cast<void*>(piece.to + at), reinterpret_cast<const void*>(piece.from + at), piece.unit);
    }
  }
}

struct Memory {
  std::vector<unsigned char> device = std::vector<unsigned char>(room), host = std::vector<unsigned char>(room);
  std::intptr_t at(std::size_t offset) const {
    return reinterpret_cast<std::intptr_t>(device.data()) + static_cast<std::intptr_t>(offset);
  }
};

void expect_moved(const Regions& regions, Memory& memory, std::size_t ahead, bool to_host) {
  std::vector<unsigned char>& to = to_host ? memory.host : memory.device;
  const std::vector<unsigned char>& from = to_host ? memory.device : memory.host;
  for (std::size_t i = 0; i < room; ++i) {
    memory.device[i] = static_cast<unsigned char>(i * 31 + 1);
    memory.host[i] = static_cast<unsigned char>(i * 17 + 5);
  }
  std::vector<unsigned char> expected = to;
  const std::ptrdiff_t moved = memory.host.data() - memory.device.data() + static_cast<std::ptrdiff_t>(ahead);
  for (const Region& region : regions) {
    for (std::size_t row = 0; row < region.rows; ++row) {
      const std::size_t device = static_cast<std::size_t>(region.begin - memory.at(0)) + row * region.pitch;
      const std::size_t host = device + ahead;
      for (std::size_t i = 0; i < region.bytes; ++i)
        expected[(to_host ? host : device) + i] = from[(to_host ? device : host) + i];
    }
  }
  carry_out(pieces_of(regions, moved, to_host));
  EXPECT_EQ(to, expected) << "ahead " << ahead << (to_host ? " to the host" : " to the device");
}

TEST(DevicePieces, MoveWhatTheRegionsDescribe) {
  Memory memory;
  std::mt19937 random(1);
  const auto below = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most - 1)(random); };
  for (int turn = 0; turn < 60; ++turn) {
    Regions regions;
    std::size_t at = below(40);
    for (int i = 0; i < 30; ++i) {
      const std::size_t bytes = 1 + below(turn % 3 == 0 ? 20 : 3000), rows = 1 + below(5);
      const std::size_t pitch = bytes + 1 + below(turn % 2 == 0 ? 16 : 1000);
      if (at + rows * pitch + 200 > room - 100) break;
      regions.add(memory.at(at), bytes, rows, static_cast<std::ptrdiff_t>(pitch));
      at += rows * pitch + below(100);
    }
    regions.put_in_order();
    for (const std::size_t ahead : {std::size_t{0}, std::size_t{64}, std::size_t{4}, std::size_t{1}}) {
      expect_moved(regions, memory, ahead, turn % 2 == 0);
    }
  }
}

TEST(DevicePieces, OfLargeRegionsAreFew) {
  Memory memory;
  Regions regions;
  regions.add(memory.at(5), 300000, 2, 400001);
  for (const std::size_t ahead : {0, 4, 8, 1}) {
    expect_moved(regions, memory, ahead, true);
    EXPECT_LE(pieces_of(regions, static_cast<std::ptrdiff_t>(ahead), true).size(),
              2 * (300000 / 16384 + 3U));  // each row with its two ends
  }
}

TEST(DevicePieces, AreOfTheLargestUnitsThatThereAre) {
  for (const std::size_t apart : {16, 8, 4, 1}) {
    std::vector<Piece> pieces;
    quadrille::memory::add_pieces(pieces, 4099 + apart, 4099 + 1024, 5000, 1 << 14);
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) {
      if (piece.unit == apart) bytes += std::size_t{piece.count} * piece.unit;
    }
    EXPECT_GE(bytes, 5000 - 2 * apart) << apart;
    EXPECT_EQ(quadrille::memory::unit_between(4099 + apart, 4099 + 1024), apart);
  }
}

TEST(DevicePieces, OfOneCopyAreWhatABlockOfThreadsMovesAtOnce) {
  constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
  using quadrille::memory::bytes_of_piece;
  EXPECT_EQ(bytes_of_piece(1), 16 * KiB);
  EXPECT_EQ(bytes_of_piece(66 * MiB), 16 * KiB);
  EXPECT_EQ(bytes_of_piece(66 * MiB + 1), 32 * KiB);
  EXPECT_EQ(bytes_of_piece(1024 * MiB), 256 * KiB);
  for (const std::size_t apart : {16, 8, 4, 1}) {
    std::vector<Piece> pieces;
    quadrille::memory::add_pieces(pieces, 4099 + apart, 4099 + MiB, 100 * KiB + 77, 16 * KiB);
    EXPECT_LE(pieces.size(), 9U);
    std::uint64_t next = 4099 + apart;
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.to, next) << "one behind the other";
      EXPECT_LE(std::size_t{piece.count} * piece.unit, 16 * KiB);
      next += std::uint64_t{piece.count} * piece.unit;
    }
    EXPECT_EQ(next, 4099 + apart + 100 * KiB + 77);
  }
}

TEST(DevicePieces, AreWorthAKernelIfManyAndSmall) {
  Regions few, many, large;
  few.add(0, 8, 15, 16);
  many.add(0, 8, 16, 16);
  large.add(0, std::size_t{32} << 10, 16, std::ptrdiff_t{64} << 10);
  EXPECT_FALSE(are_many(few));
  EXPECT_TRUE(are_many(many));
  EXPECT_FALSE(are_many(large));
  EXPECT_FALSE(are_many(Regions{}));
}

// What was measured: a batch of copies costs 4 us each, a graph 1 us each, a kernel a twentieth of the time of the
// bytes.
TEST(DevicePieces, AreForAKernelInsideADevice) {
  using quadrille::memory::is_for_kernel;
  constexpr std::size_t MiB = std::size_t{1} << 20;
  EXPECT_TRUE(is_for_kernel({64, 64 * 4 * MiB, 16, true, false}));
  EXPECT_TRUE(is_for_kernel({4, 128, 16, true, false}));
  EXPECT_FALSE(is_for_kernel({1, 64, 16, true, false}));
  EXPECT_FALSE(is_for_kernel({4, 4 * 256 * MiB, 16, true, false}));
  EXPECT_FALSE(is_for_kernel({64, 64 * 4 * MiB, 1, true, false})) << "byte by byte";
  EXPECT_FALSE(is_for_kernel({64, 64 * 4 * MiB, 16, true, true})) << "a graph is as fast";
  EXPECT_TRUE(is_for_kernel({64, 64 * MiB / 2, 16, true, true}));
  EXPECT_TRUE(is_for_kernel({16, 16 * MiB / 2, 16, true, true})) << "15 us and 19";
  EXPECT_TRUE(is_for_kernel({16, 16 * MiB, 16, true, false})) << "a batch of them is slower";
  EXPECT_TRUE(is_for_kernel({64, 64 * MiB / 16, 16, true, true})) << "14 us and 58";
  EXPECT_FALSE(is_for_kernel({4, 4 * 64, 16, true, true})) << "a graph of four copies is faster";
  EXPECT_FALSE(is_for_kernel({64, 64 * MiB, 16, false, false})) << "over a bus";
  EXPECT_TRUE(is_for_kernel({64, 64 * 1000, 16, false, false}));
}

}  // namespace
}  // namespace quadrille::pieces_test
