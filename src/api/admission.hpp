// Whether Quadrille serves a call, and by which algorithm. Blocking calls, requests, enqueued calls and the MPI's own
// nonblocking and persistent functions all ask here, and all ranks decide alike.
//
// admit() asks in this order:
//   lost       does this rank know what the others go by?
//   refused    are its arguments sound?
//   told       is a broadcast in flight that this call must await (team/apart.hpp)?
//   kept       does the last answer of the ranks to each other hold?
//   served     is anything served on the communicator, is it time to make it ready, and is that possible?
//   sizes      are the sizes of the blocks those that the user asserts?
// select() then names the algorithm. That of Engine::mpi is the MPI's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "run/call.hpp"
#include "team/record_file.hpp"
#include "team/team.hpp"

namespace quadrille::api {

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
  // to the MPI (api/taken.hpp). Our own ones wait in the first call on a communicator (docs/requests.md).
  bool never_waits() const { return is_drop_in() && form == record::Form::nonblocking; }
  // Some ranks may have put it off until nobody can call the MPI's function any more (team/apart.hpp).
  bool must_serve(const team::Team& team) const { return never_waits() && team.taken.by_broadcast(); }
};

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
  bool is_of_the_mpi() const { return outcome == Outcome::refused || outcome == Outcome::forwarded; }
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

}  // namespace quadrille::api
