#!/bin/sh
# check_abis.sh CMAKE: the ABIs that the configure step finds in stand-ins of mpi.h, and where it finds each.
set -eu
cmake="$1"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0

# header NAME TEXT: a folder with this mpi.h.
header() { mkdir "$work/$1" && echo "$2" > "$work/$1/mpi.h"; }
header openmpi "#define OPEN_MPI 1"
header openmpi5 "#define OPEN_MPI 1"
header mpich4 "#define MPICH_VERSION 4"
header mpich5 "#define MPICH_VERSION 5"
touch "$work/mpich5/mpi_abi.h"
header alone "#define MPI_ABI_VERSION 1"
header other "#define OTHER_MPI 1"
mkdir "$work/empty"

cat > "$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(abis LANGUAGES NONE)
include($here/../../cmake/QuadrilleAbis.cmake)
foreach(abi \${QUADRILLE_ABIS})
  file(RELATIVE_PATH folder \${CMAKE_SOURCE_DIR} \${QUADRILLE_INCLUDES_\${abi}})
  string(APPEND found " \${abi}:\${folder}")
endforeach()
message(STATUS "found\${found}.")
END

# expect FOLDERS TEXT: of these folders the configure step says this.
expect() {
  rm -rf "$work/build"
  folders="$(for name in $1; do printf '%s;' "$work/$name"; done)"
  "$cmake" -S "$work" -B "$work/build" -DQUADRILLE_MPI_HEADERS="$folders" > "$work/output" 2>&1 || true
  grep -q "$2" "$work/output" || { echo "check_abis.sh: $1: not \"$2\":"; cat "$work/output"; failed=1; }
}

expect "openmpi mpich4" "found mpich:mpich4 openmpi:openmpi[.]"
expect "mpich5 openmpi" "found mpich:mpich5 openmpi:openmpi standard:mpich5[.]"
# Of several the first; the older MPICH in front does not hide the standard's.
expect "mpich4 mpich5" "found mpich:mpich4 standard:mpich5[.]"
expect "openmpi openmpi5 alone mpich5" "found mpich:mpich5 openmpi:openmpi standard:alone[.]"
expect "other empty" "No mpi.h of an MPI was found"
exit "$failed"
