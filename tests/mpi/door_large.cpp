// The drop-in door for large counts: MPI_X_c. Both preload libraries are preloaded.
#include "door.hpp"
#include "large_arguments.hpp"

namespace quadrille::test {
namespace {

// How many blocks the arrays of the two sides describe.
struct Degrees {
  int in = 0, out = 0;
};

Degrees among_all(MPI_Comm comm) {
  int size = 0, between = 0;
  if (comm == MPI_COMM_NULL) return {};
  MPI_Comm_test_inter(comm, &between);
  between != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
  return {size, size};
}

Degrees among_neighbors(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, count = 0, me = 0, weighted = 0;
  if (comm == MPI_COMM_NULL) return {};
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &count);
    return {2 * count, 2 * count};
  }
  if (kind == MPI_GRAPH) {
    MPI_Comm_rank(comm, &me);
    MPI_Graph_neighbors_count(comm, me, &count);
    return {count, count};
  }
  Degrees degrees;
  if (kind == MPI_DIST_GRAPH) MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted);
  return degrees;
}

Degrees degrees_of(Collective collective, MPI_Comm comm) {
  return is_neighbor(collective) ? among_neighbors(comm) : among_all(comm);
}

// By `function`, which has large counts.
template <Collective, class Function>
int with_large(Function function, QUADRILLE_PARAMETERS_UNIFORM(int, int)) {
  return function(QUADRILLE_ARGUMENTS_UNIFORM);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_VECTOR(int, Displacement)) {
  const auto [in, out] = degrees_of(collective, comm);
  const LargeSide send(sendcounts, sdispls, out), recv(recvcounts, rdispls, in);
  return checked(function(sendbuf, send.counts(), send.displacements(), sendtype, recvbuf, recv.counts(),
                          recv.displacements(), recvtype, comm),
                 send, recv);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_TYPED(int, Displacement)) {
  const auto [in, out] = degrees_of(collective, comm);
  const LargeSide send(sendcounts, sdispls, out), recv(recvcounts, rdispls, in);
  return checked(function(sendbuf, send.counts(), send.displacements(), sendtypes, recvbuf, recv.counts(),
                          recv.displacements(), recvtypes, comm),
                 send, recv);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_GATHERV(int, Displacement)) {
  const LargeSide recv(recvcounts, displs, degrees_of(collective, comm).in);
  return checked(function(sendbuf, sendcount, sendtype, recvbuf, recv.counts(), recv.displacements(), recvtype, comm),
                 recv, recv);
}

}  // namespace

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                                            \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                                      \
    return with_large<Collective::collective>(MPI_##Name##_c, QUADRILLE_ARGUMENTS_##FORM);                \
  },
const Door tested = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "dropin, large counts";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
