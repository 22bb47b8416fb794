#!/bin/sh
# check_large_count.sh CMAKE: what the configure step finds in stand-ins of mpi.h. It must never take an MPI that
# declares collectives with large counts for one without, and says so if it cannot tell.
set -eu
cmake="$1"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0

# header NAME: a folder with an mpi.h, read from stdin.
header() { mkdir -p "$work/$1" && cat > "$work/$1/mpi.h"; }

declarations() {
  for name in Alltoall Alltoallv Alltoallw Allgather Allgatherv Neighbor_alltoall Neighbor_alltoallv \
    Neighbor_alltoallw Neighbor_allgather Neighbor_allgatherv; do
    echo "int MPI_${name}_c(const void *sendbuf, MPI_Count sendcount);"
    echo "int PMPI_${name}_c(const void *sendbuf, MPI_Count sendcount);"
  done
}

# expect NAME STATUS TEXT: the configure step ends so, and says this.
expect() {
  status=0
  "$cmake" -S "$here/large_count" -B "$work/$1/build" -DFOLDER="$work/$1" > "$work/$1/output" 2>&1 || status=$?
  if [ "$status" -ne "$2" ] || ! grep -q "$3" "$work/$1/output"; then
    echo "check_large_count.sh: $1: status $status and not \"$3\":"
    cat "$work/$1/output"
    failed=1
  fi
}

{ echo "typedef long MPI_Count;"; declarations; } | header all
expect all 0 "large counts: TRUE"

echo "int MPI_Alltoall(const void *sendbuf, int sendcount);" | header none
expect none 0 "large counts: FALSE"

# Declared, but it does not compile: here a type is missing.
declarations | header broken
expect broken 1 "declares the collectives"

# Some of the functions only.
{ echo "typedef long MPI_Count;"; declarations | grep -v Neighbor; } | header some
expect some 1 "declares the collectives"

# The declarations are in another file, as in MPICH 5.
{ echo "typedef long MPI_Count;"; echo '#include "mpi_proto.h"'; } | header apart
declarations > "$work/apart/mpi_proto.h"
expect apart 0 "large counts: TRUE"
rm -r "$work/apart/build"
echo '#error "this does not compile"' >> "$work/apart/mpi_proto.h"
expect apart 1 "declares the collectives"
exit "$failed"
