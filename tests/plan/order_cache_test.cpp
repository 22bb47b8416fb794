// What the orders are for: they differ in cache misses. Each rank has a cache of its own, with full
// associativity and the least recently used line thrown out. The figures are exact, so that this is
// no measurement.
#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "plan/order.hpp"

namespace quadrille::plan {
namespace {

constexpr std::uint64_t kLine = 64;  // bytes

class Cache {
 public:
  explicit Cache(std::size_t lines) : lines_(lines) {}

  void touch(std::uint64_t line) {
    const auto found = where_.find(line);
    if (found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    ++misses_;
    if (order_.size() == lines_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(line);
    where_[line] = order_.begin();
  }
  std::uint64_t misses() const { return misses_; }

 private:
  const std::size_t lines_;
  std::uint64_t misses_ = 0;
  std::list<std::uint64_t> order_;  // latest first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
};

struct Blocks {
  int ranks;
  std::uint64_t bytes;
  bool alltoall;

  // The first byte of a block; buffers begin at a line, far apart.
  std::uint64_t send(Pair p) const {
    return buffer(2 * p.source) + (alltoall ? bytes * static_cast<std::uint64_t>(p.destination) : 0);
  }
  std::uint64_t recv(Pair p) const {
    return buffer(2 * p.destination + 1) + bytes * static_cast<std::uint64_t>(p.source);
  }
  static std::uint64_t buffer(int number) { return static_cast<std::uint64_t>(number) << 32; }
};

// Misses of all ranks, each with a cache of `lines` lines.
std::uint64_t misses(Order order, const Blocks& blocks, std::size_t lines) {
  std::uint64_t total = 0;
  for (int me = 0; me < blocks.ranks; ++me) {
    Cache cache(lines);
    for (const Pair& pair : part_of_order(order, blocks.ranks, me)) {
      for (const std::uint64_t first : {blocks.send(pair), blocks.recv(pair)}) {
        for (std::uint64_t b = 0; b < blocks.bytes; b += kLine) cache.touch((first + b) / kLine);
        cache.touch((first + blocks.bytes - 1) / kLine);
      }
    }
    total += cache.misses();
  }
  return total;
}

// Li, Zhang and Hoefler, equations 1 and 2: P ceil(PB/L) + P^2 ceil(B/L) for rows and columns, and
// 2P ceil(PB/L) for curves whose pieces are squares.
TEST(OrderCacheTest, SmallBlocksMissAsThePaperPredicts) {
  for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{16}, std::uint64_t{32}}) {
    const Blocks blocks = {64, bytes, true};
    const std::uint64_t lines_of_buffer = 64 * bytes / kLine;
    const std::uint64_t straight = 64 * lines_of_buffer + 64 * 64;
    EXPECT_EQ(misses(Order::row, blocks, 512), straight);
    EXPECT_EQ(misses(Order::column, blocks, 512), straight);
    EXPECT_EQ(misses(Order::morton, blocks, 512), 2 * 64 * lines_of_buffer);
    EXPECT_EQ(misses(Order::hilbert, blocks, 512), 2 * 64 * lines_of_buffer);
  }
}

// Even if the cache has hardly more lines than a curve needs for one corner.
TEST(OrderCacheTest, CurvesMissLessInTinyCachesToo) {
  const Blocks blocks = {64, 8, true};
  for (const std::size_t lines : {std::size_t{8}, std::size_t{16}, std::size_t{32}}) {
    EXPECT_LT(2 * misses(Order::morton, blocks, lines), misses(Order::row, blocks, lines));
    EXPECT_LT(2 * misses(Order::hilbert, blocks, lines), misses(Order::row, blocks, lines));
  }
}

TEST(OrderCacheTest, CurvesMissLessForAnyP) {
  for (int ranks = 16; ranks <= 100; ++ranks) {
    const Blocks blocks = {ranks, 8, true};
    EXPECT_LT(misses(Order::morton, blocks, 512), misses(Order::row, blocks, 512)) << ranks;
    EXPECT_LT(misses(Order::hilbert, blocks, 512), misses(Order::row, blocks, 512)) << ranks;
  }
}

// Blocks of many lines have nothing to share.
TEST(OrderCacheTest, LargeBlocksMissTheSameInEveryOrder) {
  const Blocks blocks = {16, 4096, true};
  const std::uint64_t all = 2 * 16 * 16 * 4096 / kLine;
  for (const Order order : {Order::row, Order::column, Order::morton, Order::hilbert}) {
    EXPECT_EQ(misses(order, blocks, 512), all);
  }
}

// A curve comes back to a send block while it is still in the cache: sections 2.1 and 2.3.2.
TEST(OrderCacheTest, AllgatherReadsItsSendBlocksFewerTimes) {
  const Blocks blocks = {64, 256, false};
  EXPECT_LT(misses(Order::morton, blocks, 512), misses(Order::row, blocks, 512) * 3 / 4);
  EXPECT_LT(misses(Order::hilbert, blocks, 512), misses(Order::row, blocks, 512) * 3 / 4);
}

}  // namespace
}  // namespace quadrille::plan
