// The heap from inside: the interface that the transport will use. The interposed functions are part of
// this program; each test runs in a process of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "maps.hpp"
#include "memory/heap.hpp"
#include "memory/heap_parts.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

using test::fill;
using test::holds;

constexpr std::size_t bytes = 300'000;

TEST(Heap, OffUntilStarted) {
  EXPECT_FALSE(heap_active());
  EXPECT_EQ(heap_why_not().reason, Reason::heap_not_started);
  void* before = malloc(bytes);
  EXPECT_FALSE(heap_contains(before, bytes));
  EXPECT_EQ(heap_allocate(bytes, 64), nullptr);
  volatile std::size_t too_much = SIZE_MAX;
  EXPECT_EQ(malloc(too_much), nullptr);
  EXPECT_FALSE(heap_active());
  ASSERT_TRUE(heap_start());
  EXPECT_TRUE(heap_start());
  EXPECT_EQ(heap_why_not().reason, Reason::none);
  void* after = malloc(bytes);
  EXPECT_TRUE(heap_contains(after, bytes));
  EXPECT_FALSE(heap_contains(before, bytes));
  free(before);
  free(after);
}

TEST(Heap, SwitchedOff) {
  setenv("QUADRILLE_HEAP", "off", 1);
  EXPECT_FALSE(heap_start());
  EXPECT_EQ(heap_why_not().reason, Reason::heap_off);
  void* block = malloc(bytes);
  EXPECT_FALSE(heap_contains(block, bytes));
  free(block);
}

TEST(Heap, TooSmallASegmentNeverFailsTheProgram) {
  setenv("QUADRILLE_HEAP_BYTES", "1000000", 1);
  ASSERT_TRUE(heap_start());
  void* blocks[10];
  int inside = 0;
  for (auto& block : blocks) {
    block = malloc(bytes);
    ASSERT_NE(block, nullptr);
    inside += heap_contains(block, bytes) ? 1 : 0;
  }
  EXPECT_GE(inside, 1);
  EXPECT_LE(inside, 3);
  for (auto& block : blocks) free(block);
  void* again = malloc(bytes);
  EXPECT_TRUE(heap_contains(again, bytes));  // the segment serves again
  free(again);
}

TEST(Heap, TheSmallestSegmentNeverFailsTheProgram) {
  setenv("QUADRILLE_HEAP_BYTES", "64K", 1);
  heap_start();
  void* blocks[10];
  for (auto& block : blocks) {
    block = malloc(bytes);
    ASSERT_NE(block, nullptr);
    fill(block, bytes, 1);
  }
  for (auto& block : blocks) free(block);
}

TEST(Heap, OffsetsAndBounds) {
  ASSERT_TRUE(heap_start());
  auto* block = static_cast<std::byte*>(heap_allocate(bytes, 4096));
  ASSERT_NE(block, nullptr);
  const HeapSegment segment = heap_segment();
  EXPECT_EQ(heap_offset(block), static_cast<std::size_t>(block - segment.base));
  EXPECT_TRUE(heap_contains(segment.base, segment.bytes));
  EXPECT_FALSE(heap_contains(segment.base, segment.bytes + 1));
  EXPECT_FALSE(heap_contains(segment.base - 1, 2));
  EXPECT_FALSE(heap_contains(segment.base + segment.bytes, 1));
  EXPECT_FALSE(heap_contains(block, SIZE_MAX));
  EXPECT_FALSE(heap_contains(nullptr, 1));
  int local = 0;
  EXPECT_FALSE(heap_free(&local));
  EXPECT_TRUE(heap_free(block));
}

// What a peer does: it maps the descriptor and reads and writes the blocks.
TEST(Heap, APeerSeesTheBlocks) {
  ASSERT_TRUE(heap_start());
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  const HeapSegment segment = heap_segment();
  std::byte* peer = heap_map_peer(segment.descriptor, segment.bytes);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(holds(peer + heap_offset(block), bytes, 1));
  fill(peer + heap_offset(block), bytes, 2);
  EXPECT_TRUE(holds(block, bytes, 2));
  // A child of the peer does not have the mapping.
  const pid_t child = fork();
  if (child == 0) _exit(test::mapping_of(peer).empty() ? 0 : 2);
  EXPECT_EQ(test::end_of(child), 0);
  heap_unmap_peer(peer, segment.bytes);
  EXPECT_TRUE(test::mapping_of(peer).empty());
  free(block);
}

