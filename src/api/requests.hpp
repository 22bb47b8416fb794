// Requests: calls that are started and completed apart, nonblocking and persistent ones. A request keeps its operation.
// Its messages have a tag of their own; inside a node a persistent one has rings of its own, and a nonblocking one
// takes its turn on a lane (team/areas.hpp). So ranks may start persistent requests in different orders, and a
// request's starts do not meet those of another.
//
// Declared here, too, each with a source of its own: the thread that makes progress on requests (progress_thread.cpp),
// requests in streams of devices (enqueue.cpp), and requests under the names of the MPI's own functions (taken.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "abi/functions.hpp"
#include "api/serve.hpp"
#include "memory/device_streams.hpp"
#include "run/call.hpp"
#include "run/engines.hpp"
#include "run/op.hpp"
#include "run/under_way.hpp"
#include "team/areas.hpp"
#include "team/record.hpp"
#include "team/team.hpp"

struct Quadrille_Request_state final : quadrille::run::Pending {
  Quadrille_Request_state(quadrille::team::Team& of, bool is_persistent, bool is_taken)
      : team(quadrille::team::keep(of)), persistent(is_persistent), taken(is_taken) {}

  quadrille::team::KeptTeam team;  // first: all else is gone before it
  quadrille::run::KeptArguments arguments;
  quadrille::team::OwnLane own_lane;                       // of a persistent call
  std::optional<quadrille::team::OwnLeaders> own_leaders;  // likewise, if leaders carry it out
  std::unique_ptr<quadrille::run::RunMemory> run_memory;   // if messages do
  std::deque<const quadrille::run::Pending*>* queue =
      nullptr;                                          // of the lane on which a nonblocking call takes its turn
  std::unique_ptr<quadrille::api::OnHost> on_host;      // if the program has loaded a driver of a device
  std::unique_ptr<quadrille::memory::StreamTurn> turn;  // in a stream of a device, if it ever had one
  std::unique_ptr<quadrille::run::Op> op;               // carries the call out; null: no data move
  quadrille::run::InboxRun* inbox = nullptr;            // that of `op`, if it is one
  const bool persistent;
  // Where the last start is. From `complete` on a request may be started again or freed.
  enum class Stage : std::uint8_t {
    put_off,    // started, but nothing carries it out yet (taken.cpp)
    queued,     // its run has not begun: calls before it come first, or its data are fetched
    running,    // its run has begun
    returning,  // its run is done; the data may return to a device
    moved,      // all has moved on this rank
    complete,   // all is done; the program may not have asked yet
    idle,       // the program knows it, or nothing was started
  };
  // Who must help one that has begun, so that it goes on.
  enum class Needs : std::uint8_t {
    mpi,
    memory,  // any thread may go on with it
    asking,  // who asks for it: peers need no more of this rank than its start, so it is in no list
  };
  Needs needs = Needs::mpi;
  // Its run, if it is a persistent one that needs nothing but asking and cannot fail, here or on another rank: then it
  // takes the short way.
  quadrille::run::InboxRun* short_way = nullptr;
  // The program called a function of the MPI's own name (taken.cpp): when this is complete the MPI is about to be
  // told, and the program knows by the MPI alone.
  bool taken;
  Quadrille_Request_state* ended_before = nullptr;  // in the list of those that have ended (taken.cpp)
  std::optional<quadrille::api::StayingAt>
      staying_at;  // if its blocks are on a device, and the MPI gets them as they are
  // Where the last start comes from.
  enum class From : std::uint8_t {
    host,
    fetching,  // the host, and what comes before anything moves is not done
    stream,    // the start is one of its turns, and nobody is told but the stream
  };
  quadrille::MpiRequest handle{};  // the program's; null: it has none
  int handle_tag = 0;
  // The sequence number on its communicator, from 1 on, if some rank may have data on a device
  // (team/team.hpp).
  unsigned number = 0;
  std::uint64_t starts = 0;
  int error = quadrille::mpi_success;

  bool is_complete() const { return stage_.load(std::memory_order_acquire) >= Stage::complete; }
  // From a start until the program was told that it is complete. A start in a stream tells the stream alone.
  bool is_active() const { return stage() != Stage::idle && !in_stream(); }
  bool in_stream() const { return from_.load(std::memory_order_relaxed) == From::stream; }
  bool is_alone() const { return needs == Needs::asking; }
  // What is to be started is put off, until carry().
  void put_off() { set(Stage::put_off); }
  // What the program was told of, or never learns.
  void set_idle() { set(Stage::idle); }

