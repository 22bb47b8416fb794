! A Fortran program whose counts and displacements are of the large kinds (MPI 4, mpi_f08).
program client_large_f08
  use mpi_f08
  implicit none
  integer, parameter :: turns = 12, most = 16, ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
  integer :: rank, nranks, turn, p, wrong, total_wrong, before(1), after(1)
  integer, asynchronous :: sends(most), recvs(most)
  integer(kind=ck) :: counts(most), one
  integer(kind=ak) :: places(most), bytes(most)
  type(MPI_Datatype) :: types(most)
  type(MPI_Comm) :: comm, ring

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, nranks)
  before(1) = modulo(rank - 1, nranks)
  after(1) = modulo(rank + 1, nranks)
  call MPI_Dist_graph_create_adjacent(comm, 1, before, MPI_UNWEIGHTED, 1, after, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., ring)
  wrong = 0
  one = 1
  counts = 1
  types = MPI_INTEGER
  do turn = 1, turns
    do p = 1, nranks
      sends(p) = value(rank, p - 1)
      places(p) = p - 1
      bytes(p) = 4 * (p - 1)
    end do

    recvs = -1
    call MPI_Alltoall(sends, one, MPI_INTEGER, recvs, one, MPI_INTEGER, comm)
    call check_transposed()
    recvs(1:nranks) = sends(1:nranks)
    call MPI_Alltoall(MPI_IN_PLACE, one, MPI_INTEGER, recvs, one, MPI_INTEGER, comm)
    call check_transposed()
    call MPI_Alltoallv(sends, counts, places, MPI_INTEGER, recvs, counts, places, MPI_INTEGER, comm)
    call check_transposed()
    call MPI_Alltoallw(sends, counts, bytes, types, recvs, counts, bytes, types, comm)
    call check_transposed()

    call MPI_Allgather(sends, one, MPI_INTEGER, recvs, one, MPI_INTEGER, comm)
    call check_gathered()
    call MPI_Allgatherv(sends, one, MPI_INTEGER, recvs, counts, places, MPI_INTEGER, comm)
    call check_gathered()

    call MPI_Neighbor_alltoall(sends, one, MPI_INTEGER, recvs, one, MPI_INTEGER, ring)
    call check_from_before()
    call MPI_Neighbor_alltoallv(sends, counts, places, MPI_INTEGER, recvs, counts, places, MPI_INTEGER, ring)
    call check_from_before()
    call MPI_Neighbor_alltoallw(sends, counts, bytes, types, recvs, counts, bytes, types, ring)
    call check_from_before()
    call MPI_Neighbor_allgather(sends, one, MPI_INTEGER, recvs, one, MPI_INTEGER, ring)
    call check_from_before()
    call MPI_Neighbor_allgatherv(sends, one, MPI_INTEGER, recvs, counts, places, MPI_INTEGER, ring)
    call check_from_before()
  end do
  call MPI_Allreduce(wrong, total_wrong, 1, MPI_INTEGER, MPI_SUM, comm)
  if (rank == 0) print '(i0,a,i0,a)', nranks, ' ranks, ', total_wrong, ' wrong values'
  call MPI_Comm_free(ring)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  if (total_wrong /= 0) error stop 1

contains

  integer function value(from, to)
    integer, intent(in) :: from, to
    value = turn * 10000 + from * 100 + to
  end function value

  subroutine check_transposed()
    do p = 1, nranks
      if (recvs(p) /= value(p - 1, rank)) wrong = wrong + 1
    end do
    recvs = -1
  end subroutine check_transposed

  subroutine check_gathered()
    do p = 1, nranks
      if (recvs(p) /= value(p - 1, 0)) wrong = wrong + 1
    end do
    recvs = -1
  end subroutine check_gathered

  subroutine check_from_before()
    if (recvs(1) /= value(before(1), 0)) wrong = wrong + 1
    recvs = -1
  end subroutine check_from_before
end program client_large_f08
