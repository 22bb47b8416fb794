! A Fortran program with the old header.
program client_mpif
  implicit none
  include 'mpif.h'
  external :: touch
  include 'client_body.inc'
end program client_mpif
