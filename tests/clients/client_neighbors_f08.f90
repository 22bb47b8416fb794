! Neighbours on a line with the module of MPI-3; see client_neighbors.inc.
program client_neighbors_f08
  use mpi_f08
  implicit none
  external :: touch
  integer, parameter :: turns = 12
  integer :: rank, nranks, turn, i, wrong, total_wrong
  integer, asynchronous :: sends(2), recvs(2)
  integer :: from(2), counts(2), displs(2)
  type(MPI_Datatype) :: from_types(2), to_types(2)
  type(MPI_Comm) :: line
  integer(kind=MPI_ADDRESS_KIND) :: zeros(2), address(1)
  integer :: ones(1), dims(1)
  logical :: periods(1)

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  dims(1) = nranks
  periods(1) = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., line)
  call MPI_Comm_rank(line, rank)
  call MPI_Cart_shift(line, 0, 1, from(1), from(2))
  wrong = 0
  ones(1) = 1
  counts = 1
  displs(1) = 1
  displs(2) = 0
  zeros = 0
  do turn = 1, turns
    do i = 1, 2
      sends(i) = turn * 10000 + rank * 100 + i
    end do

    recvs = -1
    call MPI_Neighbor_alltoall(sends, 1, MPI_INTEGER, recvs, 1, MPI_INTEGER, line)
    call check(recvs(1), recvs(2), 2, 1)

    ! Both orders turned round.
    recvs = -1
    call MPI_Neighbor_alltoallv(sends, counts, displs, MPI_INTEGER, recvs, counts, displs, &
                                MPI_INTEGER, line)
    call check(recvs(2), recvs(1), 1, 2)

#ifndef WITHOUT_ALLTOALLW
    recvs = -1
    do i = 1, 2
      call MPI_Get_address(sends(i), address(1))
      call MPI_Type_create_hindexed(1, ones, address, MPI_INTEGER, from_types(i))
      call MPI_Type_commit(from_types(i))
      call MPI_Get_address(recvs(i), address(1))
      call MPI_Type_create_hindexed(1, ones, address, MPI_INTEGER, to_types(i))
      call MPI_Type_commit(to_types(i))
    end do
    call MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, zeros, from_types, MPI_BOTTOM, counts, zeros, &
                                to_types, line)
    call touch(sends, recvs)
    call check(recvs(1), recvs(2), 2, 1)
    do i = 1, 2
      call MPI_Type_free(from_types(i))
      call MPI_Type_free(to_types(i))
    end do
#endif

    recvs = -1
    call MPI_Neighbor_allgather(sends, 1, MPI_INTEGER, recvs, 1, MPI_INTEGER, line)
    call check(recvs(1), recvs(2), 1, 1)
    recvs = -1
    call MPI_Neighbor_allgatherv(sends, 1, MPI_INTEGER, recvs, counts, displs, MPI_INTEGER, line)
    call check(recvs(2), recvs(1), 1, 1)
  end do
  call MPI_Allreduce(wrong, total_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0,a,i0,a)', nranks, ' ranks, ', total_wrong, ' wrong values'
  call MPI_Comm_free(line)
  call MPI_Finalize()
  if (total_wrong /= 0) error stop 1

contains

  ! What came from the left and from the right, and the number each of them gave to its block for us.
  subroutine check(left, right, of_left, of_right)
    integer, intent(in) :: left, right, of_left, of_right
    call check_one(left, from(1), of_left)
    call check_one(right, from(2), of_right)
  end subroutine check

  subroutine check_one(value, neighbor, number)
    integer, intent(in) :: value, neighbor, number
    integer :: expected
    expected = -1
    if (neighbor /= MPI_PROC_NULL) expected = turn * 10000 + neighbor * 100 + number
    if (value /= expected) wrong = wrong + 1
  end subroutine check_one
end program client_neighbors_f08
