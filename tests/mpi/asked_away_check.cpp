// Two nodes, and messages between them one step at a time (QUADRILLE_AWAY_STEPS=1). On each node one rank cannot read a
// block after all and asks its owner for the ring, late: the owner then waits already for a message of the second step,
// from a rank of the other node that asks in the same way. So who waits for messages must answer.
//
// Rank 1 asks rank 0, which sends to rank 2; rank 2 asks rank 3, which sends to rank 1. 4 ranks, two on each node. What
// ranks 1 and 2 exchange is the first step, and keeps them from the second for as long as they do not wait for
// messages.
#include <mpi.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "quadrille.h"

namespace {

constexpr int ranks = 4;
constexpr int inside_bytes = 200001;  // read from the sender, or not: nothing else has this size
constexpr int away_bytes = 180000;    // so large that the receiver must have begun

struct Block {
  int from, to, bytes;
};
constexpr Block blocks[] = {{0, 1, inside_bytes}, {3, 2, inside_bytes}, {0, 2, away_bytes}, {3, 1, away_bytes},
                            {3, 0, away_bytes},   {1, 2, away_bytes}};  // the last two are the first step

int failed_reads = 0;

char value(const Block& block, int at, int call) { return static_cast<char>(block.from * 7 + block.to + at + call); }

// What one rank sends, or receives, in the order of the peers.
struct Side {
  std::vector<int> counts = std::vector<int>(ranks), displacements = std::vector<int>(ranks);
  std::vector<char> bytes;
  void add(int peer, int count) {
    counts[static_cast<std::size_t>(peer)] = count;
    displacements[static_cast<std::size_t>(peer)] = static_cast<int>(bytes.size());
    bytes.resize(bytes.size() + static_cast<std::size_t>(count));
  }
  char* block(int peer) { return bytes.data() + displacements[static_cast<std::size_t>(peer)]; }
};

}  // namespace

// In place of the system's: what is to be read lies in memory of a special kind.
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long count, const iovec* there,
                                    unsigned long there_count, unsigned long flags) noexcept {
  if (count == 1 && here->iov_len == inside_bytes) {
    usleep(100000);
    ++failed_reads;
    return -1;
  }
  return syscall(SYS_process_vm_readv, process, here, count, there, there_count, flags);
}

int main(int argc, char** argv) {
  alarm(60);  // it hangs
  MPI_Init(&argc, &argv);
  int me = 0, size = 0, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  Side send, recv;
  for (const Block& block : blocks) {
    if (block.from == me) send.add(block.to, block.bytes);
    if (block.to == me) recv.add(block.from, block.bytes);
  }
  for (int call = 0; call < 3; ++call) {
    for (const Block& block : blocks) {
      for (int i = 0; block.from == me && i < block.bytes; ++i) send.block(block.to)[i] = value(block, i, call);
    }
    Quadrille_Alltoallv(send.bytes.data(), send.counts.data(), send.displacements.data(), MPI_BYTE, recv.bytes.data(),
                        recv.counts.data(), recv.displacements.data(), MPI_BYTE, MPI_COMM_WORLD);
    for (const Block& block : blocks) {
      for (int i = 0; block.to == me && i < block.bytes; ++i) {
        failures += recv.block(block.from)[i] != value(block, i, call);
      }
    }
  }
  // Else this has tested nothing.
  if ((me == 1 || me == 2) && failed_reads != 3) ++failures;
  if (failures > 0) std::fprintf(stderr, "rank %d: %d failures, %d reads failed\n", me, failures, failed_reads);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
