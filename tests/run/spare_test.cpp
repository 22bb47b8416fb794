// The memory that is there when the system has none.
#include "memory/spare.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace quadrille {
namespace {

using memory::give_spare_back;
using memory::most_spare_bytes;
using memory::take_spare;

// As many blocks of so many bytes as there are, filled, so that two that overlap are seen.
std::vector<char*> take_all(std::size_t bytes) {
  std::vector<char*> blocks;
  while (auto* const block = static_cast<char*>(take_spare(bytes))) {
    std::memset(block, static_cast<int>(blocks.size() % 127), bytes);
    blocks.push_back(block);
  }
  return blocks;
}

TEST(Spare, IsGivenOnceUntilItComesBack) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{300}, std::size_t{4096}, most_spare_bytes}) {
    const std::vector<char*> blocks = take_all(bytes);
    ASSERT_GE(blocks.size() * most_spare_bytes, bytes * 8) << bytes;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[b]) % 64, 0U);
      EXPECT_EQ(blocks[b][0], static_cast<char>(b % 127));
      EXPECT_EQ(blocks[b][bytes - 1], static_cast<char>(b % 127));
    }
    for (char* block : blocks) EXPECT_TRUE(give_spare_back(block));
    const std::vector<char*> again = take_all(bytes);
    EXPECT_EQ(again.size(), blocks.size());
    for (char* block : again) EXPECT_TRUE(give_spare_back(block));
  }
}

TEST(Spare, FillsWhatCameBackBetweenOthers) {
  std::vector<char*> blocks = take_all(1000);
  EXPECT_TRUE(give_spare_back(blocks[3]));
  EXPECT_EQ(take_spare(1500), nullptr);
  EXPECT_EQ(take_spare(1000), blocks[3]);
  for (char* block : blocks) EXPECT_TRUE(give_spare_back(block));
}

TEST(Spare, RefusesWhatIsLargeOrNotOfIt) {
  int here = 0;
  EXPECT_EQ(take_spare(most_spare_bytes + 1), nullptr);
  EXPECT_FALSE(give_spare_back(&here));
  EXPECT_FALSE(give_spare_back(nullptr));
}

}  // namespace
}  // namespace quadrille
