#!/usr/bin/env bash
# moves.sh CMAKE_FOLDER MPICC MPIRUN
# A build that found an MPI by itself moves to the wheel of MPICH when that is installed later, and back when it goes;
# one whose MPI the user named stays. Both are MPICC here, behind scripts.
set -euo pipefail

cmake_folder="$1" mpicc="$2" mpirun="$3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work/log" >&2; exit 1; }

# as FOLDER [SUFFIX]: puts an MPI there, which is the one that is tested.
as() {
  mkdir -p "$1"
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$mpicc" >"$1/mpicc${2:-}"
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$mpirun" >"$1/mpirun${2:-}"
  chmod +x "$1"/*
}
# cached VARIABLE VALUE
cached() {
  grep -q "^$1:[A-Z]*=$2\$" "$work/build/mpich/CMakeCache.txt" ||
    fail "$1 is not $2: $(grep "^$1:" "$work/build/mpich/CMakeCache.txt")"
}
is_of() {
  cached MPI_C_COMPILER "$1/mpicc${2:-}"
  cached QUADRILLE_MPIRUN "$1/mpirun${2:-}"
}
configure() { cmake -S "$work" -B "$work/build/mpich" -G Ninja "$@" >"$work/log" 2>&1 || fail "cmake"; }
build() { cmake --build "$work/build/mpich" >"$work/log" 2>&1 || fail "the build"; }

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(moves LANGUAGES C)
set(QUADRILLE_MPI mpich)
list(APPEND CMAKE_MODULE_PATH $cmake_folder)
include(QuadrilleMpi)
add_custom_target(all_of_it ALL)
END
as "$work/system" .mpich
export PATH="$work/system:$PATH"

configure
is_of "$work/system" .mpich
as "$work/build/venv/bin"
build
is_of "$work/build/venv/bin"
rm -r "$work/build/venv"
build
is_of "$work/system" .mpich

rm -r "$work/build"
configure -DMPI_C_COMPILER="$work/system/mpicc.mpich" -DQUADRILLE_MPIRUN="$work/system/mpirun.mpich"
as "$work/build/venv/bin"
build
is_of "$work/system" .mpich
echo "all as expected"
