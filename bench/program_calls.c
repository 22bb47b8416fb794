/* Times a collective as programs call it: by MPI's name, with buffers that the program itself may write before each
 * call and read after it. bench/program_calls.py runs it natively and under Quadrille by turns.
 *
 *   program_calls COLLECTIVE FORM MEMORY TOUCH SECONDS BYTES...
 *
 *   COLLECTIVE  alltoall, alltoallv, allgather, allgatherv, or neighbors-6, neighbors-26: MPI_Neighbor_alltoall on a
 *               periodic grid of three dimensions
 *   FORM        blocking, nonblocking, persistent
 *   MEMORY      heap (malloc), static, stack, mmap
 *   TOUCH       touched: each word of the send buffer is written before, and of the receive buffer read after, each
 * call; untouched: nothing but calls SECONDS     about how long each size takes BYTES       of a block
 *
 * Prints for each size: bytes, microseconds of a call, microseconds of a step (the call and what touches the buffers);
 * the median over batches of the mean over a batch of the slowest rank. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  BATCHES = 15,
  WARM_CALLS = 30,
  MOST_CALLS = 20000,
  MOST_NEIGHBORS = 26,
  LARGEST = 1 << 26,
  LARGEST_ON_STACK = 3 << 20
};
enum Form { BLOCKING, NONBLOCKING, PERSISTENT };

struct Call {
  const char* collective;
  enum Form form;
  MPI_Comm comm;
  int blocks; /* of this rank: ranks, or neighbours */
  int bytes;  /* of a block */
  void *send, *recv;
  int *counts, *starts;
  MPI_Request request;
};

static int is(const char* text, const char* word) { return strcmp(text, word) == 0; }

