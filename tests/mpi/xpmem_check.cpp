// Large blocks through XPMEM between real ranks, with a stand-in of its library: the data is right, parts
// are attached once, and memory that is mapped over is noticed. Runs under the preload library.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "xpmem_standin.hpp"

namespace {

constexpr int block = 40000;
constexpr std::size_t chunk = std::size_t{2} << 20;
int rank, ranks, failures;

void expect(bool good, const char* what, int call) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d, call %d: %s\n", rank, call, what);
}

// Maps `bytes` of new shared memory; over what is at `at`, if that is not null.
char* map_memory(void* at, std::size_t bytes) {
  const int file = memfd_create("arena", MFD_CLOEXEC);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  const int flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
  return static_cast<char*>(mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0));
}

char value(int from, int to, int call) { return static_cast<char>(from * 31 + to * 7 + call); }

void exchange(char* send, char* recv, int call) {
  for (int to = 0; to < ranks; ++to) std::memset(send + to * block, value(rank, to, call), block);
  MPI_Alltoall(send, block, MPI_CHAR, recv, block, MPI_CHAR, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from) {
    const char* got = recv + from * block;
    const char wanted = value(from, rank, call);
    expect(got[0] == wanted && std::memcmp(got, got + 1, block - 1) == 0, "wrong data", call);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t bytes = (static_cast<std::size_t>(block * ranks) + chunk) / 4096 * 4096;
  char* send = map_memory(nullptr, bytes);
  char* recv = map_memory(nullptr, bytes);
  exchange(send, recv, 0);
  void* library = dlopen("libxpmem.so.0", RTLD_LAZY | RTLD_NOLOAD);
  expect(library != nullptr, "the stand-in is not loaded", 0);
  if (library == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  const auto& seen = *static_cast<XpmemStandin*>(dlsym(library, "xpmem_standin"));
  // One at set-up and one for the block, of each peer. More: the program's memory may lie across chunks.
  const int first = seen.attaches;
  expect(first >= 2 * (ranks - 1), "blocks did not go through XPMEM", 0);
  for (int call = 1; call < 20; ++call) exchange(send, recv, call);
  expect(seen.attaches == first, "what was attached was attached again", 20);

  // The same addresses, other memory.
  map_memory(send, bytes);
  for (int call = 20; call < 30; ++call) exchange(send, recv, call);
  expect(seen.attaches > first, "nothing was attached anew", 30);
  munmap(send, bytes);
  expect(map_memory(send, bytes) == send, "no memory", 30);
  for (int call = 30; call < 40; ++call) exchange(send, recv, call);

  MPI_Finalize();
  expect(seen.detaches == seen.attaches, "something stayed attached", 40);
  expect(seen.releases == seen.gets && seen.removes == 1, "something was not given back", 40);
  return failures == 0 ? 0 : 1;
}
