// Threads that allocate, resize, hand over and free blocks of random sizes, all with known content.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "maps.hpp"

namespace quadrille::test {
namespace {

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t seed = 0;
};

// Blocks that any thread may take: what one allocates, another frees.
struct Market {
  std::mutex lock;
  std::vector<Block> blocks;

  void put(const Block& block) {
    const std::lock_guard guard(lock);
    blocks.push_back(block);
  }
  bool take(std::mt19937& random, Block& block) {
    const std::lock_guard guard(lock);
    if (blocks.empty()) return false;
    std::swap(blocks[random() % blocks.size()], blocks.back());
    block = blocks.back();
    blocks.pop_back();
    return true;
  }
};

std::size_t random_size(std::mt19937& random) {
  // Around the threshold most of the time, seldom large.
  const unsigned kind = random() % 16;
  if (kind < 6) return 1 + random() % 2000;
  if (kind < 11) return 8000 + random() % 20'000;
  if (kind < 15) return 20'000 + random() % 300'000;
  return 1'000'000 + random() % 3'000'000;
}

Block allocate(std::mt19937& random) {
  Block block;
  block.bytes = random_size(random);
  block.seed = static_cast<std::uint32_t>(random());
  const std::size_t alignment = std::size_t{16} << (random() % 12);
  switch (random() % 4) {
    case 0:
      block.data = calloc(block.bytes, 1);
      break;
    case 1:
      block.data = memalign(alignment, block.bytes);
      break;
    default:
      block.data = malloc(block.bytes);
  }
  fill(block.data, block.bytes, block.seed);
  return block;
}

bool resize(std::mt19937& random, Block& block) {
  const std::size_t bytes = random_size(random);
  block.data = realloc(block.data, bytes);
  const bool kept = holds(block.data, std::min(bytes, block.bytes), block.seed);
  block.bytes = bytes;
  fill(block.data, bytes, block.seed);
  return kept;
}

void work(Market& market, std::uint32_t seed, int steps, std::atomic<int>& bad) {
  std::mt19937 random(seed);
  for (int step = 0; step < steps; ++step) {
    Block block;
    const unsigned action = random() % 8;
    if (action < 3 || !market.take(random, block)) {
      market.put(allocate(random));
      continue;
    }
    if (!holds(block.data, block.bytes, block.seed)) ++bad;
    if (action < 6) {
      free(block.data);
    } else {
      if (!resize(random, block)) ++bad;
      market.put(block);
    }
  }
}

TEST(Stress, ThreadsAllocateAndFreeForEachOther) {
  Market market;
  std::atomic<int> bad{0};
  for (std::uint32_t round = 0; round < 3; ++round) {  // threads come and go
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] { work(market, round * 10 + t, 1500, bad); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const Block& block : market.blocks) {
    if (!holds(block.data, block.bytes, block.seed)) ++bad;
    free(block.data);
  }
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace quadrille::test
