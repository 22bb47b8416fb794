/* An MPI whose Alltoallv delivers a wrong byte in call number WRONG_CALL, for tests of what looks for wrong bytes;
   whose Alltoall takes WRONG_SLEEP seconds more and adds a byte to the file WRONG_SLEPT; and which has no communicator
   for rank 1 of the world from call number WRONG_SPLIT of Comm_split on, WRONG_CREATE of Comm_create, or WRONG_GRAPH of
   Dist_graph_create_adjacent. This library stands before the real one, to which it is linked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int PMPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
  int (*const next)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm) =
      (int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm))dlsym(RTLD_NEXT, "PMPI_Alltoall");
  const char* wrong = getenv("WRONG_SLEEP");
  if (wrong != NULL) {
    const int file = open(getenv("WRONG_SLEPT"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, "x", 1) != 1) abort();
    close(file);
    sleep((unsigned)atoi(wrong));
  }
  return next(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

typedef int Alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                      MPI_Comm);

int PMPI_Alltoallv(const void* send, const int* send_counts, const int* send_places, MPI_Datatype send_type,
                   void* receive, const int* receive_counts, const int* receive_places, MPI_Datatype receive_type,
                   MPI_Comm comm) {
  static long calls = 0;
  const char* wrong = getenv("WRONG_CALL");
  Alltoallv* const next = (Alltoallv*)dlsym(RTLD_NEXT, "PMPI_Alltoallv");
  const int error =
      next(send, send_counts, send_places, send_type, receive, receive_counts, receive_places, receive_type, comm);
  if (wrong != NULL && ++calls == atol(wrong)) ((char*)receive)[receive_places[0]] ^= 1;
  return error;
}

/* What the real one has made for the others is never freed. */
static int lack(const char* variable, long* calls, int error, MPI_Comm* made) {
  const char* wrong = getenv(variable);
  int (*const next)(MPI_Comm, int*) = (int (*)(MPI_Comm, int*))dlsym(RTLD_NEXT, "PMPI_Comm_rank");
  int rank = 0;
  if (wrong == NULL || ++*calls < atol(wrong) || error != MPI_SUCCESS) return error;
  next(MPI_COMM_WORLD, &rank);
  if (rank != 1) return error;
  *made = MPI_COMM_NULL;
  return MPI_ERR_OTHER;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  static long calls = 0;
  int (*const next)(MPI_Comm, int, int, MPI_Comm*) =
      (int (*)(MPI_Comm, int, int, MPI_Comm*))dlsym(RTLD_NEXT, "PMPI_Comm_split");
  return lack("WRONG_SPLIT", &calls, next(comm, color, key, made), made);
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  static long calls = 0;
  int (*const next)(MPI_Comm, MPI_Group, MPI_Comm*) =
      (int (*)(MPI_Comm, MPI_Group, MPI_Comm*))dlsym(RTLD_NEXT, "PMPI_Comm_create");
  return lack("WRONG_CREATE", &calls, next(comm, group, made), made);
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                                    const int* destinations, const int* destination_weights, MPI_Info info, int reorder,
                                    MPI_Comm* made) {
  static long calls = 0;
  int (*const next)(MPI_Comm, int, const int*, const int*, int, const int*, const int*, MPI_Info, int, MPI_Comm*) =
      (int (*)(MPI_Comm, int, const int*, const int*, int, const int*, const int*, MPI_Info, int, MPI_Comm*))dlsym(
          RTLD_NEXT, "PMPI_Dist_graph_create_adjacent");
  const int error =
      next(comm, in, sources, source_weights, out, destinations, destination_weights, info, reorder, made);
  return lack("WRONG_GRAPH", &calls, error, made);
}

/* By this one the library is found. */
int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  int (*const next)(MPI_Comm, int*) = (int (*)(MPI_Comm, int*))dlsym(RTLD_NEXT, "PMPI_Comm_rank");
  return next(comm, rank);
}
