/* A program that survives: in a loop of calls on a communicator `kill` ends rank 1 before a call, `kill-anywhere` ends
 * it some time later, wherever it is then, and `revoke` lets it revoke the communicator. The others get an error from
 * the call, shrink the communicator and go on. Each looks at all that it receives, and prints "survived" if that is
 * right. Usage: fault_tolerance kill|kill-anywhere|revoke FORM BYTES, FORM: blocking, uneven, typed, gather,
 * uneven-gather, nonblocking, persistent or, by Quadrille's own functions, own-nonblocking, own-persistent or
 * own-exchange. Among neighbours: ring, uneven-ring, whose sizes are asserted, line, or, for example, nonblocking-ring.
 * nonblocking and persistent can name the function that completes them, as in nonblocking-waitsome, and
 * persistent-again starts one request again and again. Without blocks: new-ring, which makes such a communicator, or
 * setting, of an algorithm. For an MPI with the functions of ULFM. */
/* mpi-ext.h needs mpi.h before it. */
/* clang-format off */
#include <mpi.h>
#include <mpi-ext.h>
/* clang-format on */
#include <quadrille.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { most_ranks = 64, calls_before = 100, calls_at_most = 10000000, calls_after = 50, calls_beside = 12 };

static const char* form;
static int bytes;
static char *sent, *received;
/* What a rank receives in a call: block b is of rank from[b]. */
static int from[most_ranks], blocks;

/* Ranks 1, 0, 2, 3, ... */
static int in_line(int place) { return place < 2 ? 1 - place : place; }

/* Each rank has one block from the rank before it: rank 2 has none from rank 1, but from one that waits for it. */
static MPI_Comm make_line(MPI_Comm comm, int rank, int ranks) {
  const int place = in_line(rank), after = in_line(place + 1);
  MPI_Comm line;
  from[0] = in_line(place - 1), blocks = place > 0;
  MPI_Dist_graph_create_adjacent(comm, blocks, from, MPI_UNWEIGHTED, place + 1 < ranks, &after, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &line);
  return line;
}

/* With the neighbours that the form asks for. */
static MPI_Comm with_neighbors(MPI_Comm comm) {
  const int periodic = 1;
  MPI_Comm made = comm;
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (blocks = 0; blocks < ranks; ++blocks) from[blocks] = blocks;
  if (strcmp(form, "line") == 0) made = make_line(comm, rank, ranks);
  if (strstr(form, "ring") != NULL) {
    MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &made);
    MPI_Cart_shift(made, 0, 1, &from[0], &from[1]);
    blocks = 2;
    if (strcmp(form, "uneven-ring") == 0) Quadrille_Set_iso_sizes(made, 1);
  }
  if (strcmp(form, "new-ring") == 0 || strcmp(form, "setting") == 0) blocks = 0;
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

static int has(const char* word) { return strstr(form, word) != NULL; }

/* Of a null request and another one, whose error is returned. */
static int complete(MPI_Request list[2]) {
  MPI_Status statuses[2];
  int indices[2], found = 0, error = MPI_SUCCESS, place = has("some") ? 0 : 1;
  while (error == MPI_SUCCESS && !found) {
    found = 1;
    if (has("-waitall"))
      error = MPI_Waitall(2, list, statuses);
    else if (has("-waitany"))
      error = MPI_Waitany(2, list, indices, statuses);
    else if (has("-waitsome"))
      error = MPI_Waitsome(2, list, &found, indices, statuses);
    else if (has("-testall"))
      error = MPI_Testall(2, list, &found, statuses);
    else if (has("-testany"))
      error = MPI_Testany(2, list, indices, &found, statuses);
    else if (has("-testsome"))
      error = MPI_Testsome(2, list, &found, indices, statuses);
    else if (has("-test"))
      error = MPI_Test(&list[1], &found, MPI_STATUS_IGNORE);
    else
      error = MPI_Wait(&list[1], MPI_STATUS_IGNORE);
  }
  return error == MPI_ERR_IN_STATUS ? statuses[place].MPI_ERROR : error;
}

