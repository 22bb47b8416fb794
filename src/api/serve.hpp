// How a call is served: whether, by which algorithm, and its way from a door through the rooms. Blocking calls,
// requests, enqueued calls and the MPI's own nonblocking and persistent functions all ask here, and all ranks decide
// alike.
//
// serve() takes a blocking call through these; requests go the same way (making.cpp):
//   admit()           whether Quadrille serves it (admission.cpp). Asks in this order:
//     lost              does this rank know what the others go by?
//     refused           are its arguments sound?
//     told              is a broadcast in flight that this call must await (team/setup.hpp)?
//     unasked           does the last answer of the ranks to each other hold?
//     served            is anything served on the communicator, is it time to make it ready, and is that possible?
//     sizes             are the sizes of the blocks those that the user asserts?
//   select()          names the algorithm. That of Engine::mpi is the MPI's.
//   begin_attempt()   takes another one, where several are tried (trials.cpp)
// Then the engine of the algorithm carries the call out (api/engines.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "api/on_host.hpp"
#include "choose/trial.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"
#include "run/bound_run.hpp"
#include "run/call.hpp"
#include "team/record_file.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// ---- How a call comes ----

// The drop-in door serves programs that know nothing of us: a communicator is set up only when it has
// been used a few times. The explicit door sets it up at the first call.
enum class Door { explicit_api, drop_in };

// Whether a function of the MPI with int counts can carry it out on all ranks: with one count for all blocks a rank may
// give larger elements instead, whatever the others do.
inline bool fits_the_mpi(const run::Call& call) { return !call.large || is_regular(call.collective); }

// How a call comes.
struct Entry {
  Door door = Door::explicit_api;
  record::Form form = record::Form::blocking;

  bool is_drop_in() const { return door == Door::drop_in; }
  bool is_request() const { return form != record::Form::blocking; }
  bool is_persistent() const { return form == record::Form::persistent; }
  // It begins when a stream of a device has come to it, which may be after later calls.
  bool is_enqueued() const { return form == record::Form::enqueued; }
  // A request for which the MPI cannot stand in: it would have to be called in the order of all ranks' calls, or its
  // function takes no large counts.
  bool is_ours(const run::Call& call) const {
    return is_request() && !is_drop_in() && (is_persistent() || is_enqueued() || !fits_the_mpi(call));
  }
  // It may not wait for another rank: MPI's nonblocking functions never do. What such a call needs is there, or it goes
  // to the MPI (api/taken.cpp). Our own ones wait in the first call on a communicator (docs/requests.md).
  bool never_waits() const { return is_drop_in() && form == record::Form::nonblocking; }
  // Some ranks may have put it off until nobody can call the MPI's function any more (team/setup.hpp).
  bool must_serve(const team::Team& team) const { return never_waits() && team.taken.by_broadcast(); }
};

// How the exchange by pairs takes large blocks by this choice; Way::measured if its algorithm has no such parameter.
choose::Way way_of(const choose::Choice& choice);

// ---- Calls that the MPI refuses ----
//
// Idea  The MPI returns a mistake in the arguments on the rank that made it, before anything is sent. The other ranks
//       know of no call, and a program may handle the error and continue. So a refused call leaves no trace: nothing is
//       counted, begun or made for it, whatever its form.
//         is_refused()   finds the mistakes that every MPI reports. Each form asks it before anything else.
//         CountedAhead   covers what only some MPIs check. A call that is forwarded notes what it has counted, and
//                        what is to be counted; keep_or_undo() keeps or undoes that by what the MPI returned.
//
// Example, the second call of rank 1 has a count of -1, and its third call is the same without the mistake:
//       rank 0   call, call            2 are counted
//       rank 1   call, refused, call   2 are counted: both ranks set the communicator up in the same call

// Does the MPI refuse the call for an argument of this rank? The MPI is left to report that. Not collective.
bool is_refused(const run::Call& call, team::Team& team);

