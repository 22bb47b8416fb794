// A C++ program whose error handlers throw, or end their thread, in each form of a call. Its own objects are destroyed
// on the way, and the communicator works as before. With an argument a thread is cancelled in a call. With BY_QUADRILLE
// the program calls Quadrille's functions by name.
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(BY_QUADRILLE)
#include "quadrille.h"
#define CALL(name) Quadrille_##name
using Request = Quadrille_Request;
#else
#define CALL(name) MPI_##name
using Request = MPI_Request;
#endif

namespace {

int rank = 0, size = 0, wrong = 0, destroyed = 0, handled = 0;
MPI_Comm comm;

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
enum class Way { exception, exit_thread, cancel_thread } way = Way::exception;

void handle(MPI_Comm*, int* code, ...) {
  ++handled;
  if (way == Way::exit_thread) pthread_exit(nullptr);
  if (way == Way::cancel_thread) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  int kind = 0;
  MPI_Error_class(*code, &kind);
  throw Failed(std::to_string(kind));
}

struct Counts {
  std::vector<int> counts, displacements;
  explicit Counts(int count) : counts(static_cast<std::size_t>(size), count), displacements(counts.size()) {
    for (int r = 0; r < size; ++r) displacements[static_cast<std::size_t>(r)] = 8 * r;
  }
  ~Counts() { ++destroyed; }
};

std::vector<int> sent, received;

void blocking(int send, int recv) {
  const Counts out(send), in(recv);
  CALL(Alltoallv)
  (sent.data(), out.counts.data(), out.displacements.data(), MPI_INT, received.data(), in.counts.data(),
   in.displacements.data(), MPI_INT, comm);
}

void nonblocking(int send, int recv) {
  const Counts out(send), in(recv);
  Request request{};
  CALL(Ialltoallv)
  (sent.data(), out.counts.data(), out.displacements.data(), MPI_INT, received.data(), in.counts.data(),
   in.displacements.data(), MPI_INT, comm, &request);
#if defined(BY_QUADRILLE)
  Quadrille_Wait(&request);
#else
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

#if defined(BY_QUADRILLE)
void too_long_nonblocking() { nonblocking(4, 2); }

MPI_Comm ring;

// No MPI has this function: one of the MPI's stands in for it.
void negative_neighbor() {
  const Counts out(2), in(2);
  const std::vector<MPI_Aint> places(2, 0);
  const std::vector<MPI_Datatype> types(2, MPI_INT);
  Quadrille_Neighbor_allgatherw(sent.data(), -1, MPI_INT, received.data(), in.counts.data(), places.data(),
                                types.data(), ring);
}

void negative_neighborhood() {
  const Counts out(2), in(2);
  MPI_Comm made;
  Quadrille_Iso_neighborhood_create(ring, -1, nullptr, MPI_INFO_NULL, &made);
}

// A communicator that Quadrille has made has the handler of the one that it was made from, if the MPI's have.
void inherit_handler() {
  const Counts out(2), in(2);
  const int offsets[] = {1, -1};
  MPI_Comm graph = MPI_COMM_NULL, made = MPI_COMM_NULL;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Dist_graph_create_adjacent(ring, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  Quadrille_Iso_neighborhood_create(ring, 2, offsets, MPI_INFO_NULL, &made);
  MPI_Errhandler natively, ours;
  MPI_Comm_get_errhandler(graph, &natively);
  MPI_Comm_get_errhandler(made, &ours);
  wrong += natively != ours;
  MPI_Errhandler_free(&natively);
  MPI_Errhandler_free(&ours);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&made);
}

void no_communicator() {
  const Counts out(2), in(2);
  std::vector<MPI_Count> counts(static_cast<std::size_t>(size), 2);
  std::vector<MPI_Aint> places(counts.size(), 0);
  Quadrille_Alltoallv_c(sent.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(),
                        places.data(), MPI_INT, MPI_COMM_NULL);
}
#endif

// One of the program's own messages is too long, beside a collective that is not. The collective is complete when the
// handler is called.
void in_a_list() {
  const Counts counts(2);
  std::vector<int> note(4, rank);
  MPI_Request requests[2];
  MPI_Ialltoallv(sent.data(), counts.counts.data(), counts.displacements.data(), MPI_INT, received.data(),
                 counts.counts.data(), counts.displacements.data(), MPI_INT, comm, &requests[0]);
  MPI_Irecv(note.data(), 1, MPI_INT, rank, 5, comm, &requests[1]);
  MPI_Send(note.data() + 2, 2, MPI_INT, rank, 5, comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void check_that_it_works() {
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 8 * size; ++i) sent[static_cast<std::size_t>(i)] = rank * 1000 + i + turn;
    turn == 2 ? nonblocking(2, 2) : blocking(2, 2);
    for (int r = 0; r < size; ++r) wrong += received[static_cast<std::size_t>(8 * r)] != r * 1000 + 8 * rank + turn;
  }
}

template <class Call>
void expect(const char* what, Call call) {
  destroyed = handled = 0;
  std::string caught = "nothing";
  try {
    call();
  } catch (const Failed& failed) {
    caught = "an error";
  }
#if defined(BY_QUADRILLE)
  wrong += handled != (caught == "an error");
#endif
  if (rank == 0) std::printf("%s: caught %s, destroyed %d\n", what, caught.c_str(), destroyed);
  check_that_it_works();
}

void* in_thread(void*) {
  blocking(-1, 2);
  return &wrong;
}

void expect_end_of_thread(const char* what, Way by) {
  destroyed = 0;
  way = by;
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, in_thread, nullptr);
  pthread_join(thread, &result);
  way = Way::exception;
  if (rank == 0) std::printf("%s: %s, destroyed %d\n", what, result == &wrong ? "it came back" : "it ended", destroyed);
  check_that_it_works();
}

// A thread that waits in a collective for ranks that never come is cancelled. The MPI must have a cancellation point.
MPI_Comm waiting;
std::atomic<bool> waits = false;

void meet() {
  const Counts counts(2);
  waits = true;
  CALL(Alltoallv)
  (sent.data(), counts.counts.data(), counts.displacements.data(), MPI_INT, received.data(), counts.counts.data(),
   counts.displacements.data(), MPI_INT, waiting);
}

void* meet_nobody(void*) {
  meet();
  return nullptr;
}

void cancel_in_a_call() {
  MPI_Comm_dup(MPI_COMM_WORLD, &waiting);
  for (int turn = 0; turn < 20; ++turn) meet();
  destroyed = 0;
  waits = false;
  void* result = PTHREAD_CANCELED;
  if (rank == 1) {
    pthread_t thread;
    pthread_create(&thread, nullptr, meet_nobody, nullptr);
    while (!waits) usleep(1000);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    wrong += result != PTHREAD_CANCELED || destroyed != 1;
  }
  check_that_it_works();
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  sent.resize(static_cast<std::size_t>(8 * size));
  received.resize(sent.size());
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);  // where some MPIs report what is wrong with a request
#if defined(BY_QUADRILLE)
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_set_errhandler(ring, handler);
#endif
  const bool cancels = argc > 1;
  if (cancels) cancel_in_a_call();
  for (int round = 0; round < 3 && !cancels; ++round) {
    expect("a negative count", [] { blocking(-1, 2); });
    expect("blocks that are too long", [] { blocking(4, 2); });
    expect("a negative count, nonblocking", [] { nonblocking(-1, 2); });
#if defined(BY_QUADRILLE)
    expect("blocks that are too long, nonblocking", too_long_nonblocking);
    expect("a negative count of a neighbour collective", negative_neighbor);
    expect("a negative number of offsets", negative_neighborhood);
    expect("no communicator", no_communicator);
    inherit_handler();
#endif
    expect("a message that is too long, in a list", in_a_list);
    expect_end_of_thread("pthread_exit in the handler", Way::exit_thread);
    expect_end_of_thread("pthread_cancel in the handler", Way::cancel_thread);
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, %d wrong values\n", size, all);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  std::fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
