// Requests: calls that are started and completed apart, nonblocking and persistent ones. A request keeps its operation.
// Its messages have a tag of their own; inside a node a persistent one has rings of its own, and a nonblocking one
// takes its turn on a lane (team/own_rings.hpp). So ranks may start persistent requests in different orders, and a
// request's starts do not meet those of another.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "abi/functions.hpp"
#include "api/on_host.hpp"
#include "memory/device_streams.hpp"
#include "run/call.hpp"
#include "run/engines.hpp"
#include "run/op.hpp"
#include "run/under_way.hpp"
#include "team/leaders.hpp"
#include "team/own_rings.hpp"
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
    put_off,    // started, but nothing carries it out yet (api/taken.cpp)
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
  // The program called a function of the MPI's own name (api/taken.hpp): when this is complete the MPI is about to be
  // told, and the program knows by the MPI alone.
  bool taken;
  std::optional<quadrille::api::StayingAt>
      staying_at;  // if its blocks are on a device, and the MPI gets them as they are
  // Where the last start comes from.
  enum class From : std::uint8_t {
    host,
    fetching,  // the host, and what comes before anything moves is not done
    stream,    // the start is one of its turns, and nobody is told but the stream
  };
  quadrille::MpiRequest handle{};
  int handle_tag = 0;
  // The sequence number on its communicator, from 1 on, if some rank may have data on a device
  // (team/failed_copies.hpp).
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

  // Where run::UnderWay is held, unless it is alone.
  void start();
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

}  // namespace quadrille::api