TEST(Heap, ChildOfAForkIsNotActive) {
  ASSERT_TRUE(heap_start());
  void* block = malloc(bytes);
  const pid_t child = fork();
  if (child == 0) {
    if (heap_active() || heap_contains(block, bytes) || heap_start()) _exit(2);
    if (heap_segment().descriptor != -1 || !heap_owns(block)) _exit(3);
    if (heap_why_not().reason != Reason::heap_forked) _exit(4);
    if (heap_allocate(bytes, 64) != nullptr) _exit(5);
    _exit(heap_free(block) ? 0 : 6);
  }
  EXPECT_EQ(test::end_of(child), 0);
  free(block);
}

// A child of a process without a heap may have one.
TEST(Heap, ChildMayStartItsOwn) {
  const pid_t child = fork();
  if (child == 0) {
    if (!heap_start()) _exit(2);
    void* block = malloc(bytes);
    _exit(heap_contains(block, bytes) ? 0 : 3);
  }
  EXPECT_EQ(test::end_of(child), 0);
  EXPECT_FALSE(heap_active());
}

// Returns 0 if eight threads that start the heap at once get one heap that works.
int start_together() {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0}, bad{0};
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < 8) std::this_thread::yield();
      if (!heap_start()) ++bad;
      for (int round = 0; round < 10; ++round) {
        void* block = malloc(bytes);
        if (!heap_contains(block, bytes)) ++bad;
        fill(block, bytes, t);
        if (!holds(block, bytes, t)) ++bad;
        free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return bad;
}

// Each child has the moment of the start anew.
TEST(Heap, ThreadsStartItTogether) {
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(start_together() == 0 ? 0 : 2);
    ASSERT_EQ(test::end_of(child), 0) << "child " << i;
  }
}

// The numbers that a program gets for its own files are what they would be.
TEST(Heap, DescriptorNumbersStayAsTheyAre) {
  const int before = dup(0);
  close(before);
  ASSERT_TRUE(heap_start());
  const int after = dup(0);
  EXPECT_EQ(after, before);
  close(after);
}

// The program's own handlers in the child find the heap private already, even if they were registered
// before there was a heap, as libraries do when they are loaded.
void* handled = nullptr;
TEST(Heap, HandlersOfTheProgramSeeAPrivateHeap) {
  pthread_atfork(nullptr, nullptr, [] { fill(handled, bytes, 2); });
  ASSERT_TRUE(heap_start());
  handled = malloc(bytes);
  fill(handled, bytes, 1);
  const pid_t child = fork();
  if (child == 0) _exit(holds(handled, bytes, 2) ? 0 : 2);
  EXPECT_EQ(test::end_of(child), 0);
  EXPECT_TRUE(holds(handled, bytes, 1));
}

