! Calls that are started and completed apart, with the old header.
program client_started_mpif
  implicit none
  include 'mpif.h'
#ifdef KEPT_ALLTOALL
  external :: KEPT_ALLTOALL
#endif
  external :: touch
#include "client_started.inc"
end program client_started_mpif
