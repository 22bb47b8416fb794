// Uses every collective and ends in a given way; check_clean.sh then looks for what is left.
//   finalize end      MPI_Finalize, with communicators that were never freed, some of nonblocking calls alone
//   finalize killed   the last rank kills itself while the others are in collectives
//   finalize aborted  the last rank calls MPI_Abort
// After MPI_Finalize the process itself must hold no segment of ours any more but its own heap, where the
// program's memory is.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace finalize_check {

void use_all(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<int> send(ranks * 64, 1), receive(ranks * 64), counts(ranks, 8), places(ranks);
  for (std::size_t peer = 0; peer < ranks; ++peer) places[peer] = static_cast<int>(peer) * 8;
  const std::vector<MPI_Datatype> kinds(ranks, MPI_INT);
  MPI_Alltoall(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm);
  MPI_Alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(), places.data(),
                MPI_INT, comm);
  MPI_Alltoallw(send.data(), counts.data(), places.data(), kinds.data(), receive.data(), counts.data(), places.data(),
                kinds.data(), comm);
  MPI_Allgather(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm);
  MPI_Allgatherv(send.data(), 8, MPI_INT, receive.data(), counts.data(), places.data(), MPI_INT, comm);
}

// Blocks that do not fit a slot: peers read each other's memory.
void use_large(MPI_Comm comm) {
  constexpr int block = 20000;
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> send(static_cast<std::size_t>(size) * block, 1), receive(send.size());
  MPI_Alltoall(send.data(), block, MPI_INT, receive.data(), block, MPI_INT, comm);
}

// Nonblocking calls alone, on communicators of which none is freed: what they need may be on its way at the end.
void use_nonblocking() {
  constexpr int most_calls = 6;
  for (int calls = 1; calls <= most_calls; ++calls) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int size = 0;
    MPI_Comm_size(comm, &size);
    std::vector<int> send(static_cast<std::size_t>(size), 1), receive(send.size());
    for (int call = 0; call < calls; ++call) {
      MPI_Request request;
      MPI_Ialltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

// Segments of ours that are mapped into this process, each counted once.
struct Segments {
  std::set<std::string> heaps, others;  // inode numbers
};
Segments segments() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  Segments found;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::string range, access, offset, device, inode, name;
    fields >> range >> access >> offset >> device >> inode >> name;
    if (name.find("memfd:quadrille-heap") != std::string::npos) {
      found.heaps.insert(inode);
    } else if (name.find("memfd:quadrille") != std::string::npos) {
      found.others.insert(inode);
    }
  }
  return found;
}

int main(int argc, char** argv) {
  const char* const ending = argc > 1 ? argv[1] : "end";
  int rank = 0;
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm copies[3];
  for (MPI_Comm& copy : copies) MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int turn = 0; turn < 10; ++turn) {
    use_all(MPI_COMM_WORLD);
    for (MPI_Comm copy : copies) use_all(copy);
  }
  use_nonblocking();
  const Segments held = segments();
  if (std::strcmp(ending, "end") != 0) {
    if (rank == 0) std::printf("segments in the middle: %zu\n", held.others.size());
    std::fflush(stdout);
    for (int turn = 0;; ++turn) {
      if (turn == 5 && rank == size - 1) {
        if (std::strcmp(ending, "killed") == 0) raise(SIGKILL);
        MPI_Abort(MPI_COMM_WORLD, 7);
      }
      use_all(MPI_COMM_WORLD);
      use_large(MPI_COMM_WORLD);
    }
  }
  MPI_Comm_free(&copies[1]);  // the others are left to MPI_Finalize
  MPI_Finalize();
  if (rank == 0) std::printf("segments before MPI_Finalize: %zu\n", held.others.size());
  const Segments left = segments();
  if (!left.others.empty() || left.heaps.size() > 1) {
    std::fprintf(stderr, "rank %d still maps %zu segments and %zu heaps after MPI_Finalize\n", rank, left.others.size(),
                 left.heaps.size());
    return 1;
  }
  return 0;
}

}  // namespace finalize_check
