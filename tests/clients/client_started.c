/* A C program that knows nothing of Quadrille: every collective started and completed apart, beside messages of its
 * own, by all functions that complete something. With PERSISTENT its requests are persistent ones, of MPI 4 or, with
 * that defined as MPIX, of Open MPI 4.1.
 *
 *   client_started          completes by MPI_Wait and the like
 *   client_started unseen   by the functions that it finds in the MPI's library itself
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(PERSISTENT) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

enum { turns = 24, most = 16, longest = 20000, tag = 3 };

static int rank, size, wrong;

/* ---- What completes: as the program finds it, or the MPI's own ---- */

static struct {
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
  int (*waitany)(int, MPI_Request*, int*, MPI_Status*);
  int (*waitsome)(int, MPI_Request*, int*, int*, MPI_Status*);
  int (*test)(MPI_Request*, int*, MPI_Status*);
  int (*testall)(int, MPI_Request*, int*, MPI_Status*);
  int (*testany)(int, MPI_Request*, int*, int*, MPI_Status*);
  int (*testsome)(int, MPI_Request*, int*, int*, MPI_Status*);
  int (*get_status)(MPI_Request, int*, MPI_Status*);
} by = {MPI_Wait,    MPI_Waitall, MPI_Waitany,  MPI_Waitsome,          MPI_Test,
        MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Request_get_status};

static void* own_function(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "the MPI has no %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return function;
}

static void take_the_mpis_own(void) {
  Dl_info info;
  void* library = NULL;
  if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Wtime"), &info) != 0) library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *(void**)&by.wait = own_function(library, "PMPI_Wait");
  *(void**)&by.waitall = own_function(library, "PMPI_Waitall");
  *(void**)&by.waitany = own_function(library, "PMPI_Waitany");
  *(void**)&by.waitsome = own_function(library, "PMPI_Waitsome");
  *(void**)&by.test = own_function(library, "PMPI_Test");
  *(void**)&by.testall = own_function(library, "PMPI_Testall");
  *(void**)&by.testany = own_function(library, "PMPI_Testany");
  *(void**)&by.testsome = own_function(library, "PMPI_Testsome");
  *(void**)&by.get_status = own_function(library, "PMPI_Request_get_status");
}

/* ---- A list of requests, completed in one of many ways ---- */

static MPI_Request list[8];
static int listed;

static void complete_one_by_one(int (*one)(int, MPI_Request*, int*, int*, MPI_Status*)) {
  int open = listed, done, i, indices[8];
  while (open > 0) {
    one(listed, list, &done, indices, MPI_STATUSES_IGNORE);
    for (i = 0; i < done; ++i) --open;
  }
}

static void complete(int way) {
  MPI_Status statuses[8];
  int flag = 0, index, i, open = listed;
#if defined(PERSISTENT) && !defined(OPEN_MPI)
  /* MPICH 5.0.2's own MPI_Testall and the like report errors in lists of these in which there is none. */
  const int right[] = {0, 1, 2, 4, 8};
  way = right[way % 5];
  /* And its own MPI_Request_get_status makes a persistent receive inactive, as which it sees those of Quadrille. */
  if (way == 8 && by.get_status != MPI_Request_get_status) way = 0;
#else
  way %= 8;
#endif
  switch (way) {
    case 0:
      for (i = 0; i < listed; ++i) by.wait(&list[i], MPI_STATUS_IGNORE);
      break;
    case 1:
      for (i = listed - 1; i >= 0; --i) {
        for (flag = 0; flag == 0;) by.test(&list[i], &flag, &statuses[0]);
      }
      break;
    case 2:
      by.waitall(listed, list, statuses);
      break;
    case 3:
      while (flag == 0) by.testall(listed, list, &flag, MPI_STATUSES_IGNORE);
      break;
    case 4:
      for (; open > 0; --open) by.waitany(listed, list, &index, &statuses[0]);
      break;
    case 5:
      while (open > 0) {
        by.testany(listed, list, &index, &flag, MPI_STATUS_IGNORE);
        open -= flag;
      }
      break;
    case 6:
      complete_one_by_one(by.waitsome);
      break;
    case 8:
      for (i = 0; i < listed; ++i) {
        for (flag = 0; flag == 0;) by.get_status(list[i], &flag, MPI_STATUS_IGNORE);
        by.waitany(1, &list[i], &index, &statuses[0]);
        if (index != 0) ++wrong; /* it was still there to be completed */
      }
      break;
    default:
      for (i = 0; i < listed; ++i) {
        for (flag = 0; flag == 0;) by.get_status(list[i], &flag, MPI_STATUS_IGNORE);
      }
      complete_one_by_one(by.testsome);
  }
}

/* ---- Starting ---- */