static void fail(const char* why, const char* what) {
  fprintf(stderr, "program_calls: %s: %s\n", what, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

#define ARGUMENTS c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, c->comm
#define ARGUMENTS_V c->send, c->counts, c->starts, MPI_BYTE, c->recv, c->counts, c->starts, MPI_BYTE, c->comm
#define ARGUMENTS_GATHER_V c->send, c->bytes, MPI_BYTE, c->recv, c->counts, c->starts, MPI_BYTE, c->comm

static void call_blocking(struct Call* c) {
  if (is(c->collective, "alltoall"))
    MPI_Alltoall(ARGUMENTS);
  else if (is(c->collective, "alltoallv"))
    MPI_Alltoallv(ARGUMENTS_V);
  else if (is(c->collective, "allgather"))
    MPI_Allgather(ARGUMENTS);
  else if (is(c->collective, "allgatherv"))
    MPI_Allgatherv(ARGUMENTS_GATHER_V);
  else
    MPI_Neighbor_alltoall(ARGUMENTS);
}

static void start_nonblocking(struct Call* c) {
  MPI_Request* r = &c->request;
  if (is(c->collective, "alltoall"))
    MPI_Ialltoall(ARGUMENTS, r);
  else if (is(c->collective, "alltoallv"))
    MPI_Ialltoallv(ARGUMENTS_V, r);
  else if (is(c->collective, "allgather"))
    MPI_Iallgather(ARGUMENTS, r);
  else if (is(c->collective, "allgatherv"))
    MPI_Iallgatherv(ARGUMENTS_GATHER_V, r);
  else
    MPI_Ineighbor_alltoall(ARGUMENTS, r);
}

static void make_persistent(struct Call* c) {
#if MPI_VERSION >= 4
  MPI_Request* r = &c->request;
  if (is(c->collective, "alltoall"))
    MPI_Alltoall_init(ARGUMENTS, MPI_INFO_NULL, r);
  else if (is(c->collective, "alltoallv"))
    MPI_Alltoallv_init(ARGUMENTS_V, MPI_INFO_NULL, r);
  else if (is(c->collective, "allgather"))
    MPI_Allgather_init(ARGUMENTS, MPI_INFO_NULL, r);
  else if (is(c->collective, "allgatherv"))
    MPI_Allgatherv_init(ARGUMENTS_GATHER_V, MPI_INFO_NULL, r);
  else
    MPI_Neighbor_alltoall_init(ARGUMENTS, MPI_INFO_NULL, r);
#else
  (void)c;
  fail("this MPI has no persistent collectives", "persistent");
#endif
}

static void call(struct Call* c) {
  if (c->form == BLOCKING) {
    call_blocking(c);
    return;
  }
  if (c->form == NONBLOCKING)
    start_nonblocking(c);
  else
    MPI_Start(&c->request);
  MPI_Wait(&c->request, MPI_STATUS_IGNORE);
}

/* A periodic grid of three dimensions; with 26 neighbours the diagonal ones too, as a graph. */
static MPI_Comm grid(int neighbors) {
  int ranks, me, sides[3] = {0, 0, 0}, periodic[3] = {1, 1, 1}, here[3];
  MPI_Comm cart, graph;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 3, sides, periodic, 0, &cart);
  if (neighbors == 6) return cart;
  MPI_Comm_rank(cart, &me);
  MPI_Cart_coords(cart, me, 3, here);
  int from[MOST_NEIGHBORS], to[MOST_NEIGHBORS], n = 0;
  for (int step = 0; step < 27; ++step) {
    const int by[3] = {step / 9 - 1, step / 3 % 3 - 1, step % 3 - 1};
    if (step == 13) continue; /* itself */
    int next[3], previous[3];
    for (int d = 0; d < 3; ++d) next[d] = here[d] + by[d], previous[d] = here[d] - by[d];
    MPI_Cart_rank(cart, next, &to[n]);
    MPI_Cart_rank(cart, previous, &from[n]);
    ++n;
  }
  MPI_Dist_graph_create_adjacent(cart, n, from, MPI_UNWEIGHTED, n, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return graph;
}

static void write_all(unsigned long* words, size_t count, unsigned long first) {
  for (size_t i = 0; i < count; ++i) words[i] = first + i;
}

static unsigned long read_all(const unsigned long* words, size_t count) {
  unsigned long sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

/* Microseconds of each call and each step; the slowest rank's. */
static void batch(struct Call* c, int calls, int touched, double* call_us, double* step_us) {
  static volatile unsigned long sink;
  const size_t words = (size_t)c->bytes * c->blocks / sizeof(unsigned long);
  double in_calls = 0, mine[2], slowest[2];
  MPI_Barrier(MPI_COMM_WORLD);
  call(c);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    if (!touched) {
      call(c);
      continue;
    }
    write_all(c->send, words, i);
    const double before = MPI_Wtime();
    call(c);
    in_calls += MPI_Wtime() - before;
    sink += read_all(c->recv, words);
  }
  mine[1] = (MPI_Wtime() - start) / calls;
  mine[0] = touched ? in_calls / calls : mine[1];
  MPI_Allreduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  *call_us = slowest[0] * 1e6;
  *step_us = slowest[1] * 1e6;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values) {
  qsort(values, BATCHES, sizeof *values, ascending);
  return values[BATCHES / 2];
}

static void measure(struct Call* c, double seconds, int touched) {
  double call_us[BATCHES], step_us[BATCHES], once, step;
  if (c->form == PERSISTENT) make_persistent(c);
  for (int i = 0; i < WARM_CALLS; ++i) call(c);
  batch(c, 5, touched, &once, &step);
  double calls = seconds / BATCHES / (step * 1e-6);
  if (calls < 3) calls = 3;
  if (calls > MOST_CALLS) calls = MOST_CALLS;
  for (int i = 0; i < BATCHES; ++i) batch(c, (int)calls, touched, &call_us[i], &step_us[i]);
  if (c->form == PERSISTENT) MPI_Request_free(&c->request);
  int me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (me == 0) printf("%d %.4g %.4g\n", c->bytes, median(call_us), median(step_us)), fflush(stdout);
}

static void measure_on_stack(struct Call* c, double seconds, int touched) {
  const size_t bytes = (size_t)c->bytes * c->blocks;
  unsigned long send[bytes / sizeof(long) + 1], recv[bytes / sizeof(long) + 1];
  memset(send, 1, bytes);
  memset(recv, 1, bytes);
  c->send = send, c->recv = recv;
  measure(c, seconds, touched);
}

static void measure_size(struct Call* c, const char* memory, double seconds, int touched) {
  static unsigned long static_send[LARGEST / sizeof(long)], static_recv[LARGEST / sizeof(long)];
  const size_t bytes = (size_t)c->bytes * c->blocks;
  const size_t most = is(memory, "stack") ? LARGEST_ON_STACK : is(memory, "static") ? LARGEST : (size_t)-1;
  if (bytes > most) fail("buffers of this memory are too small for the blocks of all", memory);
  for (int i = 0; i < c->blocks; ++i) c->counts[i] = c->bytes, c->starts[i] = i * c->bytes;
  if (is(memory, "stack")) {
    measure_on_stack(c, seconds, touched);
    return;
  }
  if (is(memory, "static")) {
    c->send = static_send, c->recv = static_recv;
  } else if (is(memory, "mmap")) {
    c->send = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    c->recv = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->send == MAP_FAILED || c->recv == MAP_FAILED) fail("out of memory", memory);
  } else {
    c->send = malloc(bytes), c->recv = malloc(bytes);
    if (c->send == NULL || c->recv == NULL) fail("out of memory", memory);
  }
  memset(c->send, 1, bytes);
  memset(c->recv, 1, bytes);
  measure(c, seconds, touched);
  if (is(memory, "mmap")) munmap(c->send, bytes), munmap(c->recv, bytes);
  if (is(memory, "heap")) free(c->send), free(c->recv);
}

static int one_of(const char* text, const char* const* words) {
  for (int i = 0; words[i] != NULL; ++i) {
    if (is(text, words[i])) return i;
  }
  fail("unknown word", text);
  return -1;
}

int main(int argc, char** argv) {
  static const char* const collectives[] = {"alltoall",    "alltoallv",    "allgather", "allgatherv",
                                            "neighbors-6", "neighbors-26", NULL};
  static const char* const forms[] = {"blocking", "nonblocking", "persistent", NULL};
  static const char* const memories[] = {"heap", "static", "stack", "mmap", NULL};
  static const char* const touches[] = {"untouched", "touched", NULL};
  MPI_Init(&argc, &argv);
  if (argc < 7) fail("expected COLLECTIVE FORM MEMORY TOUCH SECONDS BYTES...", "arguments");
  struct Call c = {.collective = argv[1], .form = (enum Form)one_of(argv[2], forms), .comm = MPI_COMM_WORLD};
  const int collective = one_of(argv[1], collectives), touched = one_of(argv[4], touches);
  one_of(argv[3], memories);
  MPI_Comm_size(MPI_COMM_WORLD, &c.blocks);
  if (collective >= 4) {
    c.blocks = collective == 4 ? 6 : 26;
    c.comm = grid(c.blocks);
  }
  c.counts = malloc(sizeof(int) * c.blocks), c.starts = malloc(sizeof(int) * c.blocks);
  for (int i = 6; i < argc; ++i) {
    c.bytes = atoi(argv[i]);
    measure_size(&c, argv[3], atof(argv[5]), touched);
  }
  free(c.counts), free(c.starts);
  MPI_Finalize();
  return 0;
}
