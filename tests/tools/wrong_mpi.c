/* An MPI whose Alltoallv delivers a wrong byte in call number WRONG_CALL, for tests of what looks for wrong bytes: this
   library stands before the real one, to which it is linked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

typedef int Alltoallv(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, MPI_Datatype,
                      MPI_Comm);

int PMPI_Alltoallv(const void *send, const int *send_counts, const int *send_places, MPI_Datatype send_type, void *receive,
                   const int *receive_counts, const int *receive_places, MPI_Datatype receive_type, MPI_Comm comm) {
  static long calls = 0;
  const char *wrong = getenv("WRONG_CALL");
  Alltoallv *const next = (Alltoallv *)dlsym(RTLD_NEXT, "PMPI_Alltoallv");
  const int error = next(send, send_counts, send_places, send_type, receive, receive_counts, receive_places, receive_type,
                         comm);
  if (wrong != NULL && ++calls == atol(wrong)) ((char *)receive)[receive_places[0]] ^= 1;
  return error;
}

/* By this one the library is found. */
int PMPI_Comm_rank(MPI_Comm comm, int *rank) {
  int (*const next)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "PMPI_Comm_rank");
  return next(comm, rank);
}
