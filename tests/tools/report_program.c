/* An MPI program whose calls are known, for the tests of `quadrille report`. Its first argument says what it does:
 *   all      every kind of call, on several communicators, and MPI_Finalize
 *   early    some calls, then every rank exits without MPI_Finalize
 *   abort    some calls, then rank 0 calls MPI_Abort with status 5, while the others wait
 *   wait     some calls, then prints "ready" and waits for a signal
 *   none     no call
 *   many     more communicators, sizes and counts than have room
 *   names    calls on communicators with names: one that is longer than has room, and then two after each other, of
 *            which the second is shorter
 *   full     more sizes than have room, then Alltoallv on the first two ranks, and then on all
 *   neighbors  every kind of call between neighbours, on communicators with names, of an even number of ranks from 4 on
 *   requests   nonblocking calls, and persistent ones where the MPI has them
 *   own        what no MPI has: the sparse exchange, calls that take their place in a stream, and requests by
 * Quadrille's names. A second argument is a driver of a device, which is loaded, and whose NULL stream it is short many
 * small calls; prints the nanoseconds of one
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quadrille.h"
#if MPI_VERSION >= 4
#define ALLTOALL_INIT MPI_Alltoall_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define ALLTOALL_INIT MPIX_Alltoall_init
#endif
#endif

enum { most_ranks = 16, room = 1 << 16 };

static int sent[room], received[room], rank, ranks;

static void uniform(MPI_Comm comm, int count, int calls) {
  int i;
  for (i = 0; i < calls; ++i) MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, comm);
}

/* The same from another place. */
static void elsewhere(MPI_Comm comm, int count, int calls) {
  int i;
  for (i = 0; i < calls; ++i) MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, comm);
}

/* From rank a to rank b in call c: (a + 2 b + c) mod 5 numbers. */
static void uneven(MPI_Comm comm, int calls) {
  int counts[4][most_ranks], call, r, me, all;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  for (call = 0; call < calls; ++call) {
    for (r = 0; r < all; ++r) {
      counts[0][r] = (me + 2 * r + call) % 5;
      counts[2][r] = (r + 2 * me + call) % 5;
      counts[1][r] = counts[3][r] = 5 * r;
    }
    MPI_Alltoallv(sent, counts[0], counts[1], MPI_INT, received, counts[2], counts[3], MPI_INT, comm);
  }
}

static void halves(int calls) {
  MPI_Comm half;
  int i;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
  for (i = 0; i < calls; ++i) MPI_Allgather(sent, 8, MPI_DOUBLE, received, 8, MPI_DOUBLE, half);
  MPI_Comm_free(&half);
}

static void one_after_the_other(int calls) {
  int i;
  for (i = 0; i < calls; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    uniform(comm, 1, 1);
    MPI_Comm_free(&comm);
  }
}

static void nonblocking(int calls) {
  int i;
  for (i = 0; i < calls; ++i) {
    MPI_Request request;
    MPI_Ialltoall(sent, 4, MPI_INT, received, 4, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void ring(int calls) {
  MPI_Comm comm;
  int periodic = 1, i;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &comm);
  for (i = 0; i < calls; ++i) MPI_Neighbor_alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, comm);
  MPI_Comm_free(&comm);
}

/* ---- Calls between neighbours, in arrays with room for all ---- */

enum { neighbor_calls = 200 };

static int counts[2][most_ranks], places[2][most_ranks];

static MPI_Comm grid(const char* name, int dimensions, const int* extents, int periodic) {
  MPI_Comm comm;
  int around[2];
  around[0] = around[1] = periodic;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, around, 0, &comm);
  MPI_Comm_set_name(comm, name);
  return comm;
}

static MPI_Comm graph(const char* name, int in, const int* sources, int out, const int* destinations) {
  static const int weights[most_ranks];
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weights, out, destinations, weights, MPI_INFO_NULL, 0,
                                 &comm);
  MPI_Comm_set_name(comm, name);
  return comm;
}

