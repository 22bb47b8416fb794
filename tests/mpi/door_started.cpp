// Nonblocking calls, completed at once.
#include "door.hpp"
#include "request_door.hpp"

namespace quadrille::test {

const Door tested = {
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
      });
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
       const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                    comm, request);
      });
    },
    [](const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
       const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                                    comm, request);
      });
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
      });
    },
    [](const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
       const int* displs, MPI_Datatype recvtype, MPI_Comm comm) {
      return complete([&](Quadrille_Request* request) {
        return Quadrille_Iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm,
                                     request);
      });
    }};
const char* const door_name = "started";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
