// fork without exec: the child has its own copy, the parent notices nothing.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "maps.hpp"

extern "C" pid_t _Fork();

namespace quadrille::test {
namespace {

constexpr std::size_t bytes = 1'000'000;

struct Pipe {
  int ends[2];
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  void signal() { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  void wait() {
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }
};

TEST(Fork, ChildChangesItsOwnCopy) {
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  const pid_t child = fork();
  if (child == 0) {
    if (!holds(block, bytes, 1)) _exit(2);
    if (in_shared_heap(block)) _exit(3);
    fill(block, bytes, 2);
    _exit(holds(block, bytes, 2) ? 0 : 4);
  }
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(holds(block, bytes, 1));
  if (expects_heap()) {
    EXPECT_TRUE(in_shared_heap(block));
  }
  free(block);
}

TEST(Fork, ParentChangesDoNotReachTheChild) {
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  Pipe changed;
  const pid_t child = fork();
  if (child == 0) {
    changed.wait();
    _exit(holds(block, bytes, 1) ? 0 : 2);
  }
  fill(block, bytes, 2);
  changed.signal();
  EXPECT_EQ(end_of(child), 0);
  free(block);
}

TEST(Fork, ChildAllocatesReallocatesAndFrees) {
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i < 50; ++i) {
    blocks.push_back(malloc(bytes / 10 * (i % 7 + 1)));
    fill(blocks.back(), bytes / 10 * (i % 7 + 1), i);
  }
  for (std::uint32_t i = 0; i < 50; i += 3) free(blocks[i]);  // free pages beside pages in use
  const pid_t child = fork();
  if (child == 0) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      if (i % 3 == 0) continue;
      const std::size_t now = bytes / 10 * (i % 7 + 1);
      const std::size_t sizes[] = {now * 2, now / 2, 100, 40'000};
      void* moved = realloc(blocks[i], sizes[i % 4]);
      if (moved == nullptr || !holds(moved, std::min(now, sizes[i % 4]), i)) _exit(2);
      fill(moved, sizes[i % 4], i + 100);
      if (!holds(moved, sizes[i % 4], i + 100)) _exit(3);
      free(moved);
      auto* fresh = static_cast<char*>(calloc(now, 1));
      for (std::size_t k = 0; k < now; ++k) {
        if (fresh[k] != 0) _exit(4);
      }
      if (in_shared_heap(fresh)) _exit(5);
      free(fresh);
    }
    _exit(0);
  }
  EXPECT_EQ(end_of(child), 0);
  for (std::uint32_t i = 0; i < 50; ++i) {
    if (i % 3 == 0) continue;
    EXPECT_TRUE(holds(blocks[i], bytes / 10 * (i % 7 + 1), i)) << i;
    free(blocks[i]);
  }
}

TEST(Fork, Grandchildren) {
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  const pid_t child = fork();
  if (child == 0) {
    fill(block, bytes, 2);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      if (!holds(block, bytes, 2)) _exit(2);
      fill(block, bytes, 3);
      _exit(0);
    }
    if (end_of(grandchild) != 0) _exit(3);
    _exit(holds(block, bytes, 2) ? 0 : 4);
  }
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(holds(block, bytes, 1));
  free(block);
}

TEST(Fork, ChildHasNoDescriptorOfTheHeap) {
  void* block = malloc(bytes);
  const pid_t child = fork();
  if (child == 0) _exit(heap_resident_bytes() == 0 && !has_heap() ? 0 : 2);
  EXPECT_EQ(end_of(child), 0);
  free(block);
}

TEST(Fork, ChildThatDiesAtOnceHarmsNobody) {
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    EXPECT_EQ(end_of(child), 7);
  }
  EXPECT_TRUE(holds(block, bytes, 1));
  free(block);
}

TEST(Fork, WithoutHandlers) {
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  const pid_t child = _Fork();
  if (child == 0) {
    if (!holds(block, bytes, 1)) _exit(2);
    std::memset(block, 9, bytes);
    _exit(0);
  }
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(holds(block, bytes, 1));
  free(block);
}

