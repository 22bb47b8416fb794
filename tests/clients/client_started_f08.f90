! Calls that are started and completed apart, with the module of MPI-3; see client_started.inc.
program client_started_f08
  use mpi_f08
#ifdef KEPT_ALLTOALL
  use mpi_f08_ext
#endif
  implicit none
  external :: touch
  integer, parameter :: turns = 16, most = 16, n = 5000
  integer, parameter :: none = 7
  integer :: rank, nranks, turn, p, i, wrong, total_wrong, left, right, found, open_ones
  integer, asynchronous :: sends(most), recvs(most), place(most)
  integer :: counts(most), displs(most)
  type(MPI_Comm) :: line
  type(MPI_Datatype) :: pairs
  integer, asynchronous :: wide(2 * most), got_wide(2 * most), big(n * most), got_big(n * most)
  integer :: from(2)
  integer, asynchronous :: to_line(2), by_line(2), out, came
  integer :: indices(none), elements
  type(MPI_Request) :: requests(none), kept
  type(MPI_Status) :: statuses(none), some(none)
  integer :: single(1), dims(1)
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent
  logical :: periods(1), done

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  right = mod(rank + 1, nranks)
  left = mod(rank + nranks - 1, nranks)
  dims(1) = nranks
  periods(1) = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., line)
  call MPI_Cart_shift(line, 0, 1, from(1), from(2))
  lower = 0
  extent = 8
  call MPI_Type_create_resized(MPI_INTEGER, lower, extent, pairs)
  call MPI_Type_commit(pairs)
#ifdef KEPT_ALLTOALL
  call KEPT_ALLTOALL(sends, 1, MPI_INTEGER, recvs, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, kept)
#endif
  wrong = 0
  do turn = 1, turns
    do p = 1, nranks
      sends(p) = turn * 10000 + rank * 100 + p - 1
      place(p) = sends(p)
      wide(2 * p - 1) = sends(p)
      wide(2 * p) = -2
      counts(p) = 1
      displs(p) = nranks - p
      do i = 1, n
        big((p - 1) * n + i) = sends(p) + i
      end do
    end do
    to_line(1) = turn * 10000 + rank * 100 + 1
    to_line(2) = turn * 10000 + rank * 100 + 2
    recvs = -1
    got_wide = -1
    got_big = -1
    by_line = -1
    came = -1
    statuses%MPI_SOURCE = -7
    out = turn * 1000 + rank

#ifdef KEPT_ALLTOALL
    requests(1) = kept
    call MPI_Start(requests(1))
#else
    call MPI_Ialltoall(sends, 1, MPI_INTEGER, recvs, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
#endif
    call MPI_Irecv(came, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(2))
    call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INTEGER, place, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(3))
    call MPI_Ialltoallv(wide, counts, displs, pairs, got_wide, counts, displs, pairs, MPI_COMM_WORLD, requests(4))
    call MPI_Ialltoall(big, n, MPI_INTEGER, got_big, n, MPI_INTEGER, MPI_COMM_WORLD, requests(5))
    call MPI_Isend(out, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(6))
    call MPI_Ineighbor_alltoall(to_line, 1, MPI_INTEGER, by_line, 1, MPI_INTEGER, line, requests(7))
    select case (mod(turn, 4))
    case (0)
      call MPI_Waitall(none, requests, statuses)
#ifndef WITHOUT_TESTSOME
    case (1)
      open_ones = none
      do while (open_ones > 0)
        call MPI_Testsome(none, requests, found, indices, some)
        do i = 1, found
          statuses(indices(i)) = some(i)
        end do
        open_ones = open_ones - found
      end do
#endif
    case (2)
      done = .false.
      do while (.not. done)
        call MPI_Testall(none, requests, done, statuses)
      end do
    case default
      do p = none, 1, -1
        call MPI_Wait(requests(p), statuses(p))
      end do
    end select
    call touch(sends, recvs)
    call touch(place, got_wide)
    call touch(got_big, by_line)
    call touch(came, out)

    call MPI_Get_count(statuses(2), MPI_INTEGER, elements)
    if (elements /= 1 .or. statuses(2)%MPI_SOURCE /= left .or. statuses(2)%MPI_TAG /= 5) wrong = wrong + 1
    if (came /= turn * 1000 + left) wrong = wrong + 1
    do p = 1, nranks
      if (recvs(p) /= turn * 10000 + (p - 1) * 100 + rank) wrong = wrong + 1
      if (place(p) /= recvs(p)) wrong = wrong + 1
      ! Both orders turned round: rank p - 1 sends the block at nranks - 1 - rank, which it has for the rank of that number.
      i = nranks - p
      if (got_wide(2 * i + 1) /= turn * 10000 + (p - 1) * 100 + nranks - 1 - rank) wrong = wrong + 1
      if (got_wide(2 * i + 2) /= -1) wrong = wrong + 1
      do i = 1, n
        if (got_big((p - 1) * n + i) /= recvs(p) + i) wrong = wrong + 1
      end do
    end do
    do i = 1, 2
      p = -1
      if (from(i) /= MPI_PROC_NULL) p = turn * 10000 + from(i) * 100 + 3 - i
      if (by_line(i) /= p) wrong = wrong + 1
    end do
    single(1) = 1
    call MPI_Allreduce(MPI_IN_PLACE, single, 1, MPI_INTEGER, MPI_SUM, line)
  end do
#ifdef KEPT_ALLTOALL
  call MPI_Request_free(kept)
#endif
  call MPI_Type_free(pairs)
  call MPI_Allreduce(wrong, total_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0,a,i0,a)', nranks, ' ranks, ', total_wrong, ' wrong values'
  call MPI_Comm_free(line)
  call MPI_Finalize()
  if (total_wrong /= 0) error stop 1
end program client_started_f08
