// Buffers that change between calls: freed, mapped over, unmapped, of all kinds in one call. A peer must
// never see what was there before.
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

class Memory : public MpiTest {};

std::uint32_t word(int from, int to, int turn, std::size_t i) {
  const auto mixed = static_cast<std::uint64_t>(from * 7919 + to * 104729 + turn * 1299709) + i * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::uint32_t>(mixed >> 17);
}

// One all-to-all of `words` 32-bit words a block between the buffers. Wrong words on this rank.
std::size_t exchange(void* send, void* recv, std::size_t words, int turn, const Communicator& on) {
  auto* out = static_cast<std::uint32_t*>(send);
  auto* in = static_cast<std::uint32_t*>(recv);
  const auto size = static_cast<std::size_t>(on.size);
  for (std::size_t to = 0; to < size; ++to) {
    for (std::size_t i = 0; i < words; ++i) {
      out[to * words + i] = word(on.rank, static_cast<int>(to), turn, i);
    }
  }
  std::memset(recv, 0xee, size * words * 4);
  const auto count = static_cast<int>(words);
  EXPECT_EQ(tested.alltoall(send, count, MPI_INT32_T, recv, count, MPI_INT32_T, on.comm), MPI_SUCCESS);
  std::size_t wrong = 0;
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t i = 0; i < words; ++i) {
      wrong += in[from * words + i] != word(static_cast<int>(from), on.rank, turn, i);
    }
  }
  return wrong;
}

constexpr std::size_t words = 20'000;  // 80 kB a block

std::size_t bytes_on(const Communicator& on) { return words * 4 * static_cast<std::size_t>(on.size); }

TEST_F(Memory, FreedAndAllocatedAnew) {
  const Communicator& on = communicator_named("world");
  for (int turn = 0; turn < repeats(40, 10); ++turn) {
    void* send = std::malloc(bytes_on(on));
    // Ranks allocate in different orders, so that addresses differ.
    void* between = turn % (on.rank + 2) == 0 ? std::malloc(300'000) : nullptr;
    void* recv = std::malloc(bytes_on(on));
    EXPECT_EQ(exchange(send, recv, words, turn, on), 0U);
    std::free(between);
    std::free(turn % 2 == 0 ? send : recv);
    std::free(turn % 2 == 0 ? recv : send);
  }
}

// Another thread frees the buffers and writes to what it gets in their place.
TEST_F(Memory, FreedByAnotherThread) {
  const Communicator& on = communicator_named("world");
  for (int turn = 0; turn < repeats(20, 6); ++turn) {
    void* const send = std::malloc(bytes_on(on));
    void* const recv = std::malloc(bytes_on(on));
    EXPECT_EQ(exchange(send, recv, words, 500 + turn, on), 0U);
    std::thread([&] {
      std::free(send);
      std::free(recv);
      void* const own = std::malloc(bytes_on(on));
      std::memset(own, 0x5a, bytes_on(on));
      std::free(own);
    }).join();
  }
}

// Puts other pages there, by mmap or as System V shared memory (where the system has it).
void put_over(void* place, std::size_t bytes, bool system_v) {
  const int segment = system_v ? shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600) : -1;
  void* over = segment < 0 ? mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
                           : shmat(segment, place, SHM_REMAP);
  EXPECT_EQ(over, place);
  if (segment >= 0) shmctl(segment, IPC_RMID, nullptr);  // it goes when it is detached
}

// The program puts other pages where part of a buffer was. What malloc gave is never freed then; it stays
// known, so that it is no leak.
TEST_F(Memory, MappedOver) {
  static auto* kept = new std::vector<void*>;  // outlives the check
  const Communicator& on = communicator_named("world");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (int turn = 0; turn < 4; ++turn) {
    auto* send = static_cast<char*>(std::malloc(bytes_on(on)));
    auto* recv = static_cast<char*>(std::malloc(bytes_on(on)));
    kept->insert(kept->end(), {send, recv});
    EXPECT_EQ(exchange(send, recv, words, 100 + turn, on), 0U);
    // One rank does it to its send buffer, another to its recv buffer.
    if (turn % on.size == on.rank || (turn + 1) % on.size == on.rank) {
      char* buffer = turn % on.size == on.rank ? send : recv;
      const auto inside = (reinterpret_cast<std::uintptr_t>(buffer) + 3 * page) / page * page;
      put_over(reinterpret_cast<void*>(inside), 5 * page, turn >= 2);
    }
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(exchange(send, recv, words, 200 + 10 * turn + again, on), 0U);
    }
  }
}