#define JOIN(a, b) JOIN_NOW(a, b)
#define JOIN_NOW(a, b) a##b
#if !defined(PERSISTENT)
#define BEGIN(lower, Upper, ...) JOIN(MPI_I, lower)(__VA_ARGS__, &list[listed++])
#else
/* Made once, started again and again: with buffers that stay. */
static MPI_Request requests[32];
static int made, kept; /* in this turn */
#define BEGIN(lower, Upper, ...)                                                                        \
  do {                                                                                                  \
    if (kept == made) JOIN(PERSISTENT, _##Upper##_init)(__VA_ARGS__, MPI_INFO_NULL, &requests[made++]); \
    list[listed++] = requests[kept++];                                                                  \
  } while (0)
#endif

/* The calls that BEGIN started are in flight from here on. */
static void start_all(void) {
#if defined(PERSISTENT)
  if (listed == 1) {
    MPI_Start(&list[0]);
  } else {
    MPI_Startall(listed, list);
  }
#endif
}

static int value(int turn, int from, int to, int i) { return turn * 100000 + from * 1000 + to * 100 + i % 100; }

static void expect(int found, int wanted, const char* what) {
  if (found == wanted) return;
  if (wrong++ < 3) fprintf(stderr, "rank %d, %s: %d is not %d\n", rank, what, found, wanted);
}

/* Two of them and a message around the ring, all in one list. */
static void uniform(int turn) {
  static int send[most], receive[most], place[most], big[most * longest], got[most * longest];
  int p, i, out, in = -1;
  for (p = 0; p < size; ++p) {
    send[p] = place[p] = value(turn, rank, p, 0);
    receive[p] = -1;
    for (i = 0; i < longest; ++i) big[p * longest + i] = value(turn, rank, p, i), got[p * longest + i] = -1;
  }
  listed = 0;
  BEGIN(alltoall, Alltoall, send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  BEGIN(alltoall, Alltoall, big, longest, MPI_INT, got, longest, MPI_INT, MPI_COMM_WORLD);
  BEGIN(alltoall, Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_INT, MPI_COMM_WORLD);
  start_all();
  out = value(turn, rank, 77, 0);
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &list[listed++]);
  MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &list[listed++]);
  complete(turn);
  expect(in, value(turn, (rank + size - 1) % size, 77, 0), "message");
  for (p = 0; p < size; ++p) {
    expect(receive[p], value(turn, p, rank, 0), "alltoall");
    expect(place[p], value(turn, p, rank, 0), "alltoall in place");
    for (i = 0; i < longest; ++i) expect(got[p * longest + i], value(turn, p, rank, i), "large alltoall");
  }
}

/* A program's attribute is copied when it duplicates a type, and else never. */
static int copied;
static int note_copy(MPI_Datatype from, int key, void* extra, void* value, void* made, int* flag) {
  (void)from, (void)key, (void)extra, (void)value, (void)made;
  ++copied;
  *flag = 0;
  return MPI_SUCCESS;
}

