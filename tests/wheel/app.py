"""A program of a user: mpi4py, no numpy, and nothing of Quadrille."""

import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
size, rank = comm.Get_size(), comm.Get_rank()
for count in (1, 100, 10000):
  for call in range(5):
    send = array.array("q", [rank * 1000 + to * 10 + call for to in range(size) for _ in range(count)])
    recv = array.array("q", [-1] * (size * count))
    comm.Alltoall(send, recv)
    right = [source * 1000 + rank * 10 + call for source in range(size) for _ in range(count)]
    assert recv.tolist() == right, f"rank {rank}: wrong data"
if rank == 0:
  print(f"{size} ranks are right")
