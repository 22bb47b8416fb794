! Fortran programs with the module of MPI-3, where communicators and datatypes are types of their own and the calls reach C
! by another way than those of the older interfaces. The first argument says which one; without one it makes blocking calls.
subroutine run_blocking
  use mpi_f08
  implicit none
  external :: touch
  integer, parameter :: turns = 12, most = 16
  integer :: rank, nranks, turn, p, wrong, total_wrong
  integer, asynchronous :: sends(most), recvs(most)
  integer :: place(most), counts(most), displs(most), zeros(most)
  type(MPI_Datatype) :: from_types(most), to_types(most)
  type(MPI_Comm) :: comm
  integer(kind=MPI_ADDRESS_KIND) :: address(1)
  integer :: ones(1)

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, nranks)
  wrong = 0
  ones(1) = 1
  do turn = 1, turns
    do p = 1, nranks
      sends(p) = turn * 10000 + rank * 100 + p - 1
      counts(p) = 1
      displs(p) = nranks - p
      zeros(p) = 0
    end do

    recvs = -1
    call MPI_Alltoall(sends, 1, MPI_INTEGER, recvs, 1, MPI_INTEGER, comm)
    call check(recvs, .false.)
    place = sends
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, place, 1, MPI_INTEGER, comm)
    call check(place, .false.)

    do p = 1, nranks
      place(nranks - p + 1) = sends(p)
    end do
    call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_INTEGER, place, counts, displs, &
                       MPI_INTEGER, comm)
    call check(place, .true.)

    recvs = -1
    do p = 1, nranks
      call MPI_Get_address(sends(p), address(1))
      call MPI_Type_create_hindexed(1, ones, address, MPI_INTEGER, from_types(p))
      call MPI_Type_commit(from_types(p))
      call MPI_Get_address(recvs(p), address(1))
      call MPI_Type_create_hindexed(1, ones, address, MPI_INTEGER, to_types(p))
      call MPI_Type_commit(to_types(p))
    end do
    call MPI_Alltoallw(MPI_BOTTOM, counts, zeros, from_types, MPI_BOTTOM, counts, zeros, &
                       to_types, comm)
    call touch(sends, recvs)
    call check(recvs, .false.)
    do p = 1, nranks
      call MPI_Type_free(from_types(p))
      call MPI_Type_free(to_types(p))
    end do

    place = -1
    place(rank + 1) = turn * 10000 + rank * 100 + rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, place, 1, MPI_INTEGER, comm)
    do p = 1, nranks
      if (place(p) /= turn * 10000 + (p - 1) * 101) wrong = wrong + 1
    end do
    recvs = -1
    call MPI_Allgatherv(sends, 1, MPI_INTEGER, recvs, counts, displs, MPI_INTEGER, comm)
    do p = 1, nranks
      if (recvs(nranks - p + 1) /= turn * 10000 + (p - 1) * 100) wrong = wrong + 1
    end do
  end do
  call MPI_Allreduce(wrong, total_wrong, 1, MPI_INTEGER, MPI_SUM, comm)
  if (rank == 0) print '(i0,a,i0,a)', nranks, ' ranks, ', total_wrong, ' wrong values'
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  if (total_wrong /= 0) error stop 1

contains

  subroutine check(values, backwards)
    integer, intent(in) :: values(:)
    logical, intent(in) :: backwards
    integer :: peer, at
    do peer = 1, nranks
      at = peer
      if (backwards) at = nranks - peer + 1
      if (values(at) /= turn * 10000 + (peer - 1) * 100 + rank) wrong = wrong + 1
    end do
  end subroutine check
end subroutine run_blocking

#include "client_neighbors_f08.inc"
#include "client_started_f08.inc"
#ifdef KEPT
#define KEPT_ALLTOALL KEPT
#include "client_started_f08.inc"
#endif
#ifdef WITH_LARGE
#include "client_large_f08.inc"
#endif

program client_f08
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
#ifdef WITH_LARGE
  case ('large')
    call run_large
#endif
  case default
    call run_blocking
  end select
end program client_f08
