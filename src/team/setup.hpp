// Making a communicator ready: agreement on settings, node map, inboxes. setup() (team/team.hpp) does that where ranks
// may wait for each other, and prepare_apart() for nonblocking calls, without waiting for anybody.
//
// Idea  A nonblocking function may not wait, but rank 0 can decide alone all that the ranks of one node must know:
//       where control memory and the lanes lie, and what was measured. It tells that in one MPI_Ibcast on the
//       communicator, which all ranks begin at the same of their calls. Until a rank has been told its nonblocking
//       calls are put off; nobody waits, and nothing goes another way on one rank than on another. Where rank 0 finds
//       no memory it tells that, and the calls are messages: on the private communicator of MPI_COMM_WORLD, as making
//       another one would wait, with tags that no other communicator has.
// Cost  One broadcast of `told_bytes` a communicator.
//
// Example, ranks 0 and 1, both at their fourth MPI_Ialltoall: both begin the broadcast, and this call is the MPI's.
// Rank 0 has the lanes from then on: its fifth call writes into them. Rank 1 makes its fifth call, which is put off; it
// has been told, finds what rank 0 wrote, and goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "team/team.hpp"

namespace quadrille::team {

inline constexpr std::size_t told_bytes = 8192;

// How rank 0 tells the other ranks of a communicator what it has decided, when the communicator is made ready.
//
// Either all of them wait for each other in broadcasts; or rank 0 goes through all of it at once and writes down what
// it tells, that is sent in one message, and each of the others goes through the same and reads it, when it has come.
// Example: setup_by() tells 320 bytes, then 0 of text, then 0 of a list; rank 0 writes 320 bytes, the others read 320.
class Telling {
 public:
  // In broadcasts.
  explicit Telling(Team& team) : team_(&team) {}
  // In one message, which rank 0 writes and the others read.
  Telling(std::span<std::byte> message, bool writes) : rest_(message), writes_(writes) {}
  // `bytes` at `data`, which become those of rank 0. All ranks tell the same in the same order.
  void tell(void* data, std::size_t bytes);
  // Of what a tuning table has: more than this is not to be told. Rank 0 alone looks into one. Half of what there is in
  // a message: the rest is told whatever a table has.
  std::size_t most_bytes() const { return team_ != nullptr ? SIZE_MAX : rest_.size() / 2; }
  // May ranks find out more of each other while they are at it?
  bool may_meet() const;

 private:
  Team* const team_ = nullptr;  // null: in one message
  std::span<std::byte> rest_;
  const bool writes_ = false;
};

// May it be made ready without waiting? The same on all ranks, without asking them.
bool may_be_told(Team& team);

// Makes the team ready for nonblocking calls, in one message: rank 0 decides and writes it, then the others read it.
void prepare_apart(Team& team, Telling telling);

// If the broadcast is in flight, waits until it has arrived. Called where ranks may wait for each other.
void await_told(Team& team);
// The same where the communicator loses its attributes, if the program has freed it past our doors. Open MPI does that
// in MPI_Comm_free, where all ranks have begun the broadcast. MPICH does it when nothing is pending on the communicator
// any more, so that the broadcast has arrived; but that may be in any function, also in one by which we look at it.
void end_told(Team& team);

// The tags of calls, used in turn: more than the calls that are in flight together.
inline constexpr int tags_apart = 256;
inline int tag_apart(const Team& team, int request_tag) { return team.taken.first_tag + request_tag % tags_apart; }

}  // namespace quadrille::team
