// Calls collectives again and again, on the world and on communicators that come and go, and checks every element:
//   faults CALLS    ends with "all right" after so many rounds; 0: goes on for half a minute
// Says when the first round is over. faults.py kills and stops its ranks, tests/cluster/failures.py on several hosts.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace faults_check {

int value(int from, int to, int round, int place) { return ((from * 31 + to) * 1009 + round) * 17 + place; }

bool exchange(MPI_Comm comm, int block, int round) {
  int size = 0, rank = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  std::vector<int> send(static_cast<std::size_t>(size * block)), recv(send.size(), -1);
  for (int to = 0; to < size; ++to) {
    for (int i = 0; i < block; ++i) send[static_cast<std::size_t>(to * block + i)] = value(rank, to, round, i);
  }
  MPI_Alltoall(send.data(), block, MPI_INT, recv.data(), block, MPI_INT, comm);
  for (int from = 0; from < size; ++from) {
    for (int i = 0; i < block; ++i) {
      if (recv[static_cast<std::size_t>(from * block + i)] != value(from, rank, round, i)) return false;
    }
  }
  std::vector<int> gathered(recv.size(), -1);
  MPI_Allgather(send.data(), block, MPI_INT, gathered.data(), block, MPI_INT, comm);
  for (int from = 0; from < size; ++from) {
    for (int i = 0; i < block; ++i) {
      if (gathered[static_cast<std::size_t>(from * block + i)] != value(from, 0, round, i)) return false;
    }
  }
  return true;
}

bool one_round(int round) {
  bool right = true;
  for (const int block : {2, 700, 20'000}) right = exchange(MPI_COMM_WORLD, block, round) && right;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (const int block : {1, 5'000}) right = exchange(copy, block, round + 1) && right;
  MPI_Comm_free(&copy);
  return right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 0;
  const double begin = MPI_Wtime();
  int right = 1, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; rounds == 0 || round < rounds; ++round) {
    right = one_round(round) ? right : 0;
    if (round == 0 && rank == 0) {
      std::puts("first round");
      std::fflush(stdout);
    }
    int more = MPI_Wtime() - begin < 30 ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rounds == 0 && more == 0) break;
  }
  int all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) std::puts(all == 1 ? "all right" : "wrong data");
  MPI_Finalize();
  return 0;
}

}  // namespace faults_check
