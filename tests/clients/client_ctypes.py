#!/usr/bin/env python3
"""Calls the MPI of a library by ctypes, in an array of bytes.

  client_ctypes.py LIBRARY openmpi|mpich
"""

import ctypes
import sys

TURNS, BYTES = 24, 32

mpi = ctypes.CDLL(sys.argv[1])
if sys.argv[2] == 'openmpi':
  world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, 'ompi_mpi_comm_world')))
  byte = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, 'ompi_mpi_byte')))
else:
  world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4c00010d)

rank, size, wrong = ctypes.c_int(), ctypes.c_int(), 0
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
rank, size = rank.value, size.value
for turn in range(TURNS):
  send = b''.join(bytes([turn + 50 * rank + 7 * peer]) * BYTES for peer in range(size))
  receive = ctypes.create_string_buffer(size * BYTES)
  mpi.MPI_Alltoall(send, BYTES, byte, receive, BYTES, byte, world)
  wrong += receive.raw != b''.join(bytes([turn + 50 * peer + 7 * rank]) * BYTES for peer in range(size))
if rank == 0:
  print(f'{size} ranks, {wrong} wrong calls', flush=True)
mpi.MPI_Finalize()
sys.exit(wrong != 0)
