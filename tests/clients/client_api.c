/* A C99 program that calls Quadrille by name. */
#include <quadrille.h>
#include <stdio.h>
#include <stdlib.h>

static int transpose_is_right(const int* receive, int rank, int size) {
  for (int p = 0; p < size; ++p) {
    if (receive[p] != p * 100 + rank) return 0;
  }
  return 1;
}

/* On a ring: what comes from below as an int, what comes from above as four bytes. */
static int ring_is_wrong(int rank, int size) {
  MPI_Comm ring;
  const int periodic = 1, counts[] = {1, (int)sizeof(int)};
  const MPI_Aint places[] = {2 * sizeof(int), 0};
  const MPI_Datatype types[] = {MPI_INT, MPI_BYTE};
  int got[] = {-1, -1, -1}, wrong = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  wrong += Quadrille_Neighbor_allgatherw(&rank, 1, MPI_INT, got, counts, places, types, ring) != MPI_SUCCESS;
  wrong += got[2] != (rank + size - 1) % size || got[1] != -1 || got[0] != (rank + 1) % size;
  MPI_Comm_free(&ring);
  return wrong;
}

/* With large counts, in each form: to each rank one int, backwards. */
static int large_is_wrong(int rank, int size) {
  MPI_Count* ones = malloc((size_t)size * sizeof(MPI_Count));
  MPI_Aint* places = malloc((size_t)size * sizeof(MPI_Aint));
  int* got = malloc((size_t)size * sizeof(int));
  int wrong = 0;
  for (int p = 0; p < size; ++p) ones[p] = 1, places[p] = size - 1 - p;
  for (int form = 0; form < 3; ++form) {
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    for (int p = 0; p < size; ++p) got[p] = -1;
    if (form == 0) {
      wrong += Quadrille_Allgatherv_c(&rank, 1, MPI_INT, got, ones, places, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS;
    } else if (form == 1) {
      Quadrille_Iallgatherv_c(&rank, 1, MPI_INT, got, ones, places, MPI_INT, MPI_COMM_WORLD, &request);
      wrong += Quadrille_Wait(&request) != MPI_SUCCESS;
    } else {
      Quadrille_Allgatherv_init_c(&rank, 1, MPI_INT, got, ones, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &request);
      wrong += Quadrille_Start(&request) != MPI_SUCCESS || Quadrille_Wait(&request) != MPI_SUCCESS;
      Quadrille_Request_free(&request);
    }
    for (int p = 0; p < size; ++p) wrong += got[size - 1 - p] != p;
  }
  free(ones), free(places), free(got);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  if (Quadrille_Version() != QUADRILLE_VERSION) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* send = malloc((size_t)size * sizeof(int));
  int* receive = malloc((size_t)size * sizeof(int));
  int* ones = malloc((size_t)size * sizeof(int));
  int* places = malloc((size_t)size * sizeof(int));
  int* bytes = malloc((size_t)size * sizeof(int));
  MPI_Datatype* types = malloc((size_t)size * sizeof(MPI_Datatype));
  for (int p = 0; p < size; ++p) {
    send[p] = rank * 100 + p;
    ones[p] = 1;
    places[p] = p;
    bytes[p] = p * (int)sizeof(int);
    types[p] = MPI_INT;
  }

  const char* algorithms[] = {"", "pairwise", "zero-rotation-bruck:radix=3", "mpi"};
  for (int i = 0; i < 4; ++i) {
    wrong += Quadrille_Set_algorithm(MPI_COMM_WORLD, "alltoall", algorithms[i]) != MPI_SUCCESS;
    Quadrille_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
    wrong += !transpose_is_right(receive, rank, size);
  }
  Quadrille_Alltoallv(send, ones, places, MPI_INT, receive, ones, places, MPI_INT, MPI_COMM_WORLD);
  wrong += !transpose_is_right(receive, rank, size);
  Quadrille_Alltoallw(send, ones, bytes, types, receive, ones, bytes, types, MPI_COMM_WORLD);
  wrong += !transpose_is_right(receive, rank, size);
  Quadrille_Allgather(&rank, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) wrong += receive[p] != p;
  Quadrille_Allgatherv(&rank, 1, MPI_INT, receive, ones, places, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) wrong += receive[p] != p;

  wrong += ring_is_wrong(rank, size) + large_is_wrong(rank, size);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = Quadrille_Set_algorithm(MPI_COMM_WORLD, "alltoall", "no-such-algorithm"), class = 0;
  MPI_Error_class(code, &class);
  wrong += class != MPI_ERR_ARG;
  code = Quadrille_Set_algorithm(MPI_COMM_WORLD, "no-such-collective", "pairwise");
  MPI_Error_class(code, &class);
  wrong += class != MPI_ERR_ARG;
  Quadrille_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  wrong += !transpose_is_right(receive, rank, size);

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, wrong);
  free(send);
  free(receive);
  free(ones);
  free(places);
  free(bytes);
  free(types);
  MPI_Finalize();
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
