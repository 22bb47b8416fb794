// Large blocks through XPMEM between real ranks, with a stand-in of its library: the data is right, parts
// are attached once, memory that is mapped over is noticed, and what cannot be attached comes through the ring, in its
// call alone. Runs under the preload library.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "../run/xpmem_standin.hpp"
#include "program.hpp"

namespace xpmem_check {

using namespace quadrille::test;

constexpr int block = 40000;
constexpr std::size_t chunk = std::size_t{2} << 20;

// Maps `bytes` of new shared memory; over what is at `at`, if that is not null.
char* map_memory(void* at, std::size_t bytes) {
  const int file = memfd_create("arena", MFD_CLOEXEC);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  const int flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
  return static_cast<char*>(mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0));
}

char value(int from, int to, int call) { return static_cast<char>(from * 31 + to * 7 + call); }

void exchange(char* send, char* recv, int call) {
  for (int to = 0; to < size; ++to) std::memset(send + to * block, value(rank, to, call), block);
  MPI_Alltoall(send, block, MPI_CHAR, recv, block, MPI_CHAR, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    const char* got = recv + from * block;
    const char wanted = value(from, rank, call);
    check(got[0] == wanted && std::memcmp(got, got + 1, block - 1) == 0, "wrong data", call);
  }
}

// Is the block of one rank for another in private memory in this call? First in every other call of a pair: an ask for
// the ring that is still there in the next call fills the ring with what the one after that takes for its block. Then
// in any.
bool is_private(int from, int to, int call) {
  if (call < 10) return (from + to + call) % 2 == 0;
  return (static_cast<std::uint32_t>(from * 64 + to * 8 + call) * 2654435761u >> 20) % 3 == 0;
}

// Half of `send` is shared memory, which can be attached, and the rest is not.
void exchange_mixed(char* send, std::size_t half, char* recv, int call) {
  std::vector<int> counts(static_cast<std::size_t>(size), block), from(counts), to(counts);
  for (int peer = 0; peer < size; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    to[p] = peer * block;
    from[p] = peer * block + (is_private(rank, peer, call) ? static_cast<int>(half) : 0);
    std::memset(send + from[p], value(rank, peer, call), block);
  }
  MPI_Alltoallv(send, counts.data(), from.data(), MPI_CHAR, recv, counts.data(), to.data(), MPI_CHAR, MPI_COMM_WORLD);
  for (int peer = 0; peer < size; ++peer) {
    const char* got = recv + peer * block;
    if (got[0] == value(peer, rank, call) && std::memcmp(got, got + 1, block - 1) == 0) continue;
    check(false, is_private(peer, rank, call) ? "wrong data by the ring" : "wrong data by an attach", call);
    MPI_Abort(MPI_COMM_WORLD, 1);  // the next call might never end
  }
}

// What some ranks attach and others cannot, in calls that follow each other.
void exchange_by_both_ways(char* recv, std::size_t bytes, const XpmemStandin& seen) {
  auto* send = static_cast<char*>(mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  check(send != MAP_FAILED && map_memory(send, bytes) == send, "no memory", 0);
  const int attached = seen.attaches, failed = seen.failed_attaches;
  alarm(60);  // a rank may wait for ever for what goes another way
  for (int call = 0; call < 50; ++call) exchange_mixed(send, bytes, recv, call);
  alarm(0);
  check(seen.attaches > attached, "nothing was attached", 50);
  check(seen.failed_attaches > failed, "nothing came through the ring", 50);
  munmap(send, 2 * bytes);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const std::size_t bytes = (static_cast<std::size_t>(block * size) + chunk) / 4096 * 4096;
  char* send = map_memory(nullptr, bytes);
  char* recv = map_memory(nullptr, bytes);
  exchange(send, recv, 0);
  void* library = dlopen("libxpmem.so.0", RTLD_LAZY | RTLD_NOLOAD);
  check(library != nullptr, "the stand-in is not loaded", 0);
  if (library == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  const auto& seen = *static_cast<XpmemStandin*>(dlsym(library, "xpmem_standin"));
  // One at set-up and one for the block, of each peer. More: the program's memory may lie across chunks.
  const int first = seen.attaches;
  check(first >= 2 * (size - 1), "blocks did not go through XPMEM", 0);
  for (int call = 1; call < 20; ++call) exchange(send, recv, call);
  check(seen.attaches == first, "what was attached was attached again", 20);

  // The same addresses, other memory.
  map_memory(send, bytes);
  for (int call = 20; call < 30; ++call) exchange(send, recv, call);
  check(seen.attaches > first, "nothing was attached anew", 30);
  munmap(send, bytes);
  check(map_memory(send, bytes) == send, "no memory", 30);
  for (int call = 30; call < 40; ++call) exchange(send, recv, call);
  exchange_by_both_ways(recv, bytes, seen);

  MPI_Finalize();
  check(seen.detaches == seen.attaches, "something stayed attached", 40);
  check(seen.releases == seen.gets && seen.removes == 1, "something was not given back", 40);
  return say_verdict();
}

}  // namespace xpmem_check
