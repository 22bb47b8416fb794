// Requests and blocking calls with a device's memory while a call is pending in a stream, by a stand-in of the driver
// (tests/device). Nothing of them waits for the pending call, which may need this thread, its locks, or what another
// rank does later.
//   enqueued_beside LIBRARY
#include <mpi.h>
#include <unistd.h>

#include <memory>
#include <optional>

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

int run(const char* library) {
  load_device(library);
  {
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
  std::printf("rank %d: %s\n", rank, wrong == 0 ? "good" : "WRONG");
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 2 || !begin_mpi(&argc, &argv, MPI_THREAD_MULTIPLE)) return 2;
  alarm(60);  // what hangs must not take the time of a test that is slow
  return run(argv[1]);
}

}  // namespace enqueued_beside_check
