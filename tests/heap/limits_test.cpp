// Limits that a program sets while it runs: what the heap only reserves must not count. The interposed functions are
// part of this program; each test runs in a process of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "maps.hpp"
#include "memory/heap.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

TEST(Limits, AreRaisedAsFarAsTheSystemAllows) {
  constexpr rlim_t no_limit = RLIM_INFINITY;
  const auto raised = [](rlimit asked, std::size_t idle, rlim_t hard) {
    const rlimit limit = sys::raised_limit(asked, idle, hard);
    return std::pair(limit.rlim_cur, limit.rlim_max);
  };
  using Pair = std::pair<rlim_t, rlim_t>;
  EXPECT_EQ(raised({100, 200}, 1000, no_limit), Pair(1100, 1200));
  EXPECT_EQ(raised({100, no_limit}, 1000, no_limit), Pair(1100, no_limit));
  EXPECT_EQ(raised({no_limit, no_limit}, 1000, no_limit), Pair(no_limit, no_limit));
  EXPECT_EQ(raised({100, 200}, 1000, 500), Pair(500, 500));
  EXPECT_EQ(raised({100, 200}, 1000, 1150), Pair(1100, 1150));
  // What would be refused stays so.
  EXPECT_GT(raised({100, 600}, 1000, 500).second, 500U);
  EXPECT_GT(raised({300, 200}, 1000, no_limit).first, raised({300, 200}, 1000, no_limit).second);
}

// Twice the whole heap and a peer's would not fit; what the program asks for does, up to its limit.
TEST(Limits, OfAddressesLeaveRoomForTheProgram) {
  ASSERT_TRUE(heap_start());
  void* before = malloc(4 * test::MiB);
  ASSERT_TRUE(heap_contains(before, 4 * test::MiB));
  const HeapSegment segment = heap_segment();
  std::byte* peer = heap_map_peer(segment.descriptor, segment.bytes);
  ASSERT_NE(peer, nullptr);
  EXPECT_GE(heap_idle_addresses(), 2 * segment.bytes - 64 * test::MiB);

  const rlimit wanted{test::address_space() - heap_idle_addresses() + 300 * test::MiB, RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &wanted), 0);
  rlimit found{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &found), 0);
  EXPECT_EQ(found.rlim_cur, wanted.rlim_cur);
  EXPECT_EQ(found.rlim_max, wanted.rlim_max);
  for (int i = 0; i < 1000; ++i) ASSERT_NE(malloc(12000), nullptr) << i;
  void* fits = malloc(200 * test::MiB);
  EXPECT_NE(fits, nullptr);
  EXPECT_FALSE(heap_contains(fits, 1));
  EXPECT_EQ(malloc(400 * test::MiB), nullptr);
  free(fits);
  free(before);

  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  rlimit old{};
  ASSERT_EQ(prlimit(0, RLIMIT_AS, &none, &old), 0);
  EXPECT_EQ(old.rlim_cur, wanted.rlim_cur);
  EXPECT_NE(malloc(400 * test::MiB), nullptr);
  heap_unmap_peer(peer, segment.bytes);
}

TEST(Limits, OthersAreLeftAlone) {
  ASSERT_TRUE(heap_start());
  const rlimit wanted{200, 300};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &wanted), 0);
  rlimit found{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &found), 0);
  EXPECT_EQ(found.rlim_cur, 200U);
  const rlimit wrong{300, 200};
  EXPECT_EQ(setrlimit(RLIMIT_AS, &wrong), -1);
  EXPECT_EQ(errno, EINVAL);
}

class Locked : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "AddressSanitizer lets nothing be locked";
#endif
    ASSERT_TRUE(heap_start());
    descriptor_ = sys::create_heap_file(64 * test::MiB);
    peer_ = heap_map_peer(descriptor_, 64 * test::MiB);
    ASSERT_NE(peer_, nullptr);
    peer_[0] = std::byte{1};
  }
  // False where this process may not lock its memory.
  bool lock(int flags) {
    if (mlockall(flags) == 0) return true;
    EXPECT_TRUE(errno == EPERM || errno == ENOMEM) << errno;
    return false;
  }
  bool may_lock() {
    rlimit limit{};
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
  }
  int descriptor_ = -1;
  std::byte* peer_ = nullptr;
};

TEST_F(Locked, MemoryOfPeersIsNotFilled) {
  char* own =
      static_cast<char*>(mmap(nullptr, 8 * test::MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (!lock(MCL_CURRENT) && !may_lock()) GTEST_SKIP() << "memory may not be locked here";
  EXPECT_GE(test::locked_bytes(), 8 * test::MiB);
  EXPECT_LE(test::resident_bytes(descriptor_), 1 * test::MiB);
  unsigned char resident = 0;
  ASSERT_EQ(mincore(own + 5 * test::MiB, 4096, &resident), 0);
  EXPECT_EQ(resident & 1, 1);
  EXPECT_EQ(munlockall(), 0);
  EXPECT_EQ(test::locked_bytes(), 0U);
}

TEST_F(Locked, WhatComesLaterIsLockedInTheHeapToo) {
  if (!lock(MCL_CURRENT | MCL_FUTURE) && !may_lock()) GTEST_SKIP() << "memory may not be locked here";
  const std::size_t before = test::locked_bytes();
  void* block = malloc(20 * test::MiB);
  EXPECT_TRUE(heap_contains(block, 20 * test::MiB));
  EXPECT_GE(test::locked_bytes(), before + 20 * test::MiB);
  std::byte* another = heap_map_peer(descriptor_, 64 * test::MiB);
  ASSERT_NE(another, nullptr);
  EXPECT_LE(test::resident_bytes(descriptor_), 1 * test::MiB);
  EXPECT_EQ(mlockall(64), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace quadrille::memory
