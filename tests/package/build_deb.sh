#!/usr/bin/env bash
# build_deb.sh SOURCE OUT: what `make deb` does, but for installing what it takes. 77: that is not there.
set -euo pipefail
source="$1" out="$2"
for program in dpkg-buildpackage dh fakeroot lintian mpicc.openmpi mpicc.mpich mpirun.openmpi mpirun.mpich; do
  command -v "$program" >/dev/null || { echo "there is no $program (scripts/setup.sh deb)"; exit 77; }
done
# By the headers of the system's MPIs, and of MPICH 5 where setup has put it.
unset MPI_C_COMPILER LD_LIBRARY_PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$source/packaging/deb.sh" "$out" "$(nproc)"
for package in quadrille libquadrille-dev quadrille-doc; do
  compgen -G "$out/${package}_*.deb" >/dev/null || { echo "there is no package $package in $out"; exit 1; }
done
rm -rf "$out"