  // Where run::UnderWay is held, unless it is alone. True if it is complete: another thread may have freed it by then.
  bool start();
  // The same of its next turn in a stream.
  void begin_turn();
  // The short way.
  void start_shortly();
  void end_shortly(int now) {
    error = now;
    set(now == quadrille::mpi_success ? Stage::idle : Stage::complete);
  }
  bool go_on(quadrille::run::With with) override;
  bool can_go_on(quadrille::run::With with) const override {
    const Stage now = stage();
    return now != Stage::put_off && (with == quadrille::run::With::mpi ||
                                     (needs != Needs::mpi && (now == Stage::running || now == Stage::returning)));
  }
  // Brings the data to the host before the MPI's own function is called, and tells the others if that fails. Waits: not
  // where run::UnderWay is held.
  void fetch();
  // The same of a start, in steps; what stays on the device is done there. Does not wait. `settled`: as
  // OnHost::begin_fetch().
  void begin_fetch(bool settled);
  // True when it is done, or nothing was begun.
  bool has_fetched();
  quadrille::run::Carrier carrier() const { return op != nullptr ? op->carrier : quadrille::run::Carrier::nothing; }
  // On the next lane.
  quadrille::team::Lane& take_turn(quadrille::team::Lanes& lanes) {
    quadrille::team::Lane& lane = lanes.lanes[lanes.calls++ % lanes.lanes.size()];
    queue = &lane.queue;
    return lane;
  }
  // In a stream it cannot be alone.
  void be_listed() {
    if (is_alone()) needs = calls_mpi() ? Needs::mpi : Needs::memory;
    short_way = nullptr;
  }
  // When it is known what carries it out.
  void look_what_it_needs();
  // One that was put off, when that is known: it was started before its data could be fetched.
  void carry() {
    set(Stage::queued);
    if (error == quadrille::mpi_success) begin_fetch_if_needed();
    if (queue != nullptr) queue->push_back(this);
  }

 private:
  Stage stage() const { return stage_.load(std::memory_order_relaxed); }
  void set(Stage stage) { stage_.store(stage, std::memory_order_relaxed); }
  int step();
  bool fetches() const { return from_.load(std::memory_order_relaxed) == From::fetching; }
  void set(From now) { from_.store(now, std::memory_order_relaxed); }
  bool calls_mpi() const { return op != nullptr && op->traits.calls_mpi; }
  void begin_fetch_if_needed();
  void tell_failed_fetch();
  bool moves(quadrille::run::With with);
  bool has_failed_copies(quadrille::run::With with);
  void begin_finish();
  bool is_watched() const;
  bool sends() const { return carrier() == quadrille::run::Carrier::messages; }
  // That all has moved. True if nothing is left to be done.
  bool tell(quadrille::run::With with);

  std::atomic<Stage> stage_ = Stage::idle;
  std::atomic<From> from_ = From::host;  // is_active() reads it without a lock
};

