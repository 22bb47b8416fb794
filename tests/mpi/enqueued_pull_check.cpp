// Starts of persistent requests in the order of a device's streams, where the ranks copy from each other's memory of a
// device (ipc-pull), by a stand-in of its driver (tests/device).
//   enqueued_pull LIBRARY CASE
//     CASE  plain; led: one rank copies for all of a device; explained: without what the driver refuses
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "enqueued_exchange.hpp"
#include "forms.hpp"

namespace enqueued_pull_check {

namespace test = quadrille::test;
using quadrille::Collective;
using namespace quadrille::test::enqueued;

bool is_led = false;

enum class What { alltoall, alltoallv, in_place, typed, allgather };
constexpr What kinds[] = {What::alltoall, What::alltoallv, What::in_place, What::typed, What::allgather};
const char* name_of(What what) {
  constexpr const char* names[] = {"alltoall", "alltoallv", "in place", "typed", "allgather"};
  return names[static_cast<int>(what)];
}

// A persistent call with blocks of `n` ints. Behind each int of an Alltoallw, and behind each block of an Alltoallv, is
// one that is not the call's.
class Persistent {
 public:
  Persistent(MPI_Comm comm, What what, int n)
      : what_(what),
        n_(n),
        pitch_(what == What::typed ? 2 * n : n + (what == What::alltoallv ? 1 : 0)),
        send_(static_cast<std::size_t>(pitch_ * size)),
        recv_(static_cast<std::size_t>(pitch_ * size)) {
    if (what == What::typed) {
      MPI_Type_create_resized(MPI_INT, 0, 2 * static_cast<MPI_Aint>(sizeof(int)), &type_);
      MPI_Type_commit(&type_);
    }
    check(init(comm) == MPI_SUCCESS, "init");
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
  ~Persistent() {
    check(Quadrille_Request_free(&request_) == MPI_SUCCESS, "free");
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  void make(Handle stream, int number) {
    in_stream(stream, [this, number] { make_now(number); });
  }
  int start(Handle stream) { return Quadrille_Start_enqueue(&request_, stream); }
  int start_on_host() {
    const int error = Quadrille_Start(&request_);
    return error != MPI_SUCCESS ? error : Quadrille_Wait(&request_);
  }
  // A kernel looks at what has come, and overwrites both buffers.
  void look(Handle stream, int number) {
    in_stream(stream, [this, number] { look_now(number); });
  }
  void turn(Handle stream, int number) {
    make(stream, number);
    check(start(stream) == MPI_SUCCESS, "start");
    look(stream, number);
  }
  void turn_on_host(int number) {
    make_now(number);
    check(start_on_host() == MPI_SUCCESS, "start on the host");
    look_now(number);
  }
  int looked() const { return looked_; }
  What what() const { return what_; }

 private:
  bool is_of_call(int i) const { return what_ == What::typed ? i % 2 == 0 : i < n_; }
  void make_now(int number) {
    recv_.fill(-5);
    Ints& from = what_ == What::in_place ? recv_ : send_;
    for (int peer = 0; peer < size; ++peer) {
      const int to = what_ == What::allgather ? 0 : peer;
      for (int i = 0; i < pitch_; ++i) from.view[peer * pitch_ + i] = is_of_call(i) ? value(rank, to, i, number) : -5;
    }
  }
  void look_now(int number) {
    ++looked_;
    for (int peer = 0; peer < size; ++peer) {
      const int to = what_ == What::allgather ? 0 : rank;
      for (int i = 0; i < pitch_; ++i) {
        check(recv_.view[peer * pitch_ + i] == (is_of_call(i) ? value(peer, to, i, number) : -5), name_of(what_));
      }
    }
    send_.fill(-3);
    recv_.fill(-9);
  }
  int init(MPI_Comm comm) {
    const auto n = static_cast<std::size_t>(size);
    std::vector<int> counts(n, n_), places(n), bytes(n);
    std::vector<MPI_Datatype> types(n, type_);
    for (std::size_t i = 0; i < n; ++i) {
      places[i] = static_cast<int>(i) * pitch_;
      bytes[i] = places[i] * static_cast<int>(sizeof(int));
    }
    constexpr Collective collectives[] = {Collective::alltoall, Collective::alltoallv, Collective::alltoall,
                                          Collective::alltoallw, Collective::allgather};  // by What
    const auto side = [&](void* buffer) -> test::CallSide {
      return {buffer, n_, MPI_INT, counts.data(), places.data(), bytes.data(), nullptr, types.data()};
    };
    return begin_call(test::CallForm::persistent, collectives[static_cast<int>(what_)],
                      side(what_ == What::in_place ? MPI_IN_PLACE : send_.data), side(recv_.data), comm, &request_);
  }

  const What what_;
  const int n_, pitch_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Ints send_, recv_;
  Quadrille_Request request_ = QUADRILLE_REQUEST_NULL;
  std::atomic<int> looked_ = 0;
};

// What Quadrille has the device do, and what it takes for that.
struct Counts {
  static unsigned long of(const char* cuda, const char* hip) { return calls_of(device.is_cuda() ? cuda : hip); }
  unsigned long at_once = of("cuGraphLaunch", "hipGraphLaunch") + of("cuLaunchKernel", "hipModuleLaunchKernel") +
                          of("cuMemcpyBatchAsync_v2", "hipMemcpyBatchAsync");
  unsigned long waits = quadrille::test::enqueued::waits(), allocations = calls_of("allocations");
  unsigned long opens = of("cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle");
};

bool has_kernels() {
  const char* const setting = std::getenv("QUADRILLE_DEVICE_KERNELS");
  return device.is_cuda() && (setting == nullptr || std::string_view(setting) != "off");
}

// Several starts at once: no host waits, and the ranks pull.
void check_starts(MPI_Comm comm) {
  const Handle own = new_stream(), blocking = new_stream(true);
  for (const Handle stream : {own, blocking, quadrille::standin::null_stream}) {
    for (const int n : {1, 100, 500}) {
      for (const What what : kinds) {
        if (what == What::typed && n * size > 60 && !has_kernels()) continue;  // more pieces than one launch makes
        Persistent call(comm, what, n);
        call.turn(stream, 0);
        MPI_Barrier(comm);
        const Counts before;
        constexpr int turns = 5;
        for (int turn = 1; turn < turns; ++turn) call.turn(stream, turn);
        const Counts after;
        check(after.waits == before.waits, "nothing waits on the host");
        check(after.allocations == before.allocations && after.opens == before.opens, "a start takes something");
        // One rank copies for all, but what has gaps.
        const bool copies = !is_led || rank == 0 || what == What::typed;
        check(!copies || after.at_once > before.at_once, "the ranks pull in the stream");
        synchronize(stream);
        check(call.looked() == turns, "all starts");
      }
    }
  }
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
}

// One begins when the other is over, though the program has put nothing between the streams.
void check_two_streams(MPI_Comm comm) {
  const Handle streams[] = {new_stream(), new_stream()};
  for (const What what : {What::alltoall, What::typed}) {
    Persistent call(comm, what, 500);
    call.make(streams[0], 3);
    synchronize(streams[0]);
    for (int turn = 0; turn < 6; ++turn) check(call.start(streams[(turn + rank) % 2]) == MPI_SUCCESS, "start");
    for (const Handle stream : streams) synchronize(stream);
    call.look(streams[0], 3);
    synchronize(streams[0]);
  }
}

// A rank's way is its own affair: some start in a stream what others start on the host.
void check_both_ways(MPI_Comm comm) {
  const Handle stream = new_stream();
  for (const What what : kinds) {
    Persistent call(comm, what, 300);
    for (int turn = 0; turn < 6; ++turn) {
      if ((turn + rank) % 3 == 0) {
        call.turn(stream, turn);
        synchronize(stream);
      } else {
        call.turn_on_host(turn);
      }
    }
    check(call.looked() == 6, "both ways");
  }
}

// The last rank calls when the calls of all others have returned.
void check_late_peer(MPI_Comm comm) {
  const Handle stream = new_stream();
  Persistent call(comm, What::alltoallv, 200);
  const int late = size - 1;
  for (int turn = 0; turn < 3; ++turn) {
    for (int peer = 0; rank == late && peer < late; ++peer) {
      MPI_Recv(nullptr, 0, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    call.turn(stream, turn);
    if (rank != late) MPI_Send(nullptr, 0, MPI_INT, late, 5, MPI_COMM_WORLD);
  }
  synchronize(stream);
  check(call.looked() == 3, "a late peer");
}

// Ranks enqueue two requests in different orders, each in a stream of its own, which a gate keeps.
void check_opposite_orders(MPI_Comm comm) {
  const Handle streams[] = {new_stream(), new_stream()};
  Persistent one(comm, What::alltoall, 400), other(comm, What::in_place, 5000);
  Persistent* const calls[] = {&one, &other};
  Gate gate;
  gate.keep(streams[rank % 2]);
  for (int turn = 0; turn < 4; ++turn) {
    for (const int i : {rank % 2, 1 - rank % 2}) calls[i]->turn(streams[i], turn);
  }
  gate.open();
  for (const int i : {1 - rank % 2, rank % 2}) synchronize(streams[i]);
  check(one.looked() == 4 && other.looked() == 4, "opposite orders");
}

// Freed while its streams still have pending calls, with another communicator after it.
void check_communicator(MPI_Comm comm) {
  MPI_Comm own;
  MPI_Comm_dup(comm, &own);
  const Handle stream = new_stream();
  Persistent call(own, What::alltoall, 60);
  Gate gate;
  gate.keep(stream);
  call.turn(stream, 1);
  MPI_Comm_free(&own);
  gate.open();
  synchronize(stream);
  check(call.looked() == 1, "a freed communicator");
}

constexpr const char *late_wait = "cuStreamWaitValue32_v2:2", *late_write = "cuStreamWriteValue32_v2:3";

// Refused on a rank in one start, before which another one may still be in the stream.
void check_refusal(MPI_Comm comm, What kind, const char* what, bool refused, bool is_pending) {
  Persistent call(comm, kind, 60);
  const Handle stream = new_stream();
  call.turn(stream, 1);
  if (!is_pending) {
    synchronize(stream);
    MPI_Barrier(comm);
  }
  call.make(stream, 2);
  if (refused) set("FAIL", what);
  const int error = call.start(stream);
  if (refused) set("FAIL", "");
  check(error == (refused ? MPI_ERR_OTHER : MPI_SUCCESS), what);
  bool went_on = false;
  in_stream(stream, [&went_on] { went_on = true; });
  synchronize(stream);
  check(went_on && call.looked() == 1, "the stream goes on");
  MPI_Barrier(comm);
  // Behind the copies a refusal changes nothing for the others.
  const bool is_late = std::string_view(what) == late_wait || std::string_view(what) == late_write;
  const int told = Quadrille_Enqueue_status(comm);
  if (!refused) check(told == (is_late ? MPI_SUCCESS : MPI_ERR_OTHER), what);
  for (int turn = 3; turn < 5; ++turn) {
    const Handle next_stream = turn == 3 ? new_stream() : stream;
    call.make(next_stream, turn);
    const int next = call.start(next_stream);
    // This rank may hear of its own only now: it is told when the turn has ended.
    check(next == MPI_SUCCESS || refused, "the next start");
    call.look(next_stream, turn);
    synchronize(next_stream);
  }
  check(call.looked() == 3, "after a refusal");
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "told once");
}

// The driver refuses something on one rank alone: all ranks hear of it, and the next starts are good.
void check_refusals(MPI_Comm comm) {
  if (!device.is_cuda()) return;
  constexpr const char* copies =
      "cuGraphLaunch:1+,cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1+,cuMemcpy2DAsync_v2:1+";
  for (const char* what : {"cuStreamWriteValue32_v2:1", "cuStreamWaitValue32_v2:1", copies, "cuStreamWriteValue32_v2:2",
                           late_wait, late_write}) {
    for (const What kind : {What::alltoall, What::in_place, What::typed}) {
      if (kind == What::typed && !has_kernels()) continue;  // that waits on the host
      check_refusal(comm, kind, what, rank == (is_led ? 0 : size - 1), false);
    }
  }
  // Of a rank for which another one copies the words have other numbers.
  for (const char* what : {"cuStreamWriteValue32_v2:1", copies}) {
    const bool refused = rank == (is_led && what == copies ? 0 : size - 1);
    check_refusal(comm, What::alltoall, what, refused, true);
  }
}

// What is sent by one rank is memory of the host: it waits there, and says so.
void check_host_memory(MPI_Comm comm) {
  const Handle stream = new_stream();
  std::vector<int> on_host(static_cast<std::size_t>(size * 50));
  Ints sent(on_host.size()), got(on_host.size());
  int* const from = rank == 0 ? on_host.data() : sent.data;
  int* const view = rank == 0 ? on_host.data() : sent.view;
  Quadrille_Request request;
  Quadrille_Alltoall_init(from, 50, MPI_INT, got.data, 50, MPI_INT, comm, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < size * 50; ++i) view[i] = value(rank, i / 50, i % 50, turn);
    check(Quadrille_Start_enqueue(&request, stream) == MPI_SUCCESS, "start");
    synchronize(stream);
    for (int i = 0; i < size * 50; ++i) check(got.view[i] == value(i / 50, rank, i % 50, turn), "memory of the host");
    MPI_Barrier(comm);
  }
  Quadrille_Request_free(&request);
}

int run(const char* library, const std::string& how) {
  load_device(library);
  is_led = how == "led";
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_starts(comm);
  check_two_streams(comm);
  check_both_ways(comm);
  check_late_peer(comm);
  check_opposite_orders(comm);
  check_communicator(comm);
  check_host_memory(comm);
  if (how != "explained") check_refusals(comm);
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return say_verdict();
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (begin_with_threads(&argc, &argv, MPI_THREAD_MULTIPLE) != MPI_THREAD_MULTIPLE) return 3;
  return run(argv[1], argv[2]);
}

}  // namespace enqueued_pull_check
