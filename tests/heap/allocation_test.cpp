// Every allocation function, around the threshold and at its limits.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "maps.hpp"

namespace quadrille::test {
namespace {

constexpr std::size_t small = 1000, large = 200'000;
// Values that the compiler cannot see through.
volatile std::size_t too_much = SIZE_MAX;

// A block is usable from end to end, and is where it should be.
void expect_block(void* block, std::size_t bytes, std::uint32_t seed) {
  ASSERT_NE(block, nullptr);
  EXPECT_GE(malloc_usable_size(block), bytes);
  fill(block, bytes, seed);
  EXPECT_TRUE(holds(block, bytes, seed));
  if (bytes >= large && expects_heap()) {
    EXPECT_TRUE(in_shared_heap(block)) << mapping_of(block);
  }
  if (std::getenv("QUADRILLE_HEAP_FROM") == nullptr && bytes <= small) {
    EXPECT_FALSE(in_shared_heap(block));
  }
}

TEST(Allocation, EveryFunction) {
  for (const std::size_t bytes :
       {std::size_t{1}, small, std::size_t{16383}, std::size_t{16384}, large, std::size_t{3} << 20}) {
    SCOPED_TRACE(bytes);
    void* blocks[8] = {};
    blocks[0] = malloc(bytes);
    blocks[1] = calloc(1, bytes);
    blocks[2] = realloc(nullptr, bytes);
    blocks[3] = reallocarray(nullptr, 1, bytes);
    blocks[4] = memalign(64, bytes);
    ASSERT_EQ(posix_memalign(&blocks[5], 64, bytes), 0);
    blocks[6] = aligned_alloc(64, bytes);
    blocks[7] = valloc(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(static_cast<char*>(blocks[1])[i], 0);
    }
    for (int i = 0; i < 8; ++i) expect_block(blocks[i], bytes, static_cast<std::uint32_t>(i));
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(holds(blocks[i], bytes, static_cast<std::uint32_t>(i)));
      free(blocks[i]);
    }
    void* pages = pvalloc(bytes);
    expect_block(pages, bytes, 9);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % 4096, 0U);
    free(pages);
  }
}

TEST(Allocation, ZeroAndNull) {
  void* empty = malloc(0);
  EXPECT_NE(empty, nullptr);
  free(empty);
  empty = calloc(0, 100);
  EXPECT_NE(empty, nullptr);
  free(empty);
  free(nullptr);
  EXPECT_EQ(malloc_usable_size(nullptr), 0U);
  void* block = malloc(large);
  EXPECT_EQ(realloc(block, 0), nullptr);  // frees, as glibc does
}

TEST(Allocation, CallocOfUsedMemoryIsZero) {
  for (int round = 0; round < 20; ++round) {
    const std::size_t bytes = large + static_cast<std::size_t>(round) * 4000;
    void* used = malloc(bytes);
    std::memset(used, 0xff, bytes);
    free(used);
    auto* zeros = static_cast<char*>(calloc(bytes, 1));
    ASSERT_NE(zeros, nullptr);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(zeros[i], 0) << i;
    free(zeros);
  }
}

