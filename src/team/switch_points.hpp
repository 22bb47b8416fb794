// The switch points of a team: from the tuning table of this machine, or the defaults.
#pragma once

#include "choose/tuning.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::team {

// Collective over `comm`, whose ranks share a node: rank 0 looks into its table, all get what it found.
// `crowded` counts on rank 0.
choose::SwitchPoints agree_on_switch_points(MPI_Comm comm, bool crowded);

// Of this machine, as tables name it.
choose::Machine this_machine();

}  // namespace quadrille::team