TEST(Fork, ManyTimesFromAThreadedProgram) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&stop, t] {
      for (std::uint32_t i = 0; !stop; ++i) {
        const std::size_t size = 20'000 + (i * 7919 + t) % 300'000;
        void* block = malloc(size);
        fill(block, size, i);
        if (!holds(block, size, i)) abort();
        free(block);
      }
    });
  }
  void* block = malloc(bytes);
  fill(block, bytes, 1);
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (!holds(block, bytes, 1)) _exit(2);
      fill(block, bytes, 2);
      void* other = malloc(bytes);  // no lock of a thread that is gone may be held
      free(other);
      free(block);
      _exit(0);
    }
    ASSERT_EQ(end_of(child), 0);
    ASSERT_TRUE(holds(block, bytes, 1));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  free(block);
}

// Several threads fork at once.
TEST(Fork, FromSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&bad, t] {
      void* block = malloc(bytes);
      fill(block, bytes, t);
      for (int i = 0; i < 10; ++i) {
        const pid_t child = fork();
        if (child == 0) {
          if (!holds(block, bytes, t)) _exit(2);
          std::memset(block, 0, bytes);
          _exit(0);
        }
        if (end_of(child) != 0 || !holds(block, bytes, t)) ++bad;
      }
      free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, 0);
}

// ---- On a stack in the heap ----

ucontext_t caller;
int end_of_both = -1;

// Parent and child run on the same addresses, and change what is there.
template <pid_t (*fork_one)()>
void fork_on_a_coroutine() {
  unsigned char mine[4000];
  end_of_both = 0;
  for (int turn = 0; turn < 20; ++turn) {
    std::memset(mine, turn + 1, sizeof mine);
    const pid_t child = fork_one();
    const int number = child == 0 ? 100 + turn : turn + 1;
    for (int again = 0; again < 200; ++again) {
      for (volatile unsigned char& byte : mine) byte = static_cast<unsigned char>(number);
      for (const volatile unsigned char& byte : mine) end_of_both |= byte == number ? 0 : 1;
    }
    if (child == 0) _exit(end_of_both);
    end_of_both |= end_of(child);
  }
}

void run_on_heap_stack(void (*work)()) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer does not know such stacks";
#endif
  constexpr std::size_t stack_bytes = 200'000;
  void* const stack = malloc(stack_bytes);
  if (expects_heap()) {
    EXPECT_TRUE(in_shared_heap(stack));
  }
  ucontext_t coroutine;
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = stack_bytes;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, work, 0);
  swapcontext(&caller, &coroutine);
  EXPECT_EQ(end_of_both, 0);
  free(stack);
}

TEST(Fork, OnACoroutinesStack) { run_on_heap_stack(fork_on_a_coroutine<fork>); }
TEST(Fork, OnACoroutinesStackWithoutHandlers) { run_on_heap_stack(fork_on_a_coroutine<_Fork>); }

// What libc and the kernel keep of a thread lies on the stack that the program gave it: there is no way to fork.
TEST(Fork, AThreadOnSuchAStackGetsAnError) {
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  void* stack = nullptr;
  ASSERT_EQ(posix_memalign(&stack, 4096, stack_bytes), 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, stack_bytes), 0);
  const auto work = [](void* refused) -> void* {
    errno = 0;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) end_of(child);
    *static_cast<bool*>(refused) = child < 0 && errno == ENOMEM;
    return nullptr;
  };
  bool refused = false;
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, work, &refused), 0);
  pthread_join(thread, nullptr);
  EXPECT_EQ(refused, in_shared_heap(stack));
  pthread_attr_destroy(&attributes);
  free(stack);
}

// What the program has mapped over the heap stays what it is in the child.
TEST(Fork, MappingsOfTheProgramInTheHeapAreInherited) {
  void* block = nullptr;
  ASSERT_EQ(posix_memalign(&block, 4096, 1 << 20), 0);
  fill(block, 1 << 20, 1);
  auto* middle = static_cast<char*>(block) + 65536;
  void* mapped = mmap(middle, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(mapped, middle);
  std::memset(middle, 5, 65536);
  const pid_t child = fork();
  if (child == 0) {
    if (middle[0] != 5 || !holds(block, 65536, 1)) _exit(2);
    std::memset(block, 6, 65536);
    std::memset(middle, 6, 65536);  // shared with the parent, as the program wants it
    std::memset(middle + 65536, 6, 65536);
    _exit(0);
  }
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(holds(block, 65536, 1));
  EXPECT_EQ(middle[0], 6);
  EXPECT_EQ(middle[65535], 6);
  EXPECT_NE(middle[65536], 6);
}

}  // namespace
}  // namespace quadrille::test
