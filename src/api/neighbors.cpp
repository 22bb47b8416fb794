// The explicit door of the neighbour collectives.
#include <algorithm>
#include <vector>

#include "api/neighbor_doors.hpp"
#include "quadrille.h"

using quadrille::mpi;
using quadrille::api::Door;
namespace api = quadrille::api;
namespace choose = quadrille::choose;
namespace run = quadrille::run;
namespace team = quadrille::team;

int Quadrille_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_alltoall(Door::explicit_api, mpi().Neighbor_alltoall, sendbuf, sendcount,
                                sendtype, recvbuf, recvcount, recvtype, comm);
}

int Quadrille_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_alltoallv(Door::explicit_api, mpi().Neighbor_alltoallv, sendbuf, sendcounts,
                                 sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

int Quadrille_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                 const MPI_Datatype sendtypes[], void* recvbuf,
                                 const int recvcounts[], const MPI_Aint rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return api::neighbor_alltoallw(Door::explicit_api, mpi().Neighbor_alltoallw, sendbuf, sendcounts,
                                 sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

int Quadrille_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_allgather(Door::explicit_api, mpi().Neighbor_allgather, sendbuf, sendcount,
                                 sendtype, recvbuf, recvcount, recvtype, comm);
}

int Quadrille_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const int recvcounts[], const int displs[],
                                  MPI_Datatype recvtype, MPI_Comm comm) {
  return api::neighbor_allgatherv(Door::explicit_api, mpi().Neighbor_allgatherv, sendbuf, sendcount,
                                  sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

namespace {

// How many blocks the sides have; none where the MPI is to find out what is wrong with the communicator.
struct BlockCounts {
  int send = 0, recv = 0;
};

BlockCounts blocks_on(MPI_Comm comm) {
  team::Team* team = team::team_of(comm);
  if (team == nullptr || api::is_inter(comm)) return {};
  const team::Neighbors* neighbors = team::neighbors_of(*team);
  return neighbors != nullptr ? BlockCounts{neighbors->send_blocks, neighbors->recv_blocks} : BlockCounts{};
}

// No MPI has the w form of the allgather. Its w form of the all-to-all moves the same data, if the block for each
// destination is one and the same.
int allgatherw_of_the_mpi(const run::Call& call) {
  if (!mpi().usable) return api::raise(call.comm, MPI_ERR_OTHER);
  const BlockCounts blocks = blocks_on(call.comm);
  const run::Side& recv = call.recv;
  const bool arrays = recv.counts != nullptr && recv.displacements_large != nullptr && recv.types != nullptr;
  // Not all MPIs look at these.
  if (call.in_place || recv.base == MPI_IN_PLACE || (blocks.recv > 0 && !arrays)) {
    return api::raise(call.comm, MPI_ERR_ARG);
  }
  const auto places = static_cast<std::size_t>(std::max(blocks.send, 1));  // some MPIs refuse a null array
  const std::vector<int> counts(places, static_cast<int>(call.send.count_of(0)));
  const std::vector<MPI_Aint> displacements(places, 0);
  const std::vector<MPI_Datatype> types(places, call.send.type);
  return mpi().Neighbor_alltoallw(call.send.base, counts.data(), displacements.data(), types.data(), recv.base,
                                  recv.counts, recv.displacements_large, recv.types, call.comm);
}

}  // namespace

int Quadrille_Neighbor_allgatherw(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                  MPI_Comm comm) {
  const run::Call call =
      api::make_call(choose::Collective::neighbor_allgatherw, sendbuf, api::uniform(sendbuf, sendcount, sendtype),
                     api::neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes), comm);
  int error = MPI_SUCCESS;
  if (api::serve_neighbors(call, Door::explicit_api, error)) return error;
  return api::guarded(comm, [&] { return allgatherw_of_the_mpi(call); });
}