TEST(Heap, PrivatePagesInTheHeapAreNotDropped) {
  ASSERT_TRUE(heap_start());
  auto* block = static_cast<std::byte*>(heap_allocate(1 << 20, 4096));
  ASSERT_NE(mmap(block, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
  std::memset(block, 7, 1 << 20);
  free(block);
  arena_trim();
  auto* zeros = static_cast<std::byte*>(calloc(1 << 20, 1));
  for (std::size_t i = 0; i < 1 << 20; ++i) ASSERT_EQ(zeros[i], std::byte{0}) << i;
  free(zeros);
}

// The program closes descriptors that it does not know. A file of its own may get the number.
TEST(Heap, ClosedDescriptor) {
  ASSERT_TRUE(heap_start());
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  const int descriptor = heap_segment().descriptor;
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  ASSERT_EQ(dup2(0, descriptor), descriptor);
  EXPECT_EQ(heap_segment().descriptor, -1);
  const pid_t child = fork();
  if (child == 0) {
    if (!holds(block, bytes, 1)) _exit(2);
    std::memset(block, 2, bytes);
    _exit(0);
  }
  EXPECT_EQ(test::end_of(child), 0);
  EXPECT_TRUE(holds(block, bytes, 1));
  free(block);
}

// Small blocks must not inherit the advice of a large one: they would hold more memory than they use.
TEST(HeapPages, OfLargeBlocksAloneAreAdvisedToBeHuge) {
  setenv("QUADRILLE_HEAP_PAGES", "huge", 1);
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "this kernel has no huge pages";
  ASSERT_TRUE(heap_start());
  const std::size_t large = 4 * sys::huge_page_bytes();
  auto* block = static_cast<std::byte*>(malloc(large));
  void* small = malloc(64 * 1024);
  EXPECT_EQ(test::advice_at(block + large / 2), "huge");
  EXPECT_EQ(test::advice_at(small), "small");

  block = static_cast<std::byte*>(realloc(block, 2 * large));
  ASSERT_TRUE(heap_contains(block, 2 * large));
  EXPECT_EQ(test::advice_at(block + large), "huge");
  std::byte* shorter = static_cast<std::byte*>(realloc(block, large));
  EXPECT_EQ(test::advice_at(shorter + large / 2), "huge");
  EXPECT_NE(test::advice_at(shorter + large + large / 2), "huge");
  std::byte* const freed = shorter + large / 2;
  free(shorter);
  EXPECT_EQ(test::advice_at(freed), "small");
  free(small);
}

TEST(HeapPages, AreSmallIfAskedFor) {
  setenv("QUADRILLE_HEAP_PAGES", "small", 1);
  ASSERT_TRUE(heap_start());
  auto* block = static_cast<std::byte*>(malloc(8 * test::MiB));
  fill(block, 8 * test::MiB, 1);
  const HeapSegment segment = heap_segment();
  std::byte* peer = heap_map_peer(segment.descriptor, segment.bytes);
  ASSERT_NE(peer, nullptr);
  EXPECT_NE(test::advice_at(block + 4 * test::MiB), "huge");
  EXPECT_EQ(test::advice_at(peer), test::advice_at(block + 4 * test::MiB));
  EXPECT_EQ(test::huge_bytes(segment.base, segment.bytes), 0U);
  heap_unmap_peer(peer, segment.bytes);
  free(block);
}

TEST(HeapPages, OfALargeBlockAreHugeWhereTheSystemAllowsIt) {
  const std::size_t large = 4 * sys::huge_page_bytes();
  if (!sys::shares_huge_pages() || large > 64 * test::MiB) GTEST_SKIP() << "shmem_enabled allows no huge pages";
  ASSERT_TRUE(heap_start());
  void* blocks[64];
  for (void*& block : blocks) fill(block = malloc(16 * 1024), 16 * 1024, 1);
  const HeapSegment segment = heap_segment();
  EXPECT_EQ(test::huge_bytes(segment.base, segment.bytes), 0U) << "small blocks would hold more memory than they use";
  void* block = malloc(large);
  fill(block, large, 1);
  EXPECT_GT(test::huge_bytes(segment.base, segment.bytes), 0U);
  free(block);
  for (void* small : blocks) free(small);
}

// On a file system of this process alone, which allows huge pages whatever the system does for memory without a name.
TEST(HeapPages, AreMappedHugeByOwnerAndPeers) {
  constexpr const char* options = "size=64M,huge=advise";
  const std::size_t huge = sys::huge_page_bytes(), all = 8 * huge;
  if (all > 64 * test::MiB || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/dev/shm", "tmpfs", 0, options) != 0) {
    GTEST_SKIP() << "the system lets this user mount nothing, or has no huge pages";
  }
  const int file = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(all)), 0);
  std::byte* own = sys::map_heap(file, all);
  std::byte* peer = sys::map_peer(file, all);
  ASSERT_TRUE(own != nullptr && peer != nullptr && sys::open_pages(own, all));
  sys::advise_pages(own, all, false);
  // Two whole huge pages lie in a block of three that begins between two.
  std::byte* block = own + huge / 2;
  sys::advise_pages(block, 3 * huge, true);
  std::memset(block, 1, 3 * huge);
  EXPECT_GT(test::huge_bytes(own, all), 0U);
  EXPECT_EQ(peer[huge], std::byte{1});
  EXPECT_EQ(peer[2 * huge], std::byte{1});
  EXPECT_EQ(test::huge_bytes(peer, all), test::huge_bytes(own, all));
  own[5 * huge] = std::byte{1};
  EXPECT_EQ(test::resident_bytes(file), 3 * huge + sys::page_size());

  sys::advise_pages(block, 3 * huge, false);
  EXPECT_TRUE(sys::drop_shared_pages(block, 3 * huge));
  block[huge] = std::byte{1};
  EXPECT_EQ(test::resident_bytes(file), 2 * sys::page_size());
  sys::unmap_raw(own, all);
  sys::unmap_raw(peer, all);
  sys::close_descriptor(file);
}

