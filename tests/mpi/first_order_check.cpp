// The first call is on a communicator of all ranks in another order. What is found out then, and the communicator made
// for it, serve MPI_COMM_WORLD, too, where ranks have other numbers.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "program.hpp"
#include "quadrille.h"

namespace first_order_check {

using quadrille::test::wrong;

void check(MPI_Comm comm, const char* name) {
  int me = 0, ranks = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  std::vector<int> send(static_cast<std::size_t>(ranks)), recv(send.size(), -1);
  for (int to = 0; to < ranks; ++to) send[static_cast<std::size_t>(to)] = 100 * me + to;
  if (Quadrille_Alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm) != MPI_SUCCESS) ++wrong;
  for (int from = 0; from < ranks; ++from) {
    const int expected = 100 * from + me, found = recv[static_cast<std::size_t>(from)];
    if (found == expected) continue;
    if (++wrong < 3) std::printf("%s, rank %d: %d from %d, expected %d\n", name, me, found, from, expected);
  }
}

int main(int argc, char** argv) {
  quadrille::test::begin(&argc, &argv);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -quadrille::test::rank, &reversed);
  for (int turn = 0; turn < 3; ++turn) {
    check(reversed, "reversed");
    check(MPI_COMM_WORLD, "world");
  }
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return quadrille::test::say_verdict();
}

}  // namespace first_order_check
