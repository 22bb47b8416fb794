// The drop-in door for large counts: MPI_X_c. Both preload libraries are preloaded.
#include "door.hpp"
#include "large_arguments.hpp"

namespace quadrille::test {
namespace {

int blocks_of(MPI_Comm comm) {
  int size = 0, between = 0;
  if (comm == MPI_COMM_NULL) return 0;
  MPI_Comm_test_inter(comm, &between);
  between != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
  return size;
}

int alltoall(const void* from, int count, MPI_Datatype type, void* to, int room, MPI_Datatype to_type,
             MPI_Comm comm) {
  return MPI_Alltoall_c(from, count, type, to, room, to_type, comm);
}

int alltoallv(const void* from, const int counts[], const int places[], MPI_Datatype type, void* to,
              const int rooms[], const int to_places[], MPI_Datatype to_type, MPI_Comm comm) {
  const LargeSide send(counts, places, blocks_of(comm)), recv(rooms, to_places, blocks_of(comm));
  return checked(MPI_Alltoallv_c(from, send.counts(), send.displacements(), type, to, recv.counts(),
                                 recv.displacements(), to_type, comm),
                 send, recv);
}

int alltoallw(const void* from, const int counts[], const int places[], const MPI_Datatype types[], void* to,
              const int rooms[], const int to_places[], const MPI_Datatype to_types[], MPI_Comm comm) {
  const LargeSide send(counts, places, blocks_of(comm)), recv(rooms, to_places, blocks_of(comm));
  return checked(MPI_Alltoallw_c(from, send.counts(), send.displacements(), types, to, recv.counts(),
                                 recv.displacements(), to_types, comm),
                 send, recv);
}

int allgather(const void* from, int count, MPI_Datatype type, void* to, int room, MPI_Datatype to_type,
              MPI_Comm comm) {
  return MPI_Allgather_c(from, count, type, to, room, to_type, comm);
}

int allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int rooms[], const int places[],
               MPI_Datatype to_type, MPI_Comm comm) {
  const LargeSide recv(rooms, places, blocks_of(comm));
  return checked(
      MPI_Allgatherv_c(from, count, type, to, recv.counts(), recv.displacements(), to_type, comm), recv, recv);
}

}  // namespace

const Door tested = {&alltoall, &alltoallv, &alltoallw, &allgather, &allgatherv};
const char* const door_name = "dropin, large counts";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