std::map<std::string, std::string> variables;
HeapSettings read(std::map<std::string, std::string> values) {
  variables = std::move(values);
  return read_heap_settings([](const char* name) { return variables[name]; });
}

TEST(HeapSettings, AreRead) {
  EXPECT_EQ(read({}).mode, HeapSettings::Mode::on);
  EXPECT_EQ(read({}).from, heap_from_default);
  EXPECT_EQ(read({{"QUADRILLE_HEAP", "off"}}).mode, HeapSettings::Mode::off);
  EXPECT_EQ(read({{"QUADRILLE_HEAP", "early"}}).mode, HeapSettings::Mode::early);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_FROM", "4096"}}).from, 4096U);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_BYTES", "1048576"}}).bytes, 1048576U);
  EXPECT_EQ(read({}).pages, HeapSettings::Pages::automatic);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_PAGES", "huge"}}).pages, HeapSettings::Pages::huge);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_PAGES", "small"}}).pages, HeapSettings::Pages::small);
}

TEST(HeapSettings, SizesMayHaveUnits) {
  EXPECT_EQ(read({{"QUADRILLE_HEAP_FROM", "16K"}}).from, std::size_t{16} << 10);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_FROM", "1m"}}).from, std::size_t{1} << 20);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_BYTES", "1G"}}).bytes, std::size_t{1} << 30);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_BYTES", "64k"}}).bytes, heap_least_bytes);
  EXPECT_EQ(read({{"QUADRILLE_HEAP_FROM", "17179869183G"}}).from, SIZE_MAX >> 30 << 30);
}

TEST(HeapSettings, TooSmallSizesAreSaidToBeSo) {
  HeapSettings settings;
  for (const char* value : {"0", "1", "4096", "63K"}) {
    EXPECT_EQ(read_heap_bytes(value, settings), "expected at least 65536 bytes") << value;
    EXPECT_EQ(settings.bytes, 0U);
  }
  EXPECT_EQ(read_heap_from("0", settings), "expected at least 1 bytes");
  EXPECT_EQ(read_heap_mode("early", settings) + read_heap_from("1", settings) + read_heap_bytes("64K", settings), "");
}

TEST(HeapSettings, MalformedValuesAreSaidToBeSoAndIgnored) {
  for (const char* value :
       {"maybe", "-1", "12x", "99999999999999999999999", "K", "16 K", "16KB", " 16", "1T", "17179869184G"}) {
    HeapSettings settings =
        read({{"QUADRILLE_HEAP", value}, {"QUADRILLE_HEAP_FROM", value}, {"QUADRILLE_HEAP_BYTES", value}});
    EXPECT_NE(read_heap_mode(value, settings), "") << value;
    EXPECT_NE(read_heap_from(value, settings), "") << value;
    EXPECT_NE(read_heap_bytes(value, settings), "") << value;
    EXPECT_NE(read_heap_pages(value, settings), "") << value;
    EXPECT_EQ(settings.mode, HeapSettings::Mode::on);
    EXPECT_EQ(settings.from, heap_from_default);
    EXPECT_EQ(settings.bytes, 0U);
  }
}

}  // namespace
}  // namespace quadrille::memory
