// A user's program in C++: an allgather by the public API, checked.
#include <quadrille.h>

#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double mine = 0.5 + rank;
  std::vector<double> all(ranks, -1.0);
  Quadrille_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from) wrong += all[from] != 0.5 + from;
  wrong += Quadrille_Version() != QUADRILLE_VERSION;
  wrong += ranks < 2;  // one rank alone would prove nothing
  if (wrong != 0) std::cerr << "rank " << rank << " of " << ranks << ": " << wrong << " wrong\n";
  MPI_Finalize();
  return wrong != 0;
}
