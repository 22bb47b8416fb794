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
 *   short    many small calls; prints the nanoseconds of one
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(action, "many") == 0) {
    many();
  } else if (strcmp(action, "full") == 0) {
    full();
  } else if (strcmp(action, "names") == 0) {
    names();
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
