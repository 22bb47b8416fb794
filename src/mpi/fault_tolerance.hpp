// Does the MPI let a program survive the death of a process?
#pragma once

namespace quadrille {

// As this process is set up, for example by `mpirun --with-ft ulfm` or a file of settings. MPI must be initialised.
bool tolerates_faults();

}  // namespace quadrille