/* Rank 0 is the neighbour of all others. */
static MPI_Comm star(void) {
  MPI_Comm comm;
  int index[most_ranks], edges[2 * most_ranks], r;
  for (r = 1; r < ranks; ++r) edges[r - 1] = r;
  index[0] = ranks - 1;
  for (r = 1; r < ranks; ++r) {
    edges[index[r - 1]] = 0;
    index[r] = index[r - 1] + 1;
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &comm);
  MPI_Comm_set_name(comm, "star");
  return comm;
}

/* In a ring 3 numbers to each side; on a line me + 1 numbers to the left, me + 2 to the right, and on its ends nobody;
 * in a grid of two rows 5 DOUBLEs to each side, of which two are the same rank. One grid is gone before the next one
 * comes. */
static void around_grids(void) {
  int extents[2], i;
  MPI_Comm comm = grid("ring", 1, &ranks, 1);
  for (i = 0; i < neighbor_calls; ++i) MPI_Neighbor_alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, comm);
  MPI_Comm_free(&comm);
  comm = grid("line", 1, &ranks, 0);
  counts[0][0] = counts[1][0] = rank + 1;
  counts[0][1] = counts[1][1] = rank + 2;
  places[0][1] = places[1][1] = 100;
  for (i = 0; i < neighbor_calls; ++i) {
    MPI_Neighbor_alltoallv(sent, counts[0], places[0], MPI_INT, received, counts[1], places[1], MPI_INT, comm);
  }
  MPI_Comm_free(&comm);
  extents[0] = 2, extents[1] = ranks / 2;
  comm = grid("doubled", 2, extents, 1);
  for (i = 0; i < neighbor_calls; ++i) MPI_Neighbor_alltoall(sent, 5, MPI_DOUBLE, received, 5, MPI_DOUBLE, comm);
  MPI_Comm_free(&comm);
}

/* me + 1 numbers to the next, and 2 DOUBLEs from 0 to 2. */
static void around_skewed(MPI_Comm comm) {
  MPI_Datatype types[2];
  MPI_Aint where[2];
  int i;
  types[0] = MPI_INT, types[1] = MPI_DOUBLE;
  where[0] = 0, where[1] = 1024;
  counts[0][0] = rank + 1, counts[0][1] = 2;
  counts[1][0] = (rank + ranks - 1) % ranks + 1, counts[1][1] = 2;
  for (i = 0; i < neighbor_calls; ++i) {
    MPI_Neighbor_alltoallw(sent, counts[0], where, types, received, counts[1], where, types, comm);
  }
}

/* Two DOUBLEs of each rank of a star; me + 1 numbers to the next one, of which the last rank has none. */
static void around_gathers(MPI_Comm all, MPI_Comm after) {
  int i;
  counts[1][0] = (rank + ranks - 1) % ranks + 1;
  places[1][0] = 0;
  for (i = 0; i < neighbor_calls; ++i) {
    MPI_Neighbor_allgather(sent, 2, MPI_DOUBLE, received, 2, MPI_DOUBLE, all);
    MPI_Neighbor_allgatherv(sent, rank + 1, MPI_INT, received, counts[1], places[1], MPI_INT, after);
  }
}

/* What is not made again: two edges of 1 and 2 numbers to the next, and neighbours that change. */
static void around_odd_ones(const int* next, const int* last) {
  MPI_Comm mixed, comm;
  int twice_next[2], twice_last[2], i, k;
  for (k = 0; k < 2; ++k) {
    twice_next[k] = *next, twice_last[k] = *last;
    counts[0][k] = counts[1][k] = k + 1;
    places[0][k] = places[1][k] = 4 * k;
  }
  mixed = graph("mixed", 2, twice_last, 2, twice_next);
  for (i = 0; i < neighbor_calls; ++i) {
    MPI_Neighbor_alltoallv(sent, counts[0], places[0], MPI_INT, received, counts[1], places[1], MPI_INT, mixed);
  }
  for (k = 0; k < 2; ++k) {
    comm = graph("changed", 1, k ? next : last, 1, k ? last : next);
    for (i = 0; i < neighbor_calls; ++i) MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&mixed);
}

