! A Fortran program with the module of MPI-2.
program client_use_mpi
  use mpi
  implicit none
  external :: touch
  include 'client_body.inc'
end program client_use_mpi
