// A part of a figure that not all ranks of the run take part in: the first ones do, the others sleep meanwhile.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille::tools {

// A communicator of the first ranks on them, and one of the others there; to be freed. Collective.
MpiComm first_ranks(int count);
// Returns when all ranks have come here. Who waits for long leaves its processor to others.
void sleep_until_all_are_here();

}  // namespace quadrille::tools