// What a forwarded call has counted, and what it will count, by what all ranks decide alike.
struct CountedAhead {
  struct Change {
    int* number;
    int back;  // is added if the MPI refuses the call
  };
  static constexpr std::size_t most = 6;
  std::array<Change, most> changes;  // the first `changed`
  std::size_t changed = 0;
  std::uint64_t* passed = nullptr;  // counts why the call was forwarded
  team::Team* team = nullptr;       // whose all these numbers are; null: the communicator has none
  bool early = false;               // is one of the first calls on its communicator
  Reason why = Reason::other;       // of a nonblocking or persistent call
  bool wants = false;               // a nonblocking call that was forwarded because its communicator is not ready

  CountedAhead() {}  // leaves `changes` as it is: most calls have none

  void note(int& number, int back) {
    if (changed < most) changes[changed++] = {&number, back};
  }
};

// After a forwarded call: `error` is what the MPI returned. False if the MPI refused the call, or the error handler of
// the program has freed the communicator: then nothing is left to count.
bool keep_or_undo_at_length(const CountedAhead& ahead, const run::Call& call, int error);
inline bool stays_as_counted(const CountedAhead& ahead, int error) {
  return error == mpi_success && !ahead.early && !ahead.wants;
}
inline bool keep_or_undo(const CountedAhead& ahead, const run::Call& call, int error) {
  return stays_as_counted(ahead, error) || keep_or_undo_at_length(ahead, call, error);
}

// Around the MPI's function, in which an error handler of the program may throw or end the thread: that handles the
// error of a call that was refused.
class UndoUnlessReturned {
 public:
  UndoUnlessReturned(const CountedAhead& ahead, MpiComm comm) : ahead_(ahead), comm_(comm) {}
  UndoUnlessReturned& operator=(UndoUnlessReturned&&) = delete;
  ~UndoUnlessReturned() {
    if (!returned) [[unlikely]]
      undo();
  }
  bool returned = false;

 private:
  void undo() const;
  const CountedAhead& ahead_;
  MpiComm comm_;
};

// ---- Calls that are admitted ----

struct Admission {
  enum class Outcome : std::uint8_t {
    admitted,
    refused,    // the MPI's, which reports a mistake of this rank
    forwarded,  // the MPI's, on all ranks
    failed,     // nobody's
  };
  Outcome outcome = Outcome::admitted;
  Reason why = Reason::none, counted = Reason::none;  // of a call of the MPI
  int error = mpi_success;                            // of a failed call, and of one that is_ours() and not admitted
  bool is_of_the_mpi() const;
};

// Collective unless the call is refused. Makes the communicator ready, unless the call may not wait or is not worth it.
// Explains why a blocking call goes to the MPI; nothing is counted but in `ahead`, which requests do not need. A
// request under the MPI's name has been looked at for mistakes by take().
Admission admit(const run::Call& call, team::Team& team, Entry entry, CountedAhead* ahead = nullptr);

// Bytes of the largest block as all ranks know it; 0 if they do not, as in the v and w forms.
std::size_t global_bytes(const run::Call& call, team::Team& team);

// On no rank; and no rank need wait for another.
bool moves_nothing(const run::Call& call, std::size_t bytes);

// What carries an admitted call with blocks of global_bytes(). Collective where some ranks may have their data in a
// device's memory: such calls have choices of their own (choose/select.hpp, select_for_devices). What a rank gives is a
// matter of its own; all choose alike, and what an algorithm cannot take where it is goes over the host.
team::CachedSelection& select(const run::Call& call, std::size_t bytes, team::Team& team, Entry entry,
                              CountedAhead* ahead = nullptr);

// ---- For doors that ask only some of this ----

// Does this rank see a mistake in the arguments? Of blocking calls and those under the MPI's names only if the call may
// be served, else the MPI alone looks.
bool has_mistake(const run::Call& call, team::Team& team, Entry entry);
// Is this one of the first calls on a communicator that could be made ready? They are forwarded, and counted if the MPI
// takes them.
bool comes_early(const team::Team& team, Door door);
// How many calls on a communicator are forwarded before it has a team. Nobody must want to know about them.
int uncounted_calls(Door door);

