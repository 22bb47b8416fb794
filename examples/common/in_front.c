/* A preload library in front of the MPI, and of Quadrille's, for tests. EXAMPLE_IN_FRONT says what it does; the program
   must notice what it changes on rank 0:
     tuple      one tuple of an MPI_Alltoallv of closure
     bit        one bit of each MPI_Alltoallv of kcfa
     number     one number of each MPI_Alltoallv of fft2d
     order      there it swaps the first two blocks
     alltoall   one number of each MPI_Alltoall, where there are several ranks
     neighbor   one number of the fifth MPI_Neighbor_alltoallw: the first ones only set things up
     waited     it changes nothing, but aborts the job if an all-to-all finds pending work on the device: Quadrille
   would order the exchange after that work, but an MPI would not, so the programs must wait */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const char* what) {
  const char* set = getenv("EXAMPLE_IN_FRONT");
  return set != NULL && strcmp(set, what) == 0;
}

static int rank_in(MPI_Comm comm) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

static int ranks_of(MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  return ranks;
}

static void check_that_it_waited(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  unsigned long (*count)(const char*, const char*) = 0;
  if (driver != NULL) *(void**)&count = dlsym(driver, "quadrille_standin_count");
  if (count != NULL && count("pending", NULL) == 0) return;
  fprintf(stderr, count == NULL ? "there is no stand-in driver\n" : "the device was not waited for\n");
  MPI_Abort(MPI_COMM_WORLD, 4);
}

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                 MPI_Datatype recv_type, MPI_Comm comm) {
  int (*next)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Alltoall");
  if (is("waited")) check_that_it_waited();
  int error = next(send, send_count, send_type, recv, recv_count, recv_type, comm);
  if (is("alltoall") && rank_in(comm) == 0 && ranks_of(comm) > 1 && recv_count > 0) *(double*)recv += 1e-3;
  return error;
}

static void change(void* recv, const int counts[], const int starts[], int ranks) {
  static int done = 0;
  int source = 0;
  if (is("number")) *(double*)recv += 1e-3;
  if (is("tuple") && counts[0] > 0 && !done) {
    ((uint32_t*)recv)[2 * starts[0]] += 1000;
    done = 1;
  }
  while (source < ranks && counts[source] == 0) ++source;
  /* The blocks begin at the start: a contour of the first fact. */
  if (is("bit") && source < ranks) ((uint64_t*)recv)[1] ^= 1;
}

int MPI_Alltoallv(const void* send, const int send_counts[], const int send_starts[], MPI_Datatype send_type,
                  void* recv, const int recv_counts[], const int recv_starts[], MPI_Datatype recv_type, MPI_Comm comm) {
  int (*next)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[], MPI_Datatype,
              MPI_Comm);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Alltoallv");
  if (is("waited")) check_that_it_waited();
  int ranks = ranks_of(comm);
  int* starts = malloc(ranks * sizeof(int));
  memcpy(starts, recv_starts, ranks * sizeof(int));
  if (is("order") && rank_in(comm) == 0 && ranks > 1 && recv_counts[0] == recv_counts[1]) {
    starts[0] = recv_starts[1];
    starts[1] = recv_starts[0];
  }
  int error = next(send, send_counts, send_starts, send_type, recv, recv_counts, starts, recv_type, comm);
  if (rank_in(comm) == 0) change(recv, recv_counts, recv_starts, ranks);
  free(starts);
  return error;
}

int MPI_Neighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_starts[],
                           const MPI_Datatype send_types[], void* recv, const int recv_counts[],
                           const MPI_Aint recv_starts[], const MPI_Datatype recv_types[], MPI_Comm comm) {
  static int calls = 0;
  int (*next)(const void*, const int[], const MPI_Aint[], const MPI_Datatype[], void*, const int[], const MPI_Aint[],
              const MPI_Datatype[], MPI_Comm);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Neighbor_alltoallw");
  int error = next(send, send_counts, send_starts, send_types, recv, recv_counts, recv_starts, recv_types, comm);
  if (is("neighbor") && ++calls == 5 && rank_in(comm) == 0) {
    MPI_Aint begin, extent;
    PMPI_Type_get_true_extent(recv_types[0], &begin, &extent);
    *(double*)((char*)recv + recv_starts[0] + begin) += 1;
  }
  return error;
}
