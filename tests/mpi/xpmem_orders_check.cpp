// Ordered copies over XPMEM between real ranks, with a stand-in of its library: blocks in memory that peers attach,
// in the shared heap, and in both; and attaches that fail. Runs under the preload library, with an order forced.
// $1: "orders"; "unlike" for the same where rank 0 has no heap; or "column" for hint-column, which alone needs nothing
// of its peers but their receive buffers.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../run/xpmem_standin.hpp"
#include "program.hpp"

namespace xpmem_orders_check {

using namespace quadrille::test;

constexpr std::size_t room = std::size_t{3} << 20;
int calls;
XpmemStandin* standin;

void check(bool good, const char* what) { quadrille::test::check(good, what, calls); }

// New shared memory, which the stand-in can attach; over what is at `at`, if that is not null.
char* attachable(void* at = nullptr) {
  const int file = memfd_create("arena", MFD_CLOEXEC);
  if (ftruncate(file, room) != 0) return nullptr;
  const int flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
  return static_cast<char*>(mmap(at, room, PROT_READ | PROT_WRITE, flags, file, 0));
}

// What it cannot attach, and what is not in the shared heap.
char* not_attachable() {
  return static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

char value(int from, int to) { return static_cast<char>(from * 31 + to * 7 + calls); }

bool holds(const char* got, char wanted, int bytes) {
  return got[0] == wanted && std::memcmp(got, got + 1, static_cast<std::size_t>(bytes - 1)) == 0;
}

void all_to_all(char* send, char* recv, int block) {
  ++calls;
  char* blocks = send != nullptr ? send : recv;
  for (int to = 0; to < size; ++to) std::memset(blocks + to * block, value(rank, to), static_cast<std::size_t>(block));
  MPI_Alltoall(send != nullptr ? send : MPI_IN_PLACE, block, MPI_CHAR, recv, block, MPI_CHAR, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    check(holds(recv + from * block, value(from, rank), block), "wrong data of alltoall");
  }
}

// Blocks of different sizes, some of them empty; with gaps on the receiving side.
void uneven(char* send, char* recv) {
  ++calls;
  const auto bytes = [](int from, int to) { return (from * 3 + to) % 5 * 1000; };
  const auto r = static_cast<std::size_t>(size);
  std::vector<int> sent(r), sent_at(r), received(r), received_at(r);
  for (int p = 0; p < size; ++p) {
    const auto i = static_cast<std::size_t>(p);
    sent[i] = bytes(rank, p), sent_at[i] = p * 5000;
    received[i] = bytes(p, rank) / 1000, received_at[i] = p * 4;
    std::memset(send + sent_at[i], value(rank, p), static_cast<std::size_t>(sent[i]));
  }
  MPI_Datatype half, type;  // every other 500 bytes
  MPI_Type_vector(2, 500, 1000, MPI_CHAR, &half);
  MPI_Type_create_resized(half, 0, 2000, &type);
  MPI_Type_commit(&type);
  std::memset(recv, 'x', room);
  MPI_Alltoallv(send, sent.data(), sent_at.data(), MPI_CHAR, recv, received.data(), received_at.data(), type,
                MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    const auto i = static_cast<std::size_t>(p);
    for (int e = 0; e < 2 * received[i]; ++e) {
      const char* got = recv + received_at[i] * 2000 + e * 1000;
      check(holds(got, value(p, rank), 500), "wrong data of alltoallv");
      check(holds(got + 500, 'x', 500), "alltoallv wrote into a gap");
    }
  }
  MPI_Type_free(&type);
  MPI_Type_free(&half);
}

void everything(char* send, char* recv) {
  for (const int block : {1, 100, 5000, 100000}) {
    all_to_all(send, recv, block);
    all_to_all(nullptr, recv, block);
  }
  uneven(send, recv);
}

void find_standin() {
  void* library = dlopen("libxpmem.so.0", RTLD_LAZY | RTLD_NOLOAD);
  check(library != nullptr, "the stand-in is not loaded");
  if (library == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  standin = static_cast<XpmemStandin*>(dlsym(library, "xpmem_standin"));
}

// Calls while some ranks, one of them, or all cannot attach; at last all can again.
void check_failures(char* send, char* recv) {
  for (int first = 0; first < size; ++first) {
    attachable(send), attachable(recv);  // so that all is attached anew
    standin->fail_attach = rank >= first;
    everything(send, recv);
    standin->fail_attach = rank == first;
    everything(send, recv);
    standin->fail_attach = false;
  }
  attachable(send), attachable(recv);
  const int before = standin->attaches;
  everything(send, recv);
  check(standin->attaches > before, "after a failure nothing is attached any more");
}

void check_orders() {
  char *send = attachable(), *recv = attachable();
  const int before = standin->attaches;
  all_to_all(send, recv, 50000);
  check(standin->attaches > before, "blocks did not go through XPMEM");
  const int first = standin->attaches;
  for (int call = 0; call < 10; ++call) all_to_all(send, recv, 50000);
  check(standin->attaches == first, "what was attached was attached again");
  everything(send, recv);
  check_failures(send, recv);

  // Some buffers in the heap, if there is one.
  char* heap = static_cast<char*>(std::malloc(room));
  everything(rank % 2 == 0 ? heap : send, recv);
  everything(send, rank % 2 == 0 ? recv : heap);
  everything(heap, rank % 3 == 0 ? recv : send);
  // Some ranks have memory that cannot be attached.
  char* bare = not_attachable();
  everything(rank == 0 ? bare : heap, recv);
  everything(send, rank == size - 1 ? bare : recv);
  everything(send, bare);
  std::free(heap);
}

// Nobody can attach a send buffer: it is the senders that copy into what they attach.
void check_column() {
  char *send = not_attachable(), *recv = attachable();
  for (const int block : {1, 100, 40000}) {
    attachable(recv);
    const int before = standin->attaches;
    all_to_all(send, recv, block);
    check(standin->attaches >= before + size - 1, "the senders did not attach all receive buffers");
  }
}

bool is_rank_0() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::string(value) == "0";
  }
  return false;
}

int main(int argc, char** argv) {
  const std::string mode = argv[1];
  if (mode == "unlike" && is_rank_0()) setenv("QUADRILLE_HEAP", "off", 1);
  begin(&argc, &argv);
  find_standin();
  mode == "column" ? check_column() : check_orders();
  MPI_Finalize();
  check(standin->detaches == standin->attaches, "something stayed attached");
  return say_verdict();
}

}  // namespace xpmem_orders_check
