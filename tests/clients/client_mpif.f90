! Fortran programs with the old header or, with WITH_MODULE, the module of MPI-2. The first argument says which one; without
! one it makes blocking calls.
#ifdef WITH_MODULE
#define OF_THE_MODULE use mpi
#define OF_THE_HEADER
#else
#define OF_THE_MODULE
#define OF_THE_HEADER include 'mpif.h'
#endif

subroutine run_blocking
  OF_THE_MODULE
  implicit none
  OF_THE_HEADER
  external :: touch
  include 'client_body.inc'
end subroutine run_blocking

subroutine run_neighbors
  OF_THE_MODULE
  implicit none
  OF_THE_HEADER
  external :: touch
  include 'client_neighbors.inc'
end subroutine run_neighbors

subroutine run_started
  OF_THE_MODULE
  implicit none
  OF_THE_HEADER
  external :: touch
#include "client_started.inc"
end subroutine run_started

#ifdef KEPT
! With a persistent request among them.
#define KEPT_ALLTOALL KEPT
subroutine run_kept
  OF_THE_MODULE
  implicit none
  OF_THE_HEADER
  external :: KEPT_ALLTOALL
  external :: touch
#include "client_started.inc"
end subroutine run_kept
#endif

program client_mpif
  implicit none
  character(len=16) :: form
  call get_command_argument(1, form)
  select case (form)
  case ('neighbors')
    call run_neighbors
  case ('started')
    call run_started
#ifdef KEPT
  case ('kept')
    call run_kept
#endif
  case default
    call run_blocking
  end select
end program client_mpif
