! Neighbours on a line with the old header.
program client_neighbors_mpif
  implicit none
  include 'mpif.h'
  external :: touch
  include 'client_neighbors.inc'
end program client_neighbors_mpif