// Collective: makes the communicator ready for messages or, with fault tolerance, for what needs none.
// Communicators that other collectives leave to the MPI, of one rank or with ranks of several worlds, are made ready,
// too. Returns an MPI error code.
int prepare_neighbors(team::Team& team);
// None if Quadrille may serve neighbour collectives on it, else why not.
Reason why_no_neighbors(team::Team& team);

// ---- What goes to the MPI ----

// Prints, where the user wants to know, that a request is carried out so and why.
void explain_request(team::Team& team, const run::Call& call, record::Form form, const char* algorithm, Why why);
// Counts a call that goes to the MPI, and why; `ahead` undoes that. Returns false.
bool pass(team::Team& team, Reason why, CountedAhead& ahead);
// Why, if the MPI was chosen.
Reason why_chosen(const team::Team& team);

// ---- Which of several algorithms is the fastest (trials.cpp) ----
//
// Calls find that out by trying the algorithms (choose/trial.hpp). A v or w call may ask the cost model instead, by
// what all ranks agree that the call moves.

// A call of a program, while it runs; it may be one of a trial's.
struct Attempt {
  choose::Trial* trial = nullptr;  // null: it is none
  const choose::Choice* choice = nullptr;
  // If the call is the MPI's and a device's memory is in it: over which memory of the host it goes, whatever the MPI
  // takes.
  choose::HostBuffers buffers = choose::HostBuffers::as_suits;
  CountedAhead ahead;  // if the call is forwarded
};

// Collective over a team that is ready, for a call whose selection has rivals. When all was tried, the ranks agree on
// what was best: then the selection is settled, and the call has no trial, until that is checked. `bytes`: as in
// choose::GlobalKey. If the MPI refuses the call, this comes again in the one that follows, and must find nothing to
// do: what was counted is undone.
void begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached,
                   Attempt& attempt);
// For a request, which tries nothing: its selection becomes what calls like it have decided last, if they have. Which
// selections a rank has kept, and which it made anew, no other rank knows.
void go_by_decision(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached);
// When the call is done, by whoever carried it out.
void end_attempt(const Attempt& attempt);

// ---- By the model ----

// Collective over an eligible team that is ready, for a call whose selection says `by_load`: its choice, that of the
// last call, becomes the model's for this one. After the same answer several times in a row the next calls keep it
// without asking (choose/asking.hpp). Returns an MPI error code.
int choose_by_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, CountedAhead& ahead);

// ---- Switch points inside a node (trials.cpp) ----

// Collective over a team that is ready and whose points are guessed, which they are not afterwards. Takes some hundred
// calls of an all-to-all and an allgather: with two ranks about a millisecond. What is found counts for all teams of
// this process with about as many ranks.
//
// Where ranks share processors, only large blocks of private memory are measured, with fewer calls.
void calibrate(team::Team& team);

// ---- The way of a call ----

// While we serve a call, collectives that the MPI calls by itself go straight to it. That is so on
// this thread while there is one of these.
struct Serving {
  Serving();
  Serving& operator=(Serving&&) = delete;
  ~Serving();

 private:
  const bool before_;
};
bool is_serving();

// Serves a call, or returns false: then the caller hands it to the MPI unchanged, and ends the attempt when that is
// done. When it returns true, `error` is what the collective returns; errors have been raised through the error
// handler.
bool serve(const run::Call& call, Door door, int& error, Attempt& attempt);

// A call that goes to the MPI's own function where a driver of a device is loaded: with buffers of the host in the
// place of a device's, if it has any and the MPI takes none, or `buffers` says so. Null: as it is. `team` is that of
// its communicator, or null if no rank can have brought its data to the host. Throws std::bad_alloc.
std::unique_ptr<OnHost> on_host_for_the_mpi(const run::Call& call, choose::HostBuffers buffers, team::Team*& team);

// What the call's error becomes if a rank has told that it could not bring its data to the host
// (team/team.hpp). `is_counted`: as team::number_of_call().
int with_failed_copies(team::Team* team, int error, bool is_counted, bool may_look);

// Brings the data to the host, and tells the others if that fails.
inline void fetch(OnHost& on_host, team::Team& team, bool is_counted) {
  if (!on_host.fetch()) team::tell_failed(team, team::number_of_call(team, is_counted));
}

