// Does the MPI let a program survive the death of a process, and what does it say of a communicator then?
#pragma once

#include <vector>

#include "mpi/words.hpp"

namespace quadrille {

// As this process is set up, for example by `mpirun --with-ft ulfm` or a file of settings. MPI must be initialised.
bool tolerates_faults();

// Whether this rank's MPI knows of a failed rank of `comm`. Only where reports_faults() (mpi/mpi.hpp). `among`: the
// ranks of `comm` that count; empty: all of them. Does not wait.
bool has_failed_rank(MpiComm comm, const std::vector<int>& among = {});

}  // namespace quadrille