static void neighbors(void) {
  MPI_Comm comms[3];
  int next[2], last[2], i;
  next[0] = (rank + 1) % ranks, next[1] = 2;
  last[0] = (rank + ranks - 1) % ranks, last[1] = 0;
  comms[0] = graph("skewed", rank == 2 ? 2 : 1, last, rank == 0 ? 2 : 1, next);
  comms[1] = star();
  comms[2] = graph("after", rank > 0, last, rank < ranks - 1, next);
  around_grids();
  around_skewed(comms[0]);
  around_gathers(comms[1], comms[2]);
  around_odd_ones(next, last);
  for (i = 0; i < 3; ++i) MPI_Comm_free(&comms[i]);
}

#if defined(ALLTOALL_INIT)
/* A collective and a message to the rank itself by one MPI_Startall; and a message whose request has the collective's
 * handle, in MPIs that give handles out again. */
static void start_with_messages(void) {
  enum { calls = 100 };
  int i;
  MPI_Request list[3];
  ALLTOALL_INIT(sent, 6, MPI_INT, received, 6, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &list[0]);
  MPI_Send_init(sent, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &list[1]);
  MPI_Recv_init(received, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &list[2]);
  for (i = 0; i < calls; ++i) {
    MPI_Startall(3, list);
    MPI_Waitall(3, list, MPI_STATUSES_IGNORE);
  }
  for (i = 0; i < 3; ++i) MPI_Request_free(&list[i]);
  MPI_Send_init(sent, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &list[0]);
  MPI_Recv_init(received, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &list[1]);
  MPI_Startall(2, list);
  MPI_Waitall(2, list, MPI_STATUSES_IGNORE);
  for (i = 0; i < 2; ++i) MPI_Request_free(&list[i]);
}
#endif

