// Calls that the MPI refuses.
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
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

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

}  // namespace quadrille::api
