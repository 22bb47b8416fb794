// Does the MPI let a program survive the death of a process, and what does it say of a communicator then?
#pragma once

#include <vector>

#include "mpi/words.hpp"

namespace quadrille {

// As this process is set up, for example by `mpirun --with-ft ulfm` or a file of settings. MPI must be initialised.
bool tolerates_faults();

// Whether the MPI reports failures. Open MPI 5 does; MPICH and Intel MPI do not tell whether a communicator is revoked.
bool reports_faults();

// Where it can: what this rank's MPI knows of a communicator. Neither waits.
bool is_revoked(MpiComm comm);
// `among`: the ranks of `comm` that count; empty: all of them.
bool has_failed_rank(MpiComm comm, const std::vector<int>& among = {});
// Its error codes for that, MPIX_ERR_PROC_FAILED and MPIX_ERR_REVOKED, in Open MPI from 5.0 on, whose codes are its
// classes. Its releases before have no such names, and other MPIs are not asked.
constexpr int err_proc_failed() { return 75; }
constexpr int err_revoked() { return 77; }

}  // namespace quadrille
