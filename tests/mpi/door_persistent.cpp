// Persistent calls, started twice where that gives the same again.
#include "door.hpp"
#include "request_door.hpp"

namespace quadrille::test {

const Door tested = {
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                           MPI_INFO_NULL, request);
          },
          sendbuf == MPI_IN_PLACE ? 1 : 2);
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
       const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                            recvtype, comm, MPI_INFO_NULL, request);
          },
          sendbuf == MPI_IN_PLACE ? 1 : 2);
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
       const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                            recvtypes, comm, MPI_INFO_NULL, request);
          },
          sendbuf == MPI_IN_PLACE ? 1 : 2);
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                            MPI_INFO_NULL, request);
          },
          sendbuf == MPI_IN_PLACE ? 1 : 2);
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const int* displs, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete_persistent(
          [&](Quadrille_Request* request) {
            return Quadrille_Allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
                                             MPI_INFO_NULL, request);
          },
          sendbuf == MPI_IN_PLACE ? 1 : 2);
    }};
const char* const door_name = "persistent";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
