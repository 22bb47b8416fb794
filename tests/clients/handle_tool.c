/* A tracing tool that is preloaded: it takes what comes after its own function from the handle of the MPI's library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
  static int (*next)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  if (next == NULL) {
    Dl_info info;
    int rank = 0;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"), &info) == 0) return MPI_ERR_OTHER;
    *(void**)&next = dlsym(dlopen(info.dli_fname, RTLD_LAZY), "MPI_Alltoall");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("the tool saw an alltoall\n"), fflush(stdout);
  }
  return next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
