"""Tests that a build's own MPI cannot pass, by name and with the reason.

Without the Python package index the build for MPICH's ABI uses Debian's MPICH 4.0. It delivers wrong bytes and crashes
by itself; what it gets wrong is left out there, and said. With the wheel of MPICH 5 all tests run.
"""

import re
import subprocess

import other_mpis

# By test of ctest, then by test of googletest inside our programs.
MPICH_4_0 = [
    (r'^cluster\.', 'waits without giving up its processor: several ranks on each of several hosts take minutes'),
    (r'^mpi\.neighbor-dropin\.', 'delivers wrong bytes to neighbours in periodic dimensions of one process'),
    (r'^tools\.(bench|overlap)_runs$', 'delivers wrong bytes in MPI_Neighbor_alltoall, and the benchmark checks them'),
    (r'^tools\.run_signals$', 'reports status 0 of a job that SIGTERM ended, in some runs and not in others'),
    (r'^mpi\.waits-', 'has no setting for how it waits'),
    (r'^mpi\.device-pull-requests-', 'frees a datatype with each start of an MPI_Allgather_init on two ranks, and aborts'),
    (r'^fuzz\.(kept|some)$', 'ignores the displacement in MPI_Allgatherv of one rank: every random program meets that'),
]
MPICH_4_0_INSIDE = [
    ('Allgatherw.GoesToTheMpiAsAlltoallw', 'delivers wrong bytes in MPI_Neighbor_alltoallw, and hangs'),
]
MPICH_4_0_SETTINGS = {
    # Its functions write outside of the buffers with types that have gaps: only Quadrille is held to the oracle.
    'QUADRILLE_TEST_WEAK_MPI': '1',
    'GTEST_FILTER': '-' + ':'.join(name for name, _ in MPICH_4_0_INSIDE),
}
# It spins without giving up its processor: with more ranks than processors a call takes milliseconds.
MPICH_4_0_RANKS = 2


def has_mpich_4_0(build):
  """Is the launcher of `build` that of an MPICH 4.0?"""
  launcher = other_mpis.own_launcher(build)
  if launcher is None:
    return False
  said = subprocess.run([launcher, '--version'], capture_output=True, text=True, check=False)
  return bool(re.search(r'^HYDRA.*^\s*Version:\s+4\.0\.', said.stdout, re.MULTILINE | re.DOTALL))


def settings_of(build):
  """What to set for the tests of `build`."""
  return MPICH_4_0_SETTINGS if has_mpich_4_0(build) else {}


def left_out(build, tests):
  """{name: why} of those of `tests`, {name: command}, that the MPI of `build` cannot pass."""
  if not has_mpich_4_0(build):
    return {}
  launcher = other_mpis.own_launcher(build)
  why = {f'{name}, of every program': f'MPICH 4.0 itself {reason}' for name, reason in MPICH_4_0_INSIDE}
  for name, command in tests.items():
    reason = next((reason for names, reason in MPICH_4_0 if re.search(names, name)), None)
    if reason:
      why[name] = f'MPICH 4.0 itself {reason}'
    elif launcher in command and other_mpis.ranks_of(command) > MPICH_4_0_RANKS:
      why[name] = 'MPICH 4.0 waits without giving up its processor: more ranks than processors take minutes'
  return why