// Dropped pages of memory from malloc read as zeros, whoever watches madvise, and peers see that too.
TEST_F(Memory, DroppedPagesAreZeros) {
  const Communicator& on = communicator_named("world");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto size = static_cast<std::size_t>(on.size);
  auto* send = static_cast<char*>(std::malloc(bytes_on(on)));
  auto* recv = static_cast<char*>(std::malloc(bytes_on(on)));
  for (int turn = 0; turn < 3; ++turn) {
    std::memset(send, 0x77, bytes_on(on));
    std::memset(recv, 0x77, bytes_on(on));
    const std::size_t first =
        (reinterpret_cast<std::uintptr_t>(send) + page - 1) / page * page - reinterpret_cast<std::uintptr_t>(send);
    const std::size_t dropped = (bytes_on(on) - first) / page * page;
    ASSERT_EQ(madvise(send + first, dropped, MADV_DONTNEED), 0);
    EXPECT_EQ(std::count(send + first, send + first + dropped, 0), static_cast<std::ptrdiff_t>(dropped));
    const int count = words * 4;
    EXPECT_EQ(tested.alltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, on.comm), MPI_SUCCESS);
    // Only what lies before the first page and after the last is left.
    EXPECT_LE(std::count(recv, recv + bytes_on(on), 0x77), static_cast<std::ptrdiff_t>(2 * size * page));
  }
  std::free(send);
  std::free(recv);
}

// Pages that are unmapped and mapped again, perhaps at the same address.
TEST_F(Memory, UnmappedAndMappedAgain) {
  const Communicator& on = communicator_named("world");
  for (int turn = 0; turn < repeats(20, 6); ++turn) {
    void* send = mmap(nullptr, bytes_on(on), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* recv = mmap(nullptr, bytes_on(on), PROT_READ | PROT_WRITE,
                      (turn % 2 == 0 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(exchange(send, recv, words, 300 + turn, on), 0U);
    munmap(send, bytes_on(on));
    munmap(recv, bytes_on(on));
  }
}

// A buffer across two huge pages, where the system gives any. Of the second one the part behind the buffer is unmapped,
// and then small pages are put where the buffer enters it.
TEST_F(Memory, HugePagesHalfMapped) {
  constexpr std::size_t huge = std::size_t{2} << 20, page = 4096;
  const Communicator& on = communicator_named("world");
  const std::size_t bytes = bytes_on(on);
  if (bytes > huge) GTEST_SKIP() << "the blocks of so many ranks do not fit";
  struct Buffer {
    char *mapped, *boundary, *start, *behind;
    explicit Buffer(std::size_t bytes) {
      mapped = static_cast<char*>(
          mmap(nullptr, 3 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      boundary = mapped + (2 * huge - reinterpret_cast<std::uintptr_t>(mapped) % huge);
      madvise(boundary - huge, 2 * huge, MADV_HUGEPAGE);
      start = boundary - bytes / 2 / page * page;
      std::memset(start, 1, bytes);
      behind = start + (bytes + page - 1) / page * page;
      munmap(behind, static_cast<std::size_t>(boundary + huge - behind));
    }
    // But for what is unmapped already: others may have got it.
    ~Buffer() {
      munmap(mapped, static_cast<std::size_t>(behind - mapped));
      const std::size_t rest = static_cast<std::size_t>(mapped + 3 * huge - (boundary + huge));
      if (rest > 0) munmap(boundary + huge, rest);
    }
    void put_small_pages() const {
      EXPECT_EQ(mmap(boundary, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                boundary);
    }
  };
  const Buffer send(bytes), recv(bytes);
  for (int turn = 0; turn < 6; ++turn) {
    if (turn == 2) send.put_small_pages();
    if (turn == 4) recv.put_small_pages();
    EXPECT_EQ(exchange(send.start, recv.start, words, 600 + turn, on), 0U);
  }
}

// Private pages of a file: what is received is not seen in it.
TEST_F(Memory, PrivateFile) {
  const Communicator& on = communicator_named("world");
  const std::size_t bytes = bytes_on(on);
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), static_cast<off_t>(2 * bytes)), 0);
  auto* const both = static_cast<char*>(mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0));
  ASSERT_NE(both, MAP_FAILED);
  for (int turn = 0; turn < 4; ++turn) EXPECT_EQ(exchange(both, both + bytes, words, 700 + turn, on), 0U);
  std::vector<char> in_file(2 * bytes, 1);
  EXPECT_EQ(pread(fileno(file), in_file.data(), in_file.size(), 0), static_cast<ssize_t>(in_file.size()));
  EXPECT_EQ(std::count(in_file.begin(), in_file.end(), 0), static_cast<std::ptrdiff_t>(in_file.size()));
  munmap(both, 2 * bytes);
  std::fclose(file);
}

// Each rank's buffers are of another kind: heap, stack of a size that matters, static, mapped.
TEST_F(Memory, OfAllKindsInOneCall) {
  const Communicator& on = communicator_named("world");
  static char fixed[2][64 * 1024 * 16];
  for (int turn = 0; turn < 8; ++turn) {
    const std::size_t some = on.size <= 16 ? 1024U << (turn % 4) : 64;  // 4 KiB to 32 KiB a block
    const std::size_t bytes = some * 4 * static_cast<std::size_t>(on.size);
    std::vector<char> first(bytes), second(bytes);
    const bool fits = bytes <= sizeof fixed[0];
    const int kind = (on.rank + turn) % 3;
    void* send = kind == 0 && fits ? fixed[0] : first.data();
    void* recv = kind == 1 && fits ? fixed[1] : second.data();
    EXPECT_EQ(exchange(send, recv, some, 400 + turn, on), 0U);
  }
}

}  // namespace
}  // namespace quadrille::test
