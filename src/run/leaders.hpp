// A call through the leaders of the nodes: the engine that carries plan::LeadersPlan out.
#pragma once

#include "plan/leaders.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Carries a call out. Blocks whose sizes all ranks know, and that are larger than a place of the area, go in several turns,
// piece by piece; other large ones as messages of their own. `group.leaders` must be usable on all ranks. Returns an MPI
// error code.
int run_leaders(const Call& call, const plan::LeadersPlan& plan, Group& group);

// The same of a plan for uneven blocks.
int run_uneven_leaders(const Call& call, const plan::LeadersPlan& plan, Group& group);

// Messages of scattered bytes, of so many, are copied together; of larger ones a datatype is made.
inline constexpr std::size_t packed_up_to = 16384;

// The most bytes that a place of the area may have, on all nodes.
std::size_t most_a_place(const plan::LeadersPlan& plan);

}  // namespace quadrille::run