static int wait_for(MPI_Request* request, int error) {
  MPI_Request list[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (error != MPI_SUCCESS) return error;
  list[1] = *request;
  error = complete(list);
  *request = list[1];
  return error;
}

static MPI_Request kept = MPI_REQUEST_NULL;

static int free_kept(void) { return kept == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&kept); }

/* Where a request fails, Open MPI may free it. */
static int start_kept(MPI_Comm comm) {
  const MPI_Info none = MPI_INFO_NULL;
  int error = MPI_SUCCESS, freed;
  if (kept == MPI_REQUEST_NULL)
    error = has("ring")
                ? MPI_Neighbor_alltoall_init(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, none, &kept)
                : MPI_Alltoall_init(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, none, &kept);
  if (error != MPI_SUCCESS) return error;
  error = wait_for(&kept, MPI_Start(&kept));
  if (error == MPI_SUCCESS && has("again")) return error;
  freed = free_kept();
  return error != MPI_SUCCESS ? error : freed;
}

static int wait_for_own(Quadrille_Request* request, int error) {
  return error != MPI_SUCCESS ? error : Quadrille_Wait(request);
}

static int exchange_sparsely(MPI_Comm comm, int ranks) {
  static int destinations[most_ranks];
  static MPI_Count counts[most_ranks];
  static MPI_Aint places[most_ranks];
  Quadrille_Received got;
  int error, r;
  for (r = 0; r < ranks; ++r) destinations[r] = r, counts[r] = bytes, places[r] = (MPI_Aint)r * bytes;
  error = Quadrille_Exchange(sent, ranks, destinations, counts, places, MPI_BYTE, MPI_BYTE, comm, &got);
  if (error != MPI_SUCCESS) return error;
  for (r = 0; r < got.nsources; ++r)
    memcpy(received + (size_t)got.sources[r] * bytes, (char*)got.data + got.displs[r], got.counts[r]);
  return Quadrille_Received_free(&got);
}

/* The barrier lets nobody die while others make it. */
static int make_ring(MPI_Comm comm) {
  const int offsets[] = {-1, 1};
  MPI_Comm made;
  const int error = Quadrille_Iso_neighborhood_create(comm, 2, offsets, MPI_INFO_NULL, &made);
  if (error == MPI_SUCCESS) MPI_Comm_free(&made);
  return error != MPI_SUCCESS ? error : MPI_Barrier(comm);
}

static int exchange(MPI_Comm comm, int ranks) {
  static int counts[most_ranks], places[most_ranks];
  static MPI_Datatype types[most_ranks];
  MPI_Request request;
  Quadrille_Request own;
  int error, freed, r;
  for (r = 0; r < ranks; ++r) counts[r] = bytes, places[r] = r * bytes, types[r] = MPI_BYTE;
  if (strcmp(form, "blocking") == 0) return MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm);
  if (strcmp(form, "gather") == 0) return MPI_Allgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm);
  if (strcmp(form, "uneven") == 0)
    return MPI_Alltoallv(sent, counts, places, MPI_BYTE, received, counts, places, MPI_BYTE, comm);
  if (strcmp(form, "typed") == 0)
    return MPI_Alltoallw(sent, counts, places, types, received, counts, places, types, comm);
  if (strcmp(form, "uneven-gather") == 0)
    return MPI_Allgatherv(sent, bytes, MPI_BYTE, received, counts, places, MPI_BYTE, comm);
  if (strcmp(form, "ring") == 0) return MPI_Neighbor_alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm);
  if (strcmp(form, "uneven-ring") == 0)
    return MPI_Neighbor_alltoallv(sent, counts, places, MPI_BYTE, received, counts, places, MPI_BYTE, comm);
  if (strcmp(form, "line") == 0) return MPI_Neighbor_allgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm);
  if (strcmp(form, "new-ring") == 0) return make_ring(comm);
  if (strcmp(form, "setting") == 0) return Quadrille_Set_algorithm(comm, "alltoall", "pairwise");
  if (strcmp(form, "own-exchange") == 0) return exchange_sparsely(comm, ranks);
  if (strncmp(form, "persistent", 10) == 0) return start_kept(comm);
  if (strncmp(form, "nonblocking", 11) == 0) {
    error = has("ring") ? MPI_Ineighbor_alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, &request)
                        : MPI_Ialltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, &request);
    return wait_for(&request, error);
  }
  if (strcmp(form, "own-nonblocking") == 0)
    return wait_for_own(&own, Quadrille_Ialltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, &own));
  if (strcmp(form, "own-nonblocking-ring") == 0)
    return wait_for_own(&own,
                        Quadrille_Ineighbor_alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, &own));
  error = strstr(form, "ring") == NULL
              ? Quadrille_Alltoall_init(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, MPI_INFO_NULL, &own)
              : Quadrille_Neighbor_alltoall_init(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, comm, MPI_INFO_NULL,
                                                 &own);
  if (error != MPI_SUCCESS) return error;
  error = wait_for_own(&own, Quadrille_Start(&own));
  freed = Quadrille_Request_free(&own);
  return error != MPI_SUCCESS ? error : freed;
}

