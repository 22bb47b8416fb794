// What a program puts in the place of heap memory, by whatever call: it is not shared any more, and a child of a fork
// has it right. The interposed functions are part of this program; each test runs in a process of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "maps.hpp"
#include "memory/heap.hpp"

namespace quadrille::memory {
namespace {

using test::fill;
using test::holds;

bool map_over(void* at, std::size_t bytes = 4096, int protection = PROT_READ) {
  return mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

class Mapped : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(heap_start());
    block_ = static_cast<std::byte*>(heap_allocate(1 << 20, 4096));
    ASSERT_NE(block_, nullptr);
    std::memset(block_, 1, 1 << 20);
    ASSERT_TRUE(heap_shareable(block_, 1 << 20));
  }
  // Only [65536, 131072) is lost.
  void expect_hole() {
    EXPECT_TRUE(heap_contains(block_, 1 << 20));
    EXPECT_FALSE(heap_shareable(block_, 1 << 20));
    EXPECT_FALSE(heap_shareable(block_ + 65535, 2));
    EXPECT_FALSE(heap_shareable(block_ + 100'000, 1));
    EXPECT_FALSE(heap_shareable(block_ + 131071, 2));
    EXPECT_TRUE(heap_shareable(block_, 65536));
    EXPECT_TRUE(heap_shareable(block_ + 131072, 1000));
  }
  bool holds_ones() const {
    for (std::size_t i = 0; i < 1 << 20; ++i) {
      if (block_[i] != std::byte{1}) return false;
    }
    return true;
  }
  // Of threes, but for a page of the program's that begins with a nine at each step.
  static constexpr std::size_t pieces = 900, step = 8192;
  static std::byte* block_in_pieces() {
    auto* const block = static_cast<std::byte*>(heap_allocate(pieces * step, 4096));
    std::memset(block, 3, pieces * step);
    for (std::size_t i = 0; i < pieces; ++i) {
      EXPECT_TRUE(map_over(block + i * step, 4096, PROT_READ | PROT_WRITE)) << i;
      block[i * step] = std::byte{9};
    }
    return block;
  }
  std::byte* block_ = nullptr;
};

TEST_F(Mapped, OverIsNotShareable) {
  ASSERT_TRUE(map_over(block_ + 65536, 65536, PROT_READ | PROT_WRITE));
  expect_hole();
}

// The system maps whole pages.
TEST_F(Mapped, PartOfAPageTakesThePage) {
  ASSERT_TRUE(map_over(block_ + 65536, 65536 - 100, PROT_READ | PROT_WRITE));
  expect_hole();
  ASSERT_EQ(munmap(block_ + 200'704, 100), 0);
  EXPECT_FALSE(heap_shareable(block_ + 200'704, 1));
  EXPECT_TRUE(heap_shareable(block_ + 200'704 + 4096, 1));
}

TEST_F(Mapped, AwayIsNotShareable) {
  ASSERT_EQ(munmap(block_ + 65536, 65536), 0);
  expect_hole();
}

TEST_F(Mapped, MovedAwayIsNotShareable) {
  void* elsewhere = mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mremap(block_ + 65536, 65536, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere), MAP_FAILED);
  expect_hole();
}

TEST_F(Mapped, MovedOntoIsNotShareable) {
  void* other = mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mremap(other, 65536, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, block_ + 65536), MAP_FAILED);
  expect_hole();
}

TEST_F(Mapped, OverBySystemVMemoryIsNotShareable) {
  const int segment = shmget(IPC_PRIVATE, 65536, IPC_CREAT | 0600);
  if (segment < 0) GTEST_SKIP() << "no System V shared memory here";
  const void* at = shmat(segment, block_ + 65536, SHM_REMAP);
  shmctl(segment, IPC_RMID, nullptr);
  ASSERT_EQ(at, block_ + 65536);
  expect_hole();
}

TEST_F(Mapped, ElsewhereChangesNothing) {
  void* other = mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(map_over(other));
  ASSERT_EQ(munmap(other, 65536), 0);
  EXPECT_TRUE(heap_shareable(block_, 1 << 20));
}

// However many ranges are mapped over, what lies between them stays shared.
TEST_F(Mapped, ManyRanges) {
  auto* block = static_cast<std::byte*>(heap_allocate(std::size_t{8} << 20, 4096));
  for (std::size_t i = 0; i < pieces; ++i) ASSERT_TRUE(map_over(block + i * step));
  for (std::size_t i = 0; i < pieces; ++i) {
    EXPECT_FALSE(heap_shareable(block + i * step, 1)) << i;
    EXPECT_FALSE(heap_shareable(block + i * step + 4095, 1)) << i;
    EXPECT_TRUE(heap_shareable(block + i * step + 4096, 4096)) << i;
  }
  EXPECT_TRUE(heap_shareable(block_, 1 << 20));
  EXPECT_TRUE(heap_shareable(block + pieces * step, 1000));
  auto* const other = static_cast<std::byte*>(heap_allocate(1 << 20, 4096));
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(heap_shareable(other, 1 << 20));
  // What is noted for a moment only takes nothing with it.
  heap_note_mapping(other + 524288, 4096);
  EXPECT_FALSE(heap_shareable(other, 1 << 20));
  heap_take_back_note(other + 524288, 4096);
  EXPECT_TRUE(heap_shareable(other, 1 << 20));
  EXPECT_TRUE(heap_shareable(block + pieces * step, 1000));
}

// Ranges that meet, in any order, and two that lie apart.
TEST_F(Mapped, ManyRangesThatMeet) {
  constexpr std::size_t pages = 900, page = 4096;
  auto* block = static_cast<std::byte*>(heap_allocate(std::size_t{8} << 20, page));
  for (std::size_t i = 0; i < pages; i += 3) {
    for (const std::size_t next : {i, i + 2, i + 1}) ASSERT_TRUE(map_over(block + next * page));
  }
  ASSERT_TRUE(map_over(block + 1500 * page));
  ASSERT_TRUE(map_over(block + 1000 * page));
  for (std::size_t i = 0; i < pages; ++i) EXPECT_FALSE(heap_shareable(block + i * page, 1)) << i;
  EXPECT_TRUE(heap_shareable(block + pages * page, 100 * page));
  EXPECT_FALSE(heap_shareable(block + 1000 * page, 1));
  EXPECT_TRUE(heap_shareable(block + 1001 * page, 499 * page));
  EXPECT_FALSE(heap_shareable(block + 1500 * page, 1));
}

TEST_F(Mapped, APartOfANoteIsTakenBack) {
  heap_note_mapping(block_ + 65536, 32768);
  heap_note_mapping(block_ + 98304, 32768);
  expect_hole();
  heap_take_back_note(block_ + 81920, 32768);
  EXPECT_FALSE(heap_shareable(block_ + 81919, 1));
  EXPECT_TRUE(heap_shareable(block_ + 81920, 32768));
  EXPECT_FALSE(heap_shareable(block_ + 114688, 1));
  heap_take_back_note(block_ + 65536, 16384);
  EXPECT_TRUE(heap_shareable(block_, 114688));
  heap_take_back_note(block_, 1 << 20);
  EXPECT_TRUE(heap_shareable(block_, 1 << 20));
}

// A block is not handed out again with what the program has put in its place, or without its pages.
class MappedAndFreed : public Mapped {
 protected:
  bool comes_again() {
    bool again = false;
    for (int i = 0; i < 100; ++i) {
      auto* const other = static_cast<std::byte*>(heap_allocate(1 << 20, 4096));
      again = again || (other != nullptr && other < block_ + (1 << 20) && block_ < other + (1 << 20));
    }
    return again;
  }
};

TEST_F(MappedAndFreed, OverIsNotUsedAgain) {
  ASSERT_NE(mmap(block_ + 65536, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  block_[65536] = std::byte{7};
  EXPECT_EQ(heap_resize(block_, 1 << 19), nullptr);
  EXPECT_EQ(heap_resize(block_, 2 << 20), nullptr);
  ASSERT_TRUE(heap_free(block_));
  EXPECT_FALSE(comes_again());
  EXPECT_EQ(block_[65536], std::byte{7});  // the program may have told another of it
  EXPECT_EQ(block_[0], std::byte{0});      // its own memory went back
}

TEST_F(MappedAndFreed, AHoleIsNotUsedAgain) {
  ASSERT_EQ(munmap(block_ + 65536, 65536), 0);
  ASSERT_TRUE(heap_free(block_));
  EXPECT_FALSE(comes_again());
}

TEST_F(MappedAndFreed, AnUntouchedBlockIsUsedAgain) {
  auto* other = static_cast<std::byte*>(heap_allocate(1 << 20, 4096));
  ASSERT_TRUE(map_over(other, 65536));
  ASSERT_TRUE(heap_free(block_));
  EXPECT_TRUE(comes_again());
}

TEST_F(MappedAndFreed, ManyBlocksLeaveTheHeapInUse) {
  constexpr std::size_t bytes = 1 << 18;
  for (int i = 0; i < 600; ++i) {
    auto* const block = static_cast<std::byte*>(heap_allocate(bytes, 4096));
    ASSERT_NE(block, nullptr) << i;
    ASSERT_TRUE(heap_shareable(block, bytes)) << i;
    ASSERT_TRUE(map_over(block + 65536));
    ASSERT_TRUE(heap_free(block));
  }
  void* const block = malloc(bytes);
  EXPECT_TRUE(heap_shareable(block, bytes));
  EXPECT_TRUE(heap_free(block));
  EXPECT_TRUE(heap_shareable(block_, 1 << 20));
}

// After many ranges a child still gets what is left of the heap, and what the program put into it, each as it was.
TEST_F(Mapped, ManyRangesAndAFork) {
  std::byte* const block = block_in_pieces();
  for (int with_handlers = 0; with_handlers < 2; ++with_handlers) {
    const pid_t child = with_handlers != 0 ? fork() : _Fork();
    if (child == 0) {
      bool good = true;
      for (std::size_t i = 0; i < pieces; ++i) {
        good = good && block[i * step] == std::byte{9} && block[i * step + 4096] == std::byte{3} &&
               block[(i + 1) * step - 1] == std::byte{3};
      }
      good = good && holds_ones();
      std::memset(block_, 2, 1 << 20);
      std::memset(block, 4, pieces * step);
      _exit(good ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    EXPECT_EQ(test::end_of(child), 0);
    EXPECT_TRUE(holds_ones());
    for (std::size_t i = 0; i < pieces; ++i) {
      ASSERT_EQ(block[i * step], std::byte{9}) << i;
      ASSERT_EQ(block[i * step + 4096], std::byte{3}) << i;
    }
  }
}

// A watcher may tell of what was not done: of dropped pages as if they were unmapped. A child must not share these.
TEST_F(Mapped, WhatWasNotedButNotDoneIsPrivateInAChild) {
  heap_note_mapping(block_ + 65536, 65536);
  expect_hole();
  for (int with_handlers = 0; with_handlers < 2; ++with_handlers) {
    const pid_t child = with_handlers != 0 ? fork() : _Fork();
    if (child == 0) {
      const bool good = holds_ones();
      std::memset(block_, 2, 1 << 20);
      _exit(good ? 0 : 1);
    }
    EXPECT_EQ(test::end_of(child), 0);
    EXPECT_TRUE(holds_ones());
  }
}

// ---- Pages that the program drops ----

bool are_zeros(const std::byte* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST_F(Mapped, DroppedPagesAreZerosBesideWhatIsMappedOver) {
  ASSERT_TRUE(map_over(block_ + 65536, 65536, PROT_READ | PROT_WRITE));
  std::memset(block_ + 65536, 5, 65536);
  ASSERT_EQ(madvise(block_, 1 << 19, MADV_DONTNEED), 0);
  EXPECT_TRUE(are_zeros(block_, 1 << 19));
  EXPECT_EQ(block_[1 << 19], std::byte{1});
}

TEST_F(Mapped, DroppedPagesAreZerosAroundAHole) {
  ASSERT_EQ(munmap(block_ + 65536, 65536), 0);
  errno = 0;
  EXPECT_EQ(madvise(block_, 1 << 19, MADV_DONTNEED), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(are_zeros(block_, 65536));
  EXPECT_TRUE(are_zeros(block_ + 131072, (1 << 19) - 131072));
  EXPECT_EQ(block_[1 << 19], std::byte{1});
}

TEST_F(Mapped, DroppedPagesAreZerosBetweenManyRanges) {
  std::byte* const block = block_in_pieces();
  ASSERT_EQ(madvise(block_ + 4096, 8192, MADV_DONTNEED), 0);
  EXPECT_TRUE(are_zeros(block_ + 4096, 8192));
  EXPECT_EQ(block_[4095], std::byte{1});
  EXPECT_EQ(block_[12288], std::byte{1});
  // The first half, from the middle of one page of the heap to the next.
  ASSERT_EQ(madvise(block + 4096, pieces / 2 * step, MADV_DONTNEED), 0);
  EXPECT_EQ(block[0], std::byte{9});
  EXPECT_TRUE(are_zeros(block + 4096, pieces / 2 * step));
  EXPECT_EQ(block[pieces / 2 * step + 4096], std::byte{3});
}

TEST_F(Mapped, DroppedPagesAreZerosThoughNotedAndSharedAfterwards) {
  heap_note_mapping(block_ + 65536, 65536);
  ASSERT_EQ(madvise(block_ + 65536, 65536, MADV_DONTNEED), 0);
  EXPECT_TRUE(are_zeros(block_ + 65536, 65536));
  EXPECT_EQ(block_[65535], std::byte{1});
  EXPECT_TRUE(heap_shareable(block_, 1 << 20));
  // What the program has put there stays noted.
  ASSERT_TRUE(map_over(block_ + 65536, 65536, PROT_READ | PROT_WRITE));
  ASSERT_EQ(madvise(block_ + 65536, 65536, MADV_DONTNEED), 0);
  expect_hole();
}

// What may not be written may be dropped, as natively.
TEST_F(Mapped, DroppedPagesAreZerosWhereNothingIsWritten) {
  for (const int protection : {PROT_READ, PROT_NONE}) {
    std::memset(block_, 1, 65536);
    ASSERT_EQ(mprotect(block_, 65536, protection), 0);
    EXPECT_EQ(madvise(block_, 65536, MADV_DONTNEED), 0);
    ASSERT_EQ(mprotect(block_, 65536, PROT_READ | PROT_WRITE), 0);
    EXPECT_TRUE(are_zeros(block_, 65536));
  }
  EXPECT_EQ(block_[65536], std::byte{1});
}

TEST_F(Mapped, MistakesInDroppingAreTheSystemsBusiness) {
  EXPECT_EQ(madvise(block_ + 1, 4096, MADV_DONTNEED), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(madvise(block_, 0, MADV_DONTNEED), 0);
  EXPECT_TRUE(holds_ones());
}

// A child takes no more from the heap: it does not even keep the addresses.
TEST_F(Mapped, AChildKeepsNoIdleAddresses) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer takes most of the addresses for itself";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const std::size_t addresses = test::address_space();
    void* large = malloc(std::size_t{40} << 20);
    fill(large, std::size_t{40} << 20, 1);
    const bool good = addresses < std::size_t{4} << 30 && holds(large, std::size_t{40} << 20, 1) && holds_ones();
    free(large);
    free(block_);
    _exit(good ? 0 : 1);
  }
  EXPECT_EQ(test::end_of(child), 0);
}

}  // namespace
}  // namespace quadrille::memory