static MPI_Datatype make_every_second(void) {
  static int key = MPI_KEYVAL_INVALID;
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
  MPI_Type_commit(&type);
  if (key == MPI_KEYVAL_INVALID) MPI_Type_create_keyval(note_copy, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_set_attr(type, key, &copied);
  return type;
}

/* Rank s sends s + d ints to rank d, from the end of the buffer to its start. The w form takes every second int. */
static void vector(int turn) {
  static int counts[most], places[most], bytes[most], send[4 * most * most], receive[4 * most * most];
  static int place[4 * most * most], gaps[4 * most * most];
  static MPI_Datatype types[most], every_second;
  int p, i, total = 0;
  if (turn == 0) every_second = make_every_second();
  for (p = size - 1; p >= 0; --p) {
    counts[p] = rank + p;
    places[p] = total;
    bytes[p] = 2 * total * (int)sizeof(int);
    types[p] = every_second;
    for (i = 0; i < counts[p]; ++i) send[total + i] = place[total + i] = value(turn, rank, p, i);
    total += counts[p];
  }
  for (i = 0; i < total; ++i) receive[i] = -1;
  for (i = 0; i < 2 * total; ++i) gaps[i] = -1;
  listed = 0;
  BEGIN(alltoallv, Alltoallv, send, counts, places, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
  BEGIN(alltoallv, Alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, place, counts, places, MPI_INT,
        MPI_COMM_WORLD);
  start_all();
  complete(turn + 1);
  for (p = 0; p < size; ++p) {
    for (i = 0; i < counts[p]; ++i) {
      expect(receive[places[p] + i], value(turn, p, rank, i), "alltoallv");
      expect(place[places[p] + i], value(turn, p, rank, i), "alltoallv in place");
    }
  }
  /* What is sent must be as wide as what it is sent from. */
  for (i = total - 1; i >= 0; --i) place[2 * i] = send[i], place[2 * i + 1] = -2;
  listed = 0;
  BEGIN(alltoallw, Alltoallw, place, counts, bytes, types, gaps, counts, bytes, types, MPI_COMM_WORLD);
  start_all();
#if !defined(PERSISTENT)
  MPI_Type_free(&every_second); /* stays until the call is complete */
  every_second = make_every_second();
#endif
  complete(turn + 2);
  for (p = 0; p < size; ++p) {
    for (i = 0; i < counts[p]; ++i) {
      expect(gaps[2 * (places[p] + i)], value(turn, p, rank, i), "alltoallw");
      expect(gaps[2 * (places[p] + i) + 1], -1, "gap of alltoallw");
    }
  }
}

static void gather(int turn) {
  static int all[most], place[most], counts[most], places[most], gathered[most], mine;
  int p;
  mine = value(turn, rank, 0, 0);
  for (p = 0; p < size; ++p) {
    all[p] = place[p] = gathered[p] = -1;
    counts[p] = p % 2;
    places[p] = size - 1 - p;
  }
  place[rank] = mine;
  listed = 0;
  BEGIN(allgather, Allgather, &mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  BEGIN(allgather, Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_INT, MPI_COMM_WORLD);
  BEGIN(allgatherv, Allgatherv, &mine, rank % 2, MPI_INT, gathered, counts, places, MPI_INT, MPI_COMM_WORLD);
  start_all();
  complete(turn + 3);
  for (p = 0; p < size; ++p) {
    expect(all[p], value(turn, p, 0, 0), "allgather");
    expect(place[p], value(turn, p, 0, 0), "allgather in place");
    expect(gathered[size - 1 - p], p % 2 ? value(turn, p, 0, 0) : -1, "allgatherv");
  }
}

/* To both sides of a line, where the first and the last rank have one only. */
static void neighbors(int turn, MPI_Comm line) {
  static int send[2], to_all[2], by_a2a[2], by_v[2], by_w[2], by_gather[2], by_gatherv[2];
  static int ones[2] = {1, 1}, turned[2] = {1, 0};
  static MPI_Aint bytes[2] = {0, sizeof(int)};
  static MPI_Datatype types[2];
  int from[2], i;
  types[0] = types[1] = MPI_INT;
  MPI_Cart_shift(line, 0, 1, &from[0], &from[1]);
  for (i = 0; i < 2; ++i) {
    send[i] = value(turn, rank, i, 0), to_all[i] = value(turn, rank, 9, 0);
    by_a2a[i] = by_v[i] = by_w[i] = by_gather[i] = by_gatherv[i] = -1;
  }
  listed = 0;
  BEGIN(neighbor_alltoall, Neighbor_alltoall, send, 1, MPI_INT, by_a2a, 1, MPI_INT, line);
  BEGIN(neighbor_alltoallv, Neighbor_alltoallv, send, ones, turned, MPI_INT, by_v, ones, turned, MPI_INT, line);
  BEGIN(neighbor_alltoallw, Neighbor_alltoallw, send, ones, bytes, types, by_w, ones, bytes, types, line);
  BEGIN(neighbor_allgather, Neighbor_allgather, to_all, 1, MPI_INT, by_gather, 1, MPI_INT, line);
  BEGIN(neighbor_allgatherv, Neighbor_allgatherv, to_all, 1, MPI_INT, by_gatherv, ones, turned, MPI_INT, line);
  start_all();
  complete(turn + 4);
  for (i = 0; i < 2; ++i) {
    const int there = from[i] != MPI_PROC_NULL;
    expect(by_a2a[i], there ? value(turn, from[i], 1 - i, 0) : -1, "neighbor_alltoall");
    expect(by_v[1 - i], there ? value(turn, from[i], i, 0) : -1, "neighbor_alltoallv");
    expect(by_w[i], there ? value(turn, from[i], 1 - i, 0) : -1, "neighbor_alltoallw");
    expect(by_gather[i], there ? value(turn, from[i], 9, 0) : -1, "neighbor_allgather");
    expect(by_gatherv[1 - i], there ? value(turn, from[i], 9, 0) : -1, "neighbor_allgatherv");
  }
  MPI_Barrier(line);
}

int main(int argc, char** argv) {
  MPI_Comm line;
  const int once = 0;
  int turn, shared = 0;
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "unseen") == 0) take_the_mpis_own();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &once, 0, &line);
  for (turn = 0; turn < turns; ++turn) {
#if defined(PERSISTENT)
    kept = 0;
#endif
    uniform(turn);
    vector(turn);
    gather(turn);
    neighbors(turn, line);
  }
#if defined(PERSISTENT)
  while (made > 0) MPI_Request_free(&requests[--made]);
#endif
  expect(copied, 0, "copies of an attribute");
  MPI_Reduce(&wrong, &shared, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong values\n", size, shared);
  MPI_Comm_free(&line);
  MPI_Finalize();
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
