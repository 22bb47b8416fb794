// Calls in the order of a device's streams, by a stand-in of its driver (tests/device).
//   enqueue_check LIBRARY LEVEL WHO WAITS
//     LEVEL  multiple, or serialized: what the program asks the MPI for
//     WHO    all: every rank has the driver; some: rank 0 has none, and its memory is the host's
//     WAITS  never: nothing waits on the host where there is a driver; always
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "enqueued_exchange.hpp"

namespace {
// Of this thread, by Quadrille's library.
thread_local bool counts = false;
thread_local long allocations = 0;
}  // namespace

// A sanitizer has an allocator of its own.
#ifndef __SANITIZE_ADDRESS__
extern "C" {
void* __libc_malloc(std::size_t bytes);
#pragma GCC visibility push(default)
void* malloc(std::size_t bytes) {
  if (counts) {
    counts = false;
    Dl_info info;
    if (dladdr(__builtin_return_address(0), &info) != 0 && std::strstr(info.dli_fname, "libquadrille") != nullptr) {
      ++allocations;
    }
    counts = true;
  }
  return __libc_malloc(bytes);
}
#pragma GCC visibility pop
}
#endif

namespace quadrille::test::enqueued {
namespace {

MPI_Comm duplicate() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // The first calls wait for the other ranks.
  Exchange first(comm, 1, Form::uniform, false);
  const Handle stream = new_stream();
  first.turn(stream, 0);
  synchronize(stream);
  return comm;
}

void end(MPI_Comm& comm) {
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
  MPI_Comm_free(&comm);
}

void check_data(MPI_Comm comm) {
  const Handle own = new_stream(), blocking = new_stream(true);
  for (const Handle stream :
       {own, blocking, standin::null_stream, standin::legacy_stream, standin::per_thread_stream}) {
    if (device.is_there() && !device.is_cuda() && stream != own && stream != blocking) continue;
    for (const int n : {1, 100, 20000}) {
      for (const Form form : {Form::uniform, Form::vector, Form::typed}) {
        for (const bool in_place : {false, true}) {
          Exchange exchange(comm, n, form, in_place);
          const unsigned long before = waits();
          constexpr int turns = 4;
          for (int turn = 0; turn < turns; ++turn) exchange.turn(stream, turn);
          check(!never_waits || waits() == before, "nothing waits on the host");
          check(never_waits || !device.is_there() || waits() > before, "the host waits");
          synchronize(stream);
          check(exchange.looked() == turns, "all kernels ran");
        }
      }
    }
  }
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
}

// The call returns before what is sent was made. With lazy streams, of which nobody asks anything.
void check_early_return(MPI_Comm comm, bool lazy) {
  if (!lazy || !never_waits) return;
  Exchange exchange(comm, 50, Form::vector, false);
  const Handle stream = new_stream();
  std::atomic<bool> made = false;
  in_stream(stream, [&] { made = true; });
  exchange.turn(stream, 1);
  check(!made || !device.is_there(), "the call returns before the stream comes to it");
  synchronize(stream);
  check(made && exchange.looked() == 1, "made in the end");
}

// A call's memory is used again when its stream has copied all of it, and not before: here all but the last piece of
// its work is done when another call of the same size comes. With lazy streams, which do one at each question.
void check_memory_in_use(MPI_Comm comm, bool lazy) {
  if (!lazy || !never_waits) return;
  const Handle streams[] = {new_stream(), new_stream()};
  // The last memory that comes back is that of the one's receive buffer, and the other's send buffer takes it first.
  Exchange one(comm, 700, Form::uniform, true), other(comm, 700, Form::uniform, false);
  one.make(streams[0], 1);
  check(one.enqueue(streams[0]) == MPI_SUCCESS, "enqueued");
  while (device.is_cuda() && device.count("pending", nullptr) > 1) device.cuStreamQuery(streams[0]);
  other.turn(streams[1], 2);
  synchronize(streams[1]);
  one.look(streams[0], 1);
  synchronize(streams[0]);
  check(one.looked() == 1 && other.looked() == 1, "memory in use");
}

// Ranks enqueue on two communicators in different orders, each in a stream of its own.
void check_opposite_orders() {
  if (!never_waits) return;  // each rank would wait for the other
  MPI_Comm comms[] = {duplicate(), duplicate()};
  const Handle streams[] = {new_stream(), new_stream()};
  for (const int n : {1, 3000}) {
    Exchange one(comms[0], n, Form::uniform, false), other(comms[1], n, Form::vector, false);
    Exchange* const exchanges[] = {&one, &other};
    for (int turn = 0; turn < 4; ++turn) {
      for (const int i : {rank % 2, 1 - rank % 2}) exchanges[i]->turn(streams[i], turn);
    }
    for (const int i : {1 - rank % 2, rank % 2}) synchronize(streams[i]);
  }
  for (MPI_Comm& comm : comms) end(comm);
}

// More calls of one communicator than move data at a time, none of which can begin before all are enqueued. Then their
// streams come to them in another order on each rank.
void check_many_at_once(MPI_Comm comm) {
  constexpr int many = 7;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::unique_ptr<Gate>> gates;
  std::vector<Handle> streams;
  for (int i = 0; i < many; ++i) {
    exchanges.push_back(std::make_unique<Exchange>(comm, i % 2 == 0 ? 10 : 5000, Form::uniform, false));
    streams.push_back(new_stream());
    if (!device.is_there()) continue;
    gates.push_back(std::make_unique<Gate>());
    // Where the host waits for the stream nothing may keep it.
    if (never_waits) gates.back()->keep(streams.back());
  }
  for (int i = 0; i < many; ++i) exchanges[static_cast<std::size_t>(i)]->turn(streams[static_cast<std::size_t>(i)], i);
  for (int i = 0; i < many; ++i) {
    const auto which = static_cast<std::size_t>((many - 1 - i + rank) % many);
    if (!gates.empty()) gates[which]->open();
  }
  for (const Handle stream : streams) synchronize(stream);
  for (const auto& exchange : exchanges) check(exchange->looked() == 1, "each of many");
}

// The last rank calls when the calls of all others have returned.
void check_late_peer(MPI_Comm comm) {
  if (!never_waits) return;
  Exchange exchange(comm, 200, Form::uniform, false);
  const Handle stream = new_stream();
  const int late = size - 1;
  if (rank == late) {
    for (int peer = first_with_driver; peer < late; ++peer)
      MPI_Recv(nullptr, 0, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  exchange.turn(stream, 3);
  if (rank >= first_with_driver && rank != late) MPI_Send(nullptr, 0, MPI_INT, late, 5, MPI_COMM_WORLD);
  synchronize(stream);
  check(exchange.looked() == 1, "a late peer");
}

void check_freed_communicator() {
  MPI_Comm comm = duplicate();
  Exchange exchange(comm, 300, Form::vector, false);
  const Handle stream = new_stream();
  std::unique_ptr<Gate> gate;
  if (device.is_there() && never_waits) {
    gate = std::make_unique<Gate>();
    gate->keep(stream);
  }
  exchange.turn(stream, 5);
  MPI_Comm_free(&comm);
  if (gate != nullptr) gate->open();
  synchronize(stream);
  check(exchange.looked() == 1, "a freed communicator");
}

// Rank 0 sends more to rank 1 than that expects. Everybody's stream goes on, and the error is told once.
void check_error(bool by_next_call) {
  MPI_Comm comm = duplicate();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // MPICH's, of messages that are tested for together
  const Handle stream = new_stream();
  const auto n = static_cast<std::size_t>(size);
  Ints send(n * 10), recv(n * 10);
  std::vector<int> sent(n, 4), got(n, 4), places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<int>(i) * 10;
  if (rank == 0) sent[1] = 9;
  in_stream(stream, [&] { send.fill(1); });
  int error = Quadrille_Alltoallv_enqueue(send.data, sent.data(), places.data(), MPI_INT, recv.data, got.data(),
                                          places.data(), MPI_INT, stream, comm);
  bool went_on = false;
  in_stream(stream, [&] { went_on = true; });
  synchronize(stream);
  check(went_on, "the stream goes on after an error");
  const bool is_told = rank == 1;
  if (never_waits && device.is_there()) {
    check(error == MPI_SUCCESS, "an error that is not known yet");
    if (by_next_call) {
      Exchange next(comm, 4, Form::uniform, false);
      next.make(stream, 1);
      error = next.enqueue(stream);
      next.look(stream, 1);
      synchronize(stream);
    } else {
      error = Quadrille_Enqueue_status(comm);
    }
  } else if (by_next_call) {
    Exchange next(comm, 4, Form::uniform, false);
    next.turn(stream, 1);
    synchronize(stream);
  }
  if (is_told) check(error != MPI_SUCCESS, "an error is told");
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "an error is told once");
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// What cannot be in a graph says so, and the capture goes on.
void check_capture(MPI_Comm comm) {
  // What is in a graph, and the graph, is somebody's until the end.
  static auto* const kept = new std::vector<void*>;
  Exchange exchange(comm, 20, Form::uniform, false);
  Exchange larger(comm, 50000, Form::uniform, false);  // for which there is no memory of the host yet
  const Handle stream = new_stream(), other = new_stream();
  if (device.is_there()) {
    constexpr int global = 0, active = 1;
    for (const bool null : {false, true}) {
      const Handle captured = null ? new_stream(true) : stream;
      must(device.begin_capture()(captured, global), "begin");
      kept->push_back(launch(captured, [] {}));
      check(exchange.enqueue(null ? standin::null_stream : captured) == MPI_ERR_ARG, "an error in a capture");
      int status = 0;
      must(device.is_capturing()(captured, &status), "status");
      check(status == active, "the capture goes on");
      Handle graph = nullptr;
      check(device.end_capture()(captured, &graph) == 0 && graph != nullptr, "the capture is good");
      kept->push_back(graph);
    }
    // That of another stream is not disturbed.
    must(device.begin_capture()(stream, global), "begin");
  }
  if (never_waits || !device.is_there()) {
    larger.turn(other, 4);
    exchange.turn(other, 5);
  }
  if (device.is_there()) {
    Handle graph = nullptr;
    check(device.end_capture()(stream, &graph) == 0 && graph != nullptr, "a capture beside it is good");
    kept->push_back(graph);
  }
  synchronize(other);
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
}

void check_persistent(MPI_Comm comm, int n) {
  const auto ints = static_cast<std::size_t>(n * size);
  Ints send(ints), recv(ints);
  const Handle streams[] = {new_stream(), new_stream()};
  Quadrille_Request request;
  check(Quadrille_Alltoall_init(send.data, n, MPI_INT, recv.data, n, MPI_INT, comm, MPI_INFO_NULL, &request) ==
            MPI_SUCCESS,
        "init");
  std::atomic<int> looked = 0;
  const auto make = [&](int turn) {
    for (int i = 0; i < n * size; ++i) send.view[i] = value(rank, i / n, i % n, turn);
    recv.fill(-5);
  };
  const auto look = [&](int turn) {
    for (int i = 0; i < n * size; ++i) check(recv.view[i] == value(i / n, rank, i % n, turn), "persistent");
    ++looked;
  };
  int turns = 0;
  const auto start = [&](Handle stream) {
    const int turn = ++turns;
    in_stream(stream, [&make, turn] { make(turn); });
    counts = turn > 1;
    check(Quadrille_Start_enqueue(&request, stream) == MPI_SUCCESS, "start");
    counts = false;
    in_stream(stream, [&look, turn] { look(turn); });
  };
  const unsigned long before = waits();
  start(streams[0]);
  const unsigned long taken = device.is_there() ? calls_of("allocations") : 0;
  for (int i = 0; i < 5; ++i) start(streams[0]);
  if (never_waits && device.is_there()) {
    check(allocations == 0, "a start takes no memory");
    check(calls_of("allocations") == taken, "nor of the driver");
    check(waits() == before, "nothing waits on the host");
  }
  synchronize(streams[0]);
  check(looked == turns, "all starts");
  // It can be started in the other way, too, and then again in a stream, while another rank still does the first.
  make(100);
  check(Quadrille_Start(&request) == MPI_SUCCESS, "start on the host");
  check(Quadrille_Start_enqueue(&request, streams[0]) == MPI_ERR_REQUEST, "it is active");
  check(Quadrille_Wait(&request) == MPI_SUCCESS, "wait");
  look(100);
  ++turns;
  // A turn that is kept is active.
  if (never_waits && device.is_there()) {
    Gate gate;
    gate.keep(streams[1]);
    start(streams[1]);
    check(Quadrille_Start(&request) == MPI_ERR_REQUEST, "it has a turn");
    Quadrille_Request same = request;
    check(Quadrille_Request_free(&same) == MPI_ERR_REQUEST, "nor can it be freed");
    gate.open();
  } else {
    start(streams[1]);
  }
  synchronize(streams[1]);
  check(looked == turns, "the last start");
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
}

// What a stream has passed is not active any more, however far the thread is that let it go on.
void check_no_longer_active(MPI_Comm comm) {
  const auto ints = static_cast<std::size_t>(size);
  Ints send(ints), recv(ints);
  const Handle stream = new_stream();
  Quadrille_Request request;
  Quadrille_Alltoall_init(send.data, 1, MPI_INT, recv.data, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 1000; ++turn) {
    check(Quadrille_Start_enqueue(&request, stream) == MPI_SUCCESS, "start");
    synchronize(stream);
    check(Quadrille_Start(&request) == MPI_SUCCESS, "what the stream has passed is active");
    if (Quadrille_Wait(&request) != MPI_SUCCESS) check(false, "wait");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
}

// Turns in two streams between which the program has put nothing: one begins when the other is over.
void check_two_streams(MPI_Comm comm, int n) {
  const auto ints = static_cast<std::size_t>(n * size);
  Ints send(ints), recv(ints);
  const Handle streams[] = {new_stream(), new_stream()};
  for (int i = 0; i < n * size; ++i) send.view[i] = value(rank, i / n, i % n, 0);
  Quadrille_Request request;
  Quadrille_Alltoall_init(send.data, n, MPI_INT, recv.data, n, MPI_INT, comm, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < 6; ++turn) {
    check(Quadrille_Start_enqueue(&request, streams[(turn + rank) % 2]) == MPI_SUCCESS, "start");
  }
  for (const Handle stream : streams) synchronize(stream);
  for (int i = 0; i < n * size; ++i) check(recv.view[i] == value(i / n, rank, i % n, 0), "two streams");
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
}

// The driver refuses something on the last rank alone. The others are served, and so are the next calls.
void check_refusals(MPI_Comm comm) {
  if (!never_waits) return;
  const bool refused = rank == size - 1 && device.is_cuda();
  for (const char* what : {"cuMemcpyAsync:1", "cuStreamWriteValue32_v2:1", "cuStreamWaitValue32_v2:1",
                           "cuMemcpyAsync:2", "cuStreamWriteValue32_v2:2"}) {
    Exchange exchange(comm, 60, Form::uniform, false);
    const Handle stream = new_stream();
    exchange.make(stream, 2);
    synchronize(stream);
    if (refused) set("FAIL", what);
    const int error = exchange.enqueue(stream);
    if (refused) set("FAIL", "");
    check(error == (refused ? MPI_ERR_OTHER : MPI_SUCCESS), what);
    synchronize(stream);
    MPI_Barrier(comm);
    Exchange next(comm, 60, Form::vector, false);
    next.turn(stream, 3);
    synchronize(stream);
    check(next.looked() == 1, "after a refusal");
  }
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
}

// So far apart that the memory between is not pinned: then the host waits, on this rank alone.
void check_far_apart(MPI_Comm comm) {
  const int far = rank == 0 ? 1 << 20 : 3;
  const auto n = static_cast<std::size_t>(size);
  Ints send(n * static_cast<std::size_t>(far)), recv(n * static_cast<std::size_t>(far));
  std::vector<int> ones(n, 1), places(n);
  for (int peer = 0; peer < size; ++peer) {
    places[static_cast<std::size_t>(peer)] = peer * far;
    send.view[peer * far] = value(rank, peer, 0, 0);
  }
  const Handle stream = new_stream();
  check(Quadrille_Alltoallv_enqueue(send.data, ones.data(), places.data(), MPI_INT, recv.data, ones.data(),
                                    places.data(), MPI_INT, stream, comm) == MPI_SUCCESS,
        "far apart");
  synchronize(stream);
  for (int peer = 0; peer < size; ++peer) check(recv.view[peer * far] == value(peer, rank, 0, 0), "far apart");
}

// A context that is gone takes with it what was registered in it.
void check_context_that_goes(MPI_Comm comm) {
  for (int turn = 0; turn < 2; ++turn) {
    Handle context = nullptr;
    if (device.is_cuda()) must(device.cuCtxCreate_v2(&context, 0, 0), "create");
    {
      const Handle stream = new_stream(), kernel = device.work;
      Exchange exchange(comm, 40, Form::vector, false);
      // Its kernels are of the other context.
      if (device.is_cuda()) {
        for (int peer = 0; peer < size; ++peer) {
          for (int i = 0; i < 40; ++i) exchange.sent().view[peer * 80 + i] = value(rank, peer, i, turn);
        }
        check(exchange.enqueue(stream) == MPI_SUCCESS, "another context");
        synchronize(stream);
        check(exchange.got().view[0] == value(0, rank, 0, turn), "another context");
      } else {
        exchange.turn(stream, turn);
        synchronize(stream);
      }
      device.work = kernel;
    }
    if (device.is_cuda()) must(device.cuCtxDestroy_v2(context), "destroy");
    Exchange after(comm, 40, Form::vector, false);
    const Handle stream = new_stream();
    after.turn(stream, turn);
    synchronize(stream);
  }
}

// A device's own context has one handle for ever: what is made again under it has nothing of what was registered
// before.
void check_context_with_the_same_handle(MPI_Comm comm) {
  if (device.is_cuda()) {
    Handle again = nullptr;
    must(device.cuDevicePrimaryCtxRelease_v2(0), "release");
    must(device.cuDevicePrimaryCtxRetain(&again, 0), "retain");
    check(again == device.context, "the same handle");
  }
  Exchange after(comm, 40, Form::vector, false);
  const Handle stream = new_stream();
  after.turn(stream, 1);
  synchronize(stream);
  check(after.looked() == 1, "the same handle");
}

void check_mistakes(MPI_Comm comm) {
  Quadrille_Request none = QUADRILLE_REQUEST_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(Quadrille_Start_enqueue(&none, nullptr) == MPI_ERR_REQUEST, "a null request");
  check(Quadrille_Start_enqueue(nullptr, nullptr) == MPI_ERR_REQUEST, "no request");
  check(Quadrille_Enqueue_status(MPI_COMM_NULL) == MPI_ERR_COMM, "the null communicator");
  int nothing = 0;
  check(Quadrille_Alltoall_enqueue(&nothing, 0, MPI_INT, &nothing, 0, MPI_INT, nullptr, comm) == MPI_SUCCESS,
        "no data");
  if (device.is_there()) {
    check(Quadrille_Alltoall_enqueue(&nothing, 1, MPI_INT, &nothing, 1, MPI_INT, &nothing, comm) == MPI_ERR_ARG,
          "no stream");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int run(const std::string& library, bool has_driver, bool lazy) {
  if (has_driver) load_device(library.c_str());
  if (lazy) set("PATIENCE", "100000000");  // nothing is done that nobody waits for
  MPI_Comm comm = duplicate();
  check_mistakes(comm);
  check_early_return(comm, lazy);
  check_memory_in_use(comm, lazy);
  check_data(comm);
  check_opposite_orders();
  check_many_at_once(comm);
  check_late_peer(comm);
  check_freed_communicator();
  check_error(false);
  check_error(true);
  check_capture(comm);
  for (const int n : {1, 2000, 30000}) {
    check_persistent(comm, n);
    check_two_streams(comm, n);
  }
  check_no_longer_active(comm);
  check_far_apart(comm);
  check_context_that_goes(comm);
  check_context_with_the_same_handle(comm);
  check_refusals(comm);
  // What is pending goes on in MPI_Finalize. If the gate opens before that, this says nothing, but it is not wrong
  // either.
  set("PATIENCE", "20");
  Exchange last(comm, 500, Form::vector, false);
  const Handle stream = new_stream();
  std::unique_ptr<Gate> gate;
  if (device.is_there()) gate = std::make_unique<Gate>();
  if (gate != nullptr && never_waits) gate->keep(stream);
  for (int turn = 0; turn < 3; ++turn) last.turn(stream, turn);
  MPI_Comm_free(&comm);
  std::thread opens([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (gate != nullptr) gate->open();
  });
  MPI_Finalize();
  opens.join();
  synchronize(stream);
  check(last.looked() == 3, "pending at the end");
  return say_verdict();
}

}  // namespace quadrille::test::enqueued

int main(int argc, char** argv) {
  using namespace quadrille::test::enqueued;
  if (argc < 5) return 2;
  const std::string level = argv[2], who = argv[3];
  const int asked = level == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  if (begin_with_threads(&argc, &argv, asked) != asked) return 3;
  never_waits = std::string(argv[4]) == "never";
  const char* const streams = std::getenv("QUADRILLE_STANDIN_STREAMS");
  first_with_driver = who == "all" ? 0 : 1;
  return run(argv[1], rank >= first_with_driver, streams != nullptr && std::string(streams) == "lazy");
}
