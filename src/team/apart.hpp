// Making a communicator ready for nonblocking calls without waiting for anybody.
//
// Idea  A nonblocking function may not wait, but rank 0 can decide alone all that the ranks of one node must know:
// where
//       control memory and the lanes lie, and what was measured. It tells that in one MPI_Ibcast on the communicator,
//       which all ranks begin at the same of their calls. Until a rank has been told its nonblocking calls are put off;
//       nobody waits, and nothing goes another way on one rank than on another.
//       Where rank 0 finds no memory it tells that, and the calls are messages: on the private communicator of
//       MPI_COMM_WORLD, as making another one would wait, with tags that no other communicator has.
// Cost  One broadcast of `told_bytes` a communicator.
//
// Example, ranks 0 and 1, both at their fourth MPI_Ialltoall: both begin the broadcast, and this call is the MPI's.
// Rank 0 has the lanes from then on: its fifth call writes into them. Rank 1 makes its fifth call, which is put off; it
// has been told, finds what rank 0 wrote, and goes on.
#pragma once

#include <cstddef>
#include <span>

#include "team/team.hpp"

namespace quadrille::team {

inline constexpr std::size_t told_bytes = 8192;

// May that be done for this communicator? The same on all ranks, without asking them.
bool may_be_told(Team& team);

// Rank 0 decides, and writes what it tells. Then the others read it. Both make the team ready for nonblocking calls.
void decide_apart(Team& team, std::span<std::byte> told);
void learn_apart(Team& team, std::span<std::byte> told);

// If the broadcast is in flight, waits until it has arrived. Called where ranks may wait for each other.
void await_told(Team& team);
// The same where the communicator loses its attributes. Open MPI does that in MPI_Comm_free, where all ranks have begun
// the broadcast. MPICH does it when nothing is pending on the communicator any more, so that the broadcast has arrived;
// but that may be in any function, also in one by which we look at it.
void end_told(Team& team);

// The tags of calls, used in turn: more than the calls that are in flight together.
inline constexpr int tags_apart = 256;
inline int tag_apart(const Team& team, int request_tag) { return team.taken.first_tag + request_tag % tags_apart; }

}  // namespace quadrille::team
