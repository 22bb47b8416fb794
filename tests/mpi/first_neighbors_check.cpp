// First calls between neighbours: on a graph in which rank 0 stands alone, one after the other.
//   one CALLS   so many communicators, one call on each
//   many CALLS  so many calls on one communicator. In the first one rank gives what the others do not: no address, for
//               elements without a byte. Each call is checked.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace first_neighbors_check {

int me = 0, ranks = 1;

// A chain of all ranks but the first.
MPI_Comm make_chain() {
  const int up = me > 0 && me + 1 < ranks ? me + 1 : -1, down = me - 1 > 0 ? me - 1 : -1;
  MPI_Comm chain;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, down >= 0 ? 1 : 0, &down, MPI_UNWEIGHTED, up >= 0 ? 1 : 0, &up,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &chain);
  return chain;
}

// Returns whether the right number came.
bool call_on(MPI_Comm chain, int turn) {
  const int expected = me > 1 ? 100 * (me - 1) + turn : -1, sent = 100 * me + turn;
  int got = -1;
  MPI_Neighbor_alltoall(&sent, 1, MPI_INT, &got, 1, MPI_INT, chain);
  return got == expected;
}

void odd_call_on(MPI_Comm chain) {
  MPI_Datatype nothing;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  int buffer[2] = {};
  const bool odd = me == 1;
  MPI_Neighbor_alltoall(odd ? nullptr : buffer, 1, nothing, odd ? nullptr : buffer + 1, 1, nothing, chain);
  MPI_Type_free(&nothing);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool many = argc > 1 && std::string(argv[1]) == "many";
  const int calls = argc > 2 ? std::atoi(argv[2]) : 1;
  int wrong = 0;
  MPI_Comm chain = MPI_COMM_NULL;
  for (int turn = 0; turn < calls; ++turn) {
    if (turn == 0 || !many) chain = make_chain();
    if (many && turn == 0) {
      odd_call_on(chain);
    } else if (!call_on(chain, turn)) {
      std::fprintf(stderr, "rank %d: wrong in turn %d\n", me, turn);
      wrong = 1;
    }
    if (turn == calls - 1 || !many) MPI_Comm_free(&chain);
  }
  MPI_Finalize();
  return wrong;
}

}  // namespace first_neighbors_check