/* From rank a to rank b a + b numbers; and some of the calls without a request, too. */
static void requests(void) {
  enum { calls = 100 };
  int r, i;
  MPI_Request request;
  MPI_Comm ring = grid("ring", 1, &ranks, 1);
  for (r = 0; r < ranks; ++r) counts[0][r] = rank + r, places[0][r] = 100 * r;
  for (i = 0; i < calls; ++i) {
    MPI_Ialltoallv(sent, counts[0], places[0], MPI_INT, received, counts[0], places[0], MPI_INT, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallgather(sent, 4, MPI_DOUBLE, received, 4, MPI_DOUBLE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoallv(sent, counts[0], places[0], MPI_INT, received, counts[0], places[0], MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(sent, 4, MPI_DOUBLE, received, 4, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Ineighbor_alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
#if defined(ALLTOALL_INIT)
  for (i = 0; i < calls; ++i) {
    ALLTOALL_INIT(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  start_with_messages();
#endif
  MPI_Comm_free(&ring);
}

/* By the library that `quadrille report` has loaded. Rank a sends a + 1 integers to the next rank, and nothing else;
 * the last rank sends nothing. */
static void own(void) {
  enum { calls = 30 };
  typedef int exchange_t(const void*, int, const int*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Datatype,
                         MPI_Comm, Quadrille_Received*);
  typedef int enqueue_t(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, void*, MPI_Comm);
  exchange_t* exchange = (exchange_t*)dlsym(RTLD_DEFAULT, "Quadrille_Exchange");
  int (*give_back)(Quadrille_Received*) = (int (*)(Quadrille_Received*))dlsym(RTLD_DEFAULT, "Quadrille_Received_free");
  enqueue_t* enqueue = (enqueue_t*)dlsym(RTLD_DEFAULT, "Quadrille_Alltoall_enqueue");
  int next = rank + 1, i;
  MPI_Count count = rank + 1, none = 0;
  MPI_Aint at = 0;
  Quadrille_Received got;
  for (i = 0; i < calls; ++i) {
    exchange(sent, rank < ranks - 1, &next, &count, &at, MPI_INT, MPI_INT, MPI_COMM_WORLD, &got);
    if (got.nsources != (rank > 0)) MPI_Abort(MPI_COMM_WORLD, 9);
    give_back(&got);
    /* Nothing is sent, so nobody looks at the type. */
    exchange(sent, 1, &rank, &none, &at, (MPI_Datatype)(size_t)17, MPI_INT, MPI_COMM_WORLD, &got);
    give_back(&got);
    enqueue(sent, 4, MPI_DOUBLE, received, 4, MPI_DOUBLE, NULL, MPI_COMM_WORLD);
  }
}

/* A function of the library that `quadrille report` has loaded. */
#define OWN(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))

enum { starts = 20 };

/* All that the NULL stream of the driver has to do; without a driver nothing waits. */
static int (*synchronize)(void*);

static void load_driver(const char* path) {
  void *library = dlopen(path, RTLD_NOW), *context;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(library, "cuDevicePrimaryCtxRetain");
  int (*push)(void*) = (int (*)(void*))dlsym(library, "cuCtxPushCurrent_v2");
  synchronize = (int (*)(void*))dlsym(library, "cuStreamSynchronize");
  if (init(0) != 0 || retain(&context, 0) != 0 || push(context) != 0) MPI_Abort(MPI_COMM_WORLD, 9);
}

static void start_in_stream(Quadrille_Request* request, int times) {
  int i;
  for (i = 0; i < times; ++i) {
    if (OWN(Quadrille_Start_enqueue)(request, NULL) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  if (synchronize != NULL) synchronize(NULL);
}

/* From rank a to rank b a + b pairs of INTs, of a type and of arrays that are there no more when it is started. */
static void start_pairs(void) {
  Quadrille_Request request;
  MPI_Datatype pair;
  int r;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (r = 0; r < ranks; ++r) counts[0][r] = rank + r, places[0][r] = 50 * r;
  OWN(Quadrille_Alltoallv_init)
  (sent, counts[0], places[0], pair, received, counts[0], places[0], pair, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Type_free(&pair);
  memset(counts, 0, sizeof counts);
  start_in_stream(&request, starts);
  OWN(Quadrille_Request_free)(&request);
}

/* The same by the host: alone, and with one that sends 3 DOUBLEs to each rank. */
static void start_on_the_host(void) {
  Quadrille_Request list[2];
  int i, r;
  for (r = 0; r < ranks; ++r) counts[0][r] = rank + r, places[0][r] = 100 * r;
  OWN(Quadrille_Alltoallv_init)
  (sent, counts[0], places[0], MPI_INT, received, counts[0], places[0], MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
   &list[0]);
  OWN(Quadrille_Alltoall_init)(sent, 3, MPI_DOUBLE, received, 3, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, &list[1]);
  for (i = 0; i < starts; ++i) {
    OWN(Quadrille_Start)(&list[0]);
    OWN(Quadrille_Wait)(&list[0]);
    OWN(Quadrille_Startall)(2, list);
    OWN(Quadrille_Waitall)(2, list);
  }
  for (i = 0; i < 2; ++i) OWN(Quadrille_Request_free)(&list[i]);
}

/* On a line from left to right a + 1 INTs from rank a to the next one, and nothing to the last one. */
static void start_neighbors(void) {
  Quadrille_Request request;
  MPI_Comm line = grid("line", 1, &ranks, 0);
  counts[0][0] = 0, counts[0][1] = rank + 1;
  counts[1][0] = rank, counts[1][1] = 0;
  places[0][0] = places[0][1] = places[1][0] = places[1][1] = 0;
  OWN(Quadrille_Neighbor_alltoallv_init)
  (sent, counts[0], places[0], MPI_INT, received, counts[1], places[1], MPI_INT, line, MPI_INFO_NULL, &request);
  start_in_stream(&request, starts);
  OWN(Quadrille_Request_free)(&request);
  MPI_Comm_free(&line);
}

/* In place, and half of the starts come after the communicator was freed. */
static void start_without_communicator(void) {
  Quadrille_Request request;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "gone");
  OWN(Quadrille_Allgather_init)(MPI_IN_PLACE, 0, MPI_INT, received, 3, MPI_DOUBLE, comm, MPI_INFO_NULL, &request);
  start_in_stream(&request, starts / 2);
  MPI_Comm_free(&comm);
  start_in_stream(&request, starts / 2);
  OWN(Quadrille_Request_free)(&request);
}

static void own_requests(void) {
  Quadrille_Request request;
  int i;
  for (i = 0; i < starts; ++i) {
    OWN(Quadrille_Ialltoall)(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD, &request);
    OWN(Quadrille_Wait)(&request);
  }
  start_pairs();
  start_on_the_host();
  start_neighbors();
  start_without_communicator();
}

static void many(void) {
  enum { communicators = 80 };
  MPI_Comm comms[communicators];
  int i, k;
  for (i = 0; i < communicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (i = 0; i < communicators; ++i) {
    for (k = 0; k < 10; ++k) uniform(comms[i], 1 << k, 1);
  }
  for (i = 0; i < communicators; ++i) MPI_Comm_free(&comms[i]);
}

static MPI_Comm named(const char* name) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, name);
  uniform(comm, 16, 20);
  return comm;
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  MPI_Comm comms[3];
  int i;
  for (i = 0; i < 20; ++i) strcat(name, "\303\274"); /* a letter of two bytes */
  comms[0] = named(name);
  comms[1] = named("velocity");
  MPI_Comm_free(&comms[1]);
  comms[2] = named("p");
  MPI_Comm_free(&comms[2]);
  MPI_Comm_free(&comms[0]);
}

static void full(void) {
  enum { communicators = 28 };
  MPI_Comm comms[communicators], two;
  int i, k;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &two);
  for (i = 0; i < communicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (i = 0; i < communicators; ++i) {
    for (k = 0; k < 10; ++k) uniform(comms[i], 1 << k, 1);
  }
  if (two != MPI_COMM_NULL) uneven(two, 1);
  uneven(MPI_COMM_WORLD, 15);
  for (i = 0; i < communicators; ++i) MPI_Comm_free(&comms[i]);
  if (two != MPI_COMM_NULL) MPI_Comm_free(&two);
}

static void measure(void) {
  enum { calls = 200000 };
  double begin;
  uniform(MPI_COMM_WORLD, 2, 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  uniform(MPI_COMM_WORLD, 2, calls);
  if (rank == 0) printf("%.1f\n", (MPI_Wtime() - begin) / calls * 1e9);
}

int main(int argc, char** argv) {
  const char* action = argc > 1 ? argv[1] : "all";
  const char* driver = strcmp(action, "own") == 0 && argc > 2 ? argv[2] : NULL;
  int level;
  MPI_Init_thread(&argc, &argv, driver != NULL ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  if (driver != NULL) load_driver(driver);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(action, "many") == 0) {
    many();
  } else if (strcmp(action, "full") == 0) {
    full();
  } else if (strcmp(action, "names") == 0) {
    names();
  } else if (strcmp(action, "neighbors") == 0) {
    neighbors();
  } else if (strcmp(action, "requests") == 0) {
    requests();
  } else if (strcmp(action, "own") == 0) {
    own();
    own_requests();
  } else if (strcmp(action, "short") == 0) {
    measure();
  } else if (strcmp(action, "none") != 0) {
    uniform(MPI_COMM_WORLD, 16, 100);
    elsewhere(MPI_COMM_WORLD, 16, 20);
    elsewhere(MPI_COMM_WORLD, 5, 20);
    uneven(MPI_COMM_WORLD, 50);
  }
  if (strcmp(action, "early") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  if (strcmp(action, "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;) pause();
  }
  if (strcmp(action, "wait") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    puts("ready");
    fflush(stdout);
    for (;;) pause();
  }
  if (strcmp(action, "all") == 0) {
    halves(20);
    one_after_the_other(30);
    nonblocking(5);
    ring(10);
  }
  MPI_Finalize();
  return 0;
}
