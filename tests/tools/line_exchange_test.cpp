// Exchanges of cache lines, with threads as the two ranks.
#include "tool/bench/line_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace quadrille::tools {
namespace {

using Block = std::array<std::byte, LineExchange::most_bytes>;

Block block_of(int rank, int turn) {
  Block block;
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank * 101 + turn * 13));
  }
  return block;
}

// Turns in which the rank did not receive exactly the other's block.
int wrong_turns(std::byte* memory, int rank, std::size_t bytes, int turns) {
  LineExchange exchange;
  exchange.memory = memory;
  exchange.me = rank;
  int wrong = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const Block sent = block_of(rank, turn), others = block_of(1 - rank, turn), untouched = block_of(2, turn);
    Block received = untouched;
    exchange_lines(exchange, sent.data(), received.data(), bytes);
    const auto end = static_cast<std::ptrdiff_t>(bytes);
    const bool right = std::equal(others.begin(), others.begin() + end, received.begin()) &&
                       std::equal(untouched.begin() + end, untouched.end(), received.begin() + end);
    if (!right) ++wrong;
  }
  return wrong;
}

TEST(LineExchange, EachRankReceivesTheOthersBlockOfTheSameTurn) {
  struct alignas(64) Shared {
    std::byte bytes[LineExchange::memory_bytes];
  };
  for (const std::size_t bytes : {1, 7, 8, 59, 60, 61, 64, 120, 121, 512}) {
    const auto shared = std::make_unique<Shared>();
    std::array<int, 2> wrong{-1, -1};
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back(
          [&, rank] { wrong[static_cast<std::size_t>(rank)] = wrong_turns(shared->bytes, rank, bytes, 2000); });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(wrong[0], 0) << bytes;
    EXPECT_EQ(wrong[1], 0) << bytes;
  }
}

}  // namespace
}  // namespace quadrille::tools