TEST(Allocation, TooMuchIsRefusedWithEnomem) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 - 4096, SIZE_MAX - 100}) {
    too_much = bytes;
    errno = 0;
    EXPECT_EQ(malloc(too_much), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(calloc(too_much, 1), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(calloc(too_much / 2, 8), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    void* block = malloc(large);
    fill(block, large, 3);
    errno = 0;
    EXPECT_EQ(realloc(block, too_much), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocarray(block, too_much / 2, 8), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_TRUE(holds(block, large, 3));  // a failed realloc keeps the block
    free(block);
    void* result = &block;
    EXPECT_EQ(posix_memalign(&result, 64, too_much), ENOMEM);
    EXPECT_EQ(result, &block);
    EXPECT_EQ(aligned_alloc(64, too_much), nullptr);
    EXPECT_EQ(memalign(64, too_much), nullptr);
    EXPECT_EQ(pvalloc(too_much), nullptr);
    EXPECT_EQ(valloc(too_much), nullptr);
    EXPECT_EQ(operator new(too_much, std::nothrow), nullptr);
  }
}

TEST(Allocation, WrongAlignmentsAreTheLibrarysBusiness) {
  void* result = nullptr;
  EXPECT_EQ(posix_memalign(&result, 3, large), EINVAL);
  EXPECT_EQ(posix_memalign(&result, 4, large), EINVAL);
  EXPECT_EQ(posix_memalign(&result, 0, large), EINVAL);
  void* block = memalign(3, large);  // glibc takes the next power of two
  ASSERT_NE(block, nullptr);
  free(block);
}

TEST(Allocation, ErrnoIsKept) {
  for (const std::size_t bytes : {small, large, std::size_t{64} << 20}) {
    errno = 4711;
    void* block = malloc(bytes);
    block = realloc(block, bytes + 100'000);
    free(block);
    EXPECT_EQ(errno, 4711);
  }
}

TEST(Allocation, EveryAlignmentTo2MiB) {
  for (std::size_t alignment = sizeof(void*); alignment <= std::size_t{2} << 20; alignment *= 2) {
    for (const std::size_t bytes : {small, std::size_t{16384}, large}) {
      SCOPED_TRACE(alignment);
      void* blocks[3] = {nullptr, memalign(alignment, bytes), aligned_alloc(alignment, bytes)};
      ASSERT_EQ(posix_memalign(&blocks[0], alignment, bytes), 0);
      for (void* block : blocks) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
        expect_block(block, bytes, 5);
      }
      for (void* block : blocks) free(block);
    }
  }
}

TEST(Allocation, ReallocAcrossTheThresholdKeepsTheContent) {
  const std::size_t sizes[] = {10, 16383, 16384, 1000, 100'000, 5'000'000, 20000, 1 << 20, 100, 9'000'000, 1};
  std::size_t before = 1;
  void* block = malloc(before);
  fill(block, before, 77);
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    block = realloc(block, bytes);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(holds(block, std::min(before, bytes), 77));
    expect_block(block, bytes, 77);
    before = bytes;
  }
  free(block);
}

TEST(Allocation, OperatorNewAndContainers) {
  auto numbers = std::make_unique<double[]>(100'000);
  if (expects_heap()) {
    EXPECT_TRUE(in_shared_heap(numbers.get()));
  }
  std::vector<int> grown;
  for (int i = 0; i < 3'000'000; ++i) grown.push_back(i);
  for (int i = 0; i < 3'000'000; ++i) ASSERT_EQ(grown[static_cast<std::size_t>(i)], i);
  struct alignas(4096) Page {
    char data[65536];
  };
  auto page = std::make_unique<Page>();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page.get()) % 4096, 0U);
}

TEST(Allocation, AllAddressesDiffer) {
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::uint32_t i = 0; i < 600; ++i) {
    const std::size_t bytes = 8000 + i * 137;
    blocks.emplace_back(static_cast<char*>(malloc(bytes)), bytes);
    fill(blocks.back().first, bytes, i);
  }
  for (std::uint32_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(holds(blocks[i].first, blocks[i].second, i)) << i;
    free(blocks[i].first);
  }
}

// The private memory that a program takes its blocks for reads as zeros afterwards.
TEST(Allocation, DontNeedGivesZeros) {
  void* block = nullptr;
  ASSERT_EQ(posix_memalign(&block, 4096, 1 << 20), 0);
  std::memset(block, 1, 1 << 20);
  ASSERT_EQ(madvise(static_cast<char*>(block) + 8192, 65536, MADV_DONTNEED), 0);
  for (std::size_t i = 0; i < 1 << 20; ++i) {
    ASSERT_EQ(static_cast<char*>(block)[i], i >= 8192 && i < 8192 + 65536 ? 0 : 1) << i;
  }
  free(block);
}

TEST(Allocation, LargeBlockGoesBackAtOnceNeedsRoom) {
  constexpr std::size_t bytes = std::size_t{128} << 20;
  void* block = malloc(bytes);
  std::memset(block, 1, bytes);
  ASSERT_TRUE(in_shared_heap(block));
  EXPECT_GE(heap_resident_bytes(), bytes);
  free(block);
  EXPECT_LE(heap_resident_bytes(), bytes / 16);
}

TEST(Allocation, FreedBlocksGoBackAfterAWhileNeedsRoom) {
  constexpr std::size_t bytes = std::size_t{1} << 20, count = 64;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(malloc(bytes));
    std::memset(blocks.back(), 1, bytes);
  }
  EXPECT_GE(heap_resident_bytes(), bytes * count);
  for (void* block : blocks) free(block);
  // Whatever time it takes; the test's time limit ends a heap that never gives anything back.
  while (heap_resident_bytes() > bytes * count / 8) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    free(malloc(bytes));
  }
}

}  // namespace
}  // namespace quadrille::test
