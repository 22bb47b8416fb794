// A call through the leaders of the nodes: the engine that carries plan::LeadersPlan out.
#pragma once

#include "plan/leaders.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Carries an alltoall, allgather or allgatherv out, whose block sizes all ranks know. Blocks that are larger than a place
// of the area go in several turns, piece by piece. `group.leaders` must be usable on all ranks. Returns an MPI error
// code.
int run_leaders(const Call& call, const plan::LeadersPlan& plan, Group& group);

}  // namespace quadrille::run