/* A call in which each rank sends its own number and the call's. */
static int checked(MPI_Comm comm, int call) {
  int rank, ranks, r, error;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  memset(sent, rank * 7 + call, (size_t)ranks * bytes);
  error = exchange(comm, ranks);
  /* What is left of the call must not reach anybody. */
  if (error != MPI_SUCCESS) memset(sent, 99, (size_t)ranks * bytes), memset(received, 98, (size_t)ranks * bytes);
  for (r = 0; r < blocks * bytes; ++r) {
    const char expected = error == MPI_SUCCESS ? (char)(from[r / bytes] * 7 + call) : 98;
    if (received[r] == expected) continue;
    printf("rank %d has wrong data in call %d\n", rank, call);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  return error;
}

/* A blocking call lets what nonblocking ones need be made ready. */
static int checked_beside_blocking(MPI_Comm comm, int call) {
  const int error = MPI_Alltoall(sent, 1, MPI_BYTE, received, 1, MPI_BYTE, comm);
  return error != MPI_SUCCESS ? error : checked(comm, call);
}

static void die(int number) {
  (void)number;
  raise(SIGKILL);
}

static void die_later(void) {
  struct itimerval later = {{0, 0}, {0, 0}};
  later.it_value.tv_usec = 1 + (int)getpid() % 7 * 3000;
  signal(SIGALRM, die);
  setitimer(ITIMER_REAL, &later, NULL);
}

int main(int argc, char** argv) {
  int rank, call, kind = 0, error = MPI_SUCCESS;
  MPI_Comm all, left;
  if (argc < 4) return 2;
  form = argv[2], bytes = atoi(argv[3]);
  MPI_Init(&argc, &argv);
  alarm(60);
  sent = malloc((size_t)most_ranks * bytes), received = malloc((size_t)most_ranks * bytes);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  all = with_neighbors(all);
  for (call = 0; call < calls_beside; ++call) checked_beside_blocking(all, call);
  for (call = 0; error == MPI_SUCCESS && call < calls_at_most; ++call) {
    if (rank == 1 && call == calls_before) {
      if (strcmp(argv[1], "kill") == 0) die(0);
      if (strcmp(argv[1], "revoke") == 0) MPIX_Comm_revoke(all);
      if (strcmp(argv[1], "kill-anywhere") == 0) die_later();
    }
    error = checked(all, call);
  }
  if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
  if (kind != MPIX_ERR_PROC_FAILED && kind != MPIX_ERR_REVOKED && kind != MPIX_ERR_PROC_FAILED_PENDING) {
    printf("rank %d: the error is of class %d\n", rank, kind);
    return 3;
  }
  MPIX_Comm_revoke(all);
  if (MPIX_Comm_shrink(all, &left) != MPI_SUCCESS) return 3;
  left = with_neighbors(left);
  for (error = MPI_SUCCESS, call = 0; error == MPI_SUCCESS && call < calls_after; ++call)
    error = call < calls_beside ? checked_beside_blocking(left, call) : checked(left, call);
  free_kept();
  if (error == MPI_SUCCESS) printf("survived\n");
  fflush(stdout);
  alarm(4); /* Open MPI 5.0 does not always come to the end of MPI_Finalize after a death, also without Quadrille */
  MPI_Comm_free(&left);
  MPI_Finalize();
  return 0;
}
