! Neighbours on a line with the module of MPI-2.
program client_neighbors_use_mpi
  use mpi
  implicit none
  external :: touch
  include 'client_neighbors.inc'
end program client_neighbors_use_mpi
