// Requests and blocking calls with a device's memory while a call is pending in a stream, by a stand-in of the driver
// (tests/device). Nothing of them waits for the pending call, which may need this thread, its locks, or what another
// rank does later.
//   enqueued_beside LIBRARY [failed]    failed: only a copy that fails beside requests of the host's memory
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "enqueued_exchange.hpp"

namespace enqueued_beside_check {

using namespace quadrille::test::enqueued;

constexpr int turns = 3;

// Buffers of a call that is not enqueued.
struct Buffers {
  explicit Buffers(int n) : n(n), send(static_cast<std::size_t>(n * size)), recv(static_cast<std::size_t>(n * size)) {}
  void fill(int turn) {
    for (int i = 0; i < n * size; ++i) send.view[i] = value(rank, i / n, i % n, turn);
    recv.fill(-7);
  }
  void look(int turn, const char* what) const {
    for (int i = 0; i < n * size; ++i) check(recv.view[i] == value(i / n, rank, i % n, turn), what);
  }
  const int n;
  Ints send, recv;
};

struct Comms {
  MPI_Comm enqueued, other;
  // The first calls wait for the other ranks.
  Comms() {
    for (MPI_Comm* comm : {&enqueued, &other}) {
      MPI_Comm_dup(MPI_COMM_WORLD, comm);
      MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    }
    Exchange first(enqueued, 1000, Form::uniform, false);
    const Handle stream = new_stream();
    first.turn(stream, 0);
    synchronize(stream);
    Buffers buffers(1000);
    Quadrille_Request request = start(buffers, 0);
    check(Quadrille_Wait(&request) == MPI_SUCCESS, "wait");
    buffers.look(0, "before");
  }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;
  ~Comms() {
    check(Quadrille_Enqueue_status(enqueued) == MPI_SUCCESS, "status");
    MPI_Comm_free(&enqueued);
    MPI_Comm_free(&other);
  }
  Quadrille_Request start(Buffers& buffers, int turn) {
    buffers.fill(turn);
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    check(Quadrille_Ialltoall(buffers.send.data, buffers.n, MPI_INT, buffers.recv.data, buffers.n, MPI_INT, other,
                              &request) == MPI_SUCCESS,
          "start");
    return request;
  }
};

// Is the request waited for before the other call is enqueued? Then the others, which enqueue first, must not wait for
// this rank.
enum class Order { enqueues_first, some_wait_first, some_are_late };

void nonblocking(Comms& comms, Handle stream, Order order, bool has_new_memory) {
  Exchange exchange(comms.enqueued, 1000, Form::uniform, false);
  auto buffers = std::make_unique<Buffers>(1000);
  const bool waits_first = order == Order::some_wait_first && rank % 2 == 1;
  for (int turn = 0; turn < turns; ++turn) {
    if (has_new_memory) {  // freeing it waits for the streams, in which nothing is now
      MPI_Barrier(MPI_COMM_WORLD);
      buffers.reset();
      buffers = std::make_unique<Buffers>(1000);
    }
    exchange.make(stream, turn);
    synchronize(stream);
    Quadrille_Request request = comms.start(*buffers, turn);
    const auto wait = [&] {
      check(Quadrille_Wait(&request) == MPI_SUCCESS, "wait");
      buffers->look(turn, "a request beside a call in a stream");
    };
    if (waits_first) wait();
    if (order == Order::some_are_late && rank != 0) usleep(20'000);
    check(exchange.enqueue(stream) == MPI_SUCCESS, "enqueue");
    exchange.look(stream, turn);
    if (!waits_first) wait();
    synchronize(stream);
  }
  check(exchange.looked() == turns, "the calls in the stream");
}

// What is in the stream comes before the start where the stream goes along with the NULL stream.
void persistent(Comms& comms, Handle stream) {
  Exchange exchange(comms.enqueued, 100'000, Form::uniform, false);
  Buffers buffers(100'000);
  Quadrille_Request request;
  check(Quadrille_Alltoall_init(buffers.send.data, buffers.n, MPI_INT, buffers.recv.data, buffers.n, MPI_INT,
                                comms.other, MPI_INFO_NULL, &request) == MPI_SUCCESS,
        "init");
  for (int turn = 0; turn < turns; ++turn) {
    buffers.fill(turn);
    if (rank != 0) usleep(5'000);
    exchange.turn(stream, turn);
    check(Quadrille_Start(&request) == MPI_SUCCESS, "start");
    check(Quadrille_Wait(&request) == MPI_SUCCESS, "wait");
    buffers.look(turn, "a persistent request");
    synchronize(stream);
  }
  check(exchange.looked() == turns, "the calls in the stream");
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
}

// In a stream that does not go along with the NULL stream, for which a blocking call would wait.
void blocking(Comms& comms) {
  const Handle stream = new_stream();
  Exchange exchange(comms.enqueued, 1000, Form::uniform, false);
  std::optional<Buffers> buffers;
  for (int turn = 0; turn < 2 * turns; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    buffers.emplace(1000);
    buffers->fill(turn);
    exchange.make(stream, turn);
    synchronize(stream);
    const bool enqueues_first = rank % 2 == turn % 2;
    const auto enqueue = [&] {
      check(exchange.enqueue(stream) == MPI_SUCCESS, "enqueue");
      exchange.look(stream, turn);
    };
    if (enqueues_first) enqueue();
    check(Quadrille_Alltoall(buffers->send.data, buffers->n, MPI_INT, buffers->recv.data, buffers->n, MPI_INT,
                             comms.other) == MPI_SUCCESS,
          "a blocking call");
    buffers->look(turn, "a blocking call");
    if (!enqueues_first) enqueue();
    synchronize(stream);
  }
  check(exchange.looked() == 2 * turns, "the calls in the stream");
}

// Small blocks of a persistent request, of which rank 0 alone has its part on the device. The others hear of a copy
// that has failed there, in the start that it belongs to.
void check_failed_copy() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  Buffers buffers(2);
  std::vector<int> sent(buffers.send.count), got(sent);
  const int* const from = rank == 0 ? buffers.send.data : sent.data();
  int* const to = rank == 0 ? buffers.recv.data : got.data();
  Quadrille_Request request;
  check(Quadrille_Alltoall_init(from, buffers.n, MPI_INT, to, buffers.n, MPI_INT, comm, MPI_INFO_NULL, &request) ==
            MPI_SUCCESS,
        "init");
  for (int turn = 0; turn < 4; ++turn) {
    const bool fails = turn == 1;
    buffers.fill(turn);
    std::copy_n(buffers.send.view, sent.size(), sent.begin());
    if (fails && rank == 0) set("FAIL", "cuMemcpyAsync:1");
    const int begun = Quadrille_Start(&request);
    const int error = begun != MPI_SUCCESS ? begun : Quadrille_Wait(&request);
    set("FAIL", "");
    check((error != MPI_SUCCESS) == fails, "a failed copy of another rank");
    if (fails) continue;
    if (rank != 0) std::copy_n(got.begin(), got.size(), buffers.recv.view);
    buffers.look(turn, "beside a failed copy");
  }
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
  MPI_Comm_free(&comm);
}

int run(const char* library, bool is_failed) {
  load_device(library);
  if (is_failed) {
    check_failed_copy();
  } else {
    Comms comms;
    for (const Handle stream : {new_stream(true), new_stream(false)}) {
      for (const Order order : {Order::enqueues_first, Order::some_wait_first, Order::some_are_late}) {
        for (const bool has_new_memory : {false, true}) nonblocking(comms, stream, order, has_new_memory);
      }
      persistent(comms, stream);
    }
    if (device.is_cuda()) persistent(comms, quadrille::standin::null_stream);
    blocking(comms);
  }
  MPI_Finalize();
  return say_verdict();
}

int main(int argc, char** argv) {
  const int level = begin_with_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  if (argc < 2 || level != MPI_THREAD_MULTIPLE) return 2;
  alarm(60);  // what hangs must not take the time of a test that is slow
  return run(argv[1], argc > 2);
}

}  // namespace enqueued_beside_check
