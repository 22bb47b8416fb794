#include "large_arguments.hpp"
#include "neighbors.hpp"

namespace quadrille::test {
namespace {

struct Degrees {
  int in = 0, out = 0;
};

Degrees degrees_of(MPI_Comm comm) {
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

int alltoall(const void* from, int count, MPI_Datatype type, void* to, int room, MPI_Datatype to_type,
             MPI_Comm comm) {
  return MPI_Neighbor_alltoall_c(from, count, type, to, room, to_type, comm);
}

int alltoallv(const void* from, const int counts[], const int places[], MPI_Datatype type, void* to,
              const int rooms[], const int to_places[], MPI_Datatype to_type, MPI_Comm comm) {
  const auto [in, out] = degrees_of(comm);
  const LargeSide send(counts, places, out), recv(rooms, to_places, in);
  return checked(MPI_Neighbor_alltoallv_c(from, send.counts(), send.displacements(), type, to, recv.counts(),
                                          recv.displacements(), to_type, comm),
                 send, recv);
}

int alltoallw(const void* from, const int counts[], const MPI_Aint places[], const MPI_Datatype types[], void* to,
              const int rooms[], const MPI_Aint to_places[], const MPI_Datatype to_types[], MPI_Comm comm) {
  const auto [in, out] = degrees_of(comm);
  const LargeSide send(counts, places, out), recv(rooms, to_places, in);
  return checked(MPI_Neighbor_alltoallw_c(from, send.counts(), send.displacements(), types, to, recv.counts(),
                                          recv.displacements(), to_types, comm),
                 send, recv);
}

int allgather(const void* from, int count, MPI_Datatype type, void* to, int room, MPI_Datatype to_type,
              MPI_Comm comm) {
  return MPI_Neighbor_allgather_c(from, count, type, to, room, to_type, comm);
}

int allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int rooms[], const int places[],
               MPI_Datatype to_type, MPI_Comm comm) {
  const LargeSide recv(rooms, places, degrees_of(comm).in);
  return checked(
      MPI_Neighbor_allgatherv_c(from, count, type, to, recv.counts(), recv.displacements(), to_type, comm), recv,
      recv);
}

}  // namespace

const NeighborDoor tested_neighbors = {&alltoall, &alltoallv, &alltoallw, &allgather, &allgatherv};

}  // namespace quadrille::test