// Makes a call that is not counted yet by `run`, with buffers of the host where its own are a device's. Returns an MPI
// error code.
template <class Run>
int run_over_host(OnHost& on_host, team::Team& team, const Run& run) {
  fetch(on_host, team, false);
  return on_host.finish(with_failed_copies(&team, run(on_host.call()), false, on_host.is_needed()));
}

// How many blocks the sides of a call have on this rank; none where the MPI is to find out what is wrong with the
// communicator.
struct BlockNumbers {
  int send = 0, recv = 0;
};
BlockNumbers blocks_of(const run::Call& call, team::Team& team);
// Those of them that hold data on this rank. A Cartesian communicator may lack neighbours.
UsedBlocks used_blocks(const run::Call& call, team::Team& team);

// The same of a call as it comes.
template <class Run>
int run_over_host(const run::Call& call, team::Team& team, choose::HostBuffers buffers, const Run& run) {
  if (memory::device_driver() == nullptr) return with_failed_copies(&team, run(call), false, false);
  OnHost on_host(call, used_blocks(call, team), buffers);
  return run_over_host(on_host, team, run);
}

// ---- Errors ----
//
// An error handler of the program may throw a C++ exception or end its thread. So no handler is called while frames of
// ours wait for it to return: raise() notes the error, and the door calls the handler as its last act.

// Notes an error for leave(). The first one counts. Returns `error`.
int raise(MpiComm comm, int error);
// The same of an error that a function of the MPI has returned to us instead of calling the handler.
int raise_of_the_mpi(MpiComm comm, int error);
// Calls the error handler for what was noted. If the handler returns, returns `error`, or what the MPI returns then.
[[gnu::cold, gnu::noinline]] int call_noted_handler(int error);
// The end of each door: `return leave(...)`. The MPI has called the handler for errors of its own functions.
[[gnu::always_inline]] inline int leave(int error) { return error == mpi_success ? error : call_noted_handler(error); }

// Calls a function of the MPI on `comm`. A handler of the program is called by the door, after our frames have
// returned: it may throw, and some MPIs hide an error that such a handler was given.
template <class Forward>
int handled_later(MpiComm comm, Forward forward) {
  if (!has_own_handler(comm)) return forward();
  int error = mpi_success;
  {
    const ErrorsReturned guard(comm);
    error = forward();
  }
  return error == mpi_success ? error : raise_of_the_mpi(comm, error);
}

// With fault tolerance, errors on `comm` are returned while this lives: a fault that ends a question of ours becomes
// the error of the call, and the program's handler sees it only then.
struct FaultsReturned {
  explicit FaultsReturned(MpiComm comm) {
    if (team::watches_faults()) returned.emplace(comm);
  }
  std::optional<ErrorsReturned> returned;
};

// Collective: MPI_SUCCESS if all ranks give the same, and it is `sound` here; else MPI_ERR_ARG or, where the MPI itself
// has failed instead, its error. A rank that `tells` says what is `wrong` with `what`.
int error_unless_alike(MpiComm comm, std::uint64_t given, bool sound, bool tells, std::string_view what,
                       std::string_view wrong);

// Forwards a call that has counted something. The error is known also where the MPI hides it.
template <class Forward>
int error_of(MpiComm comm, const CountedAhead& ahead, Forward forward) {
  const bool has_counted = ahead.early || ahead.wants || ahead.changed > 0;
  return hides_handled_errors() && has_counted ? handled_later(comm, forward) : forward();
}

// Does the `work` of a door, which returns an MPI error code. What it throws is raised: the others may be in the middle
// of the call, so it cannot go to the MPI. `work` calls functions of the MPI that may fail by handled_later(): an
// exception of the program would be taken for one of ours.
template <class Work>
[[gnu::noinline]] int guarded(MpiComm comm, Work&& work) {
  int error = mpi_success;
  const int thrown = thrown_by([&] { error = work(); });
  return thrown == mpi_success ? error : raise(comm, team::error_of_thrown(comm, thrown));
}

}  // namespace quadrille::api
