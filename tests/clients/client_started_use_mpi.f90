! Calls that are started and completed apart, with the module of MPI-2.
program client_started_use_mpi
  use mpi
  implicit none
#ifdef KEPT_ALLTOALL
  external :: KEPT_ALLTOALL
#endif
  external :: touch
#include "client_started.inc"
end program client_started_use_mpi