namespace quadrille::api {

using State = Quadrille_Request_state;

// Makes a request for a call that comes from `site`, and starts it if it is not `persistent`. Collective. What is wrong
// is raised.
int make_request(const run::Call& call, bool persistent, Quadrille_Request* request, const void* site);

// Starts a request that is not active.
int start(Quadrille_Request_state& request);
// The same; an error is stored and reported at completion. True if the request is in flight now.
bool begin(Quadrille_Request_state& request);

// If calls are recorded, records the start of a request from `site`, in a stream or by the host. A request that is in
// flight, or has nothing to record, is left out.
void record_start(record::Recorded& recorded, const Quadrille_Request* handle, record::Form form, const void* site);

// Makes progress on all pending calls.
void go_on_with_all();
// Waits until these are complete. A null one is.
void wait_until_complete(std::span<Quadrille_Request> requests);
// As Quadrille_Wait, which raises its errors then.
int wait_for(Quadrille_Request* request);
// After a look without success at these: ranks that share processors must let each other run.
void let_others_run(std::span<Quadrille_Request> requests);

// ---- The thread that makes progress on them (progress_thread.cpp) ----

// Before the first request is made: is there to be such a thread, and may several threads call us at all? Else nothing
// needs to be locked.
void prepare_progress();

// After that: is there one?
bool has_progress_thread();

// Starts one, if the program may call the MPI from several threads. Is there one now that may call it?
bool start_progress_thread();

// A call has been started.
void wake_progress_thread();

// ---- In streams of devices (enqueue.cpp). The first is called with the lock of run::UnderWay ----

// All of a turn has moved. True if no other one was enqueued.
bool end_turn(Quadrille_Request_state& request);
// Are there turns that are not over? Not with that lock.
bool has_turn(const Quadrille_Request_state& request);
// Before a request that has none is freed.
void forget_turns(Quadrille_Request_state& request);

// Takes back what is over: deletes what is not persistent. Then gives back what has waited for that
// (memory/held_memory.hpp). Not with the lock of run::UnderWay.
void sweep_turns();

// ---- Under the names of the MPI's own functions (taken.cpp) ----

// Makes a request for a call of a function of the MPI's name, and starts it if it is not persistent. False: all ranks
// call the MPI's function, and `ahead.why` says why, or this one calls it and is refused. What is wrong is raised, and
// is the `error`.
bool take(const run::Call& call, bool persistent, MpiRequest* request, int& error, CountedAhead& ahead);

// Where take() has returned false, and a driver is loaded: a call with a device's memory, which this MPI does not take,
// goes to its function with buffers of the host. Null: as it is. Else the caller makes the MPI's own request for the
// call on the host, and hands it in. What completes it must be our doors then, where the MPI lets nobody make progress
// on calls while the program waits in it.
using ByHost = std::unique_ptr<Quadrille_Request_state>;
// `error`: what is to be raised when that is done.
ByHost take_by_host(const run::Call& call, bool persistent, int& error);
int hand_in(ByHost made, MpiComm comm, MpiRequest native, int error, MpiRequest* request);

// All of the last start of a request has moved: the MPI may say so to the program. Without a handle of the program a
// nonblocking one ends here. From any thread that may call the MPI.
void tell_the_mpi(Quadrille_Request_state& request);

// Collective, and waits: in MPI_Init, in blocking calls on communicators that want it, when persistent requests are
// made. From then on nonblocking calls on the communicator can be served, if all resources are available.
void get_ready_to_take(team::Team& team);
void get_world_ready_to_take();
// After a nonblocking call that all ranks forwarded for want of what it needs: that is to be made, or is begun.
void want_to_be_ready(const run::Call& call);
inline bool wants_to_be_ready(const team::Team& team) { return team.taken.now() == team::Team::Taken::Stage::wanted; }
// In a call of the MPI out of which no rank comes before all are in it: if `comm` wants it. The call is made in spite
// of an error.
inline std::atomic<bool> some_wanted = false;
int get_ready_in_a_barrier(MpiComm comm);
// Before the program frees a communicator: waits until a broadcast in flight on it has arrived.
void await_told_on(MpiComm comm);

// What the doors of MPI's completion functions need.

// How many handles of the MPI are ours.
inline std::atomic<std::size_t> taken_now = 0;
inline bool any_taken() { return taken_now.load(std::memory_order_relaxed) != 0; }
// The request that is behind a handle of the MPI; null if it is none of ours.
Quadrille_Request_state* taken_behind(MpiRequest handle);
// Lets its handle be known. Throws std::bad_alloc. A handle that is known already is one that the MPI has used again:
// what was behind it is gone.
void show_taken(Quadrille_Request_state& request);
// Forgets its handle, if no other request is behind it: the MPI is about to free it, and may give it to another one.
void hide_taken(const Quadrille_Request_state& request);
// From now on the MPI makes progress on pending calls in all of its functions, if it calls us there.
void let_the_mpi_help();
// Starts a persistent one, whose receive has been started.
void start_taken(Quadrille_Request_state& request);
// Frees a persistent one that is not active, whose receive has been freed.
void free_taken(Quadrille_Request_state& request);

// A request of ours that may end in an error in a function of the MPI that completes requests.
struct MayFail {
  MpiRequest handle;
  Quadrille_Request_state* request;  // gone when the MPI has completed it and it is not persistent
  bool persistent;
  std::size_t at;           // its index in the list of the program
  int fault = mpi_success;  // if it has one,
  MpiComm comm{};           // and where the fault is raised

  void keep_fault(const Quadrille_Request_state& of) {
    fault = of.error;
    comm = of.team->user;
  }
};
// Those of the innermost door on this thread. Faults of nonblocking ones, which the MPI completes on this thread, are
// kept there, and the MPI is not told.
std::span<MayFail>& may_fail_here();

}  // namespace quadrille::api
