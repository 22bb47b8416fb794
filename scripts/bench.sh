#!/usr/bin/env bash
# Measures every collective on Open MPI and MPICH, natively and by Quadrille in one run, with one rank
# a core. Results: build/bench/<mpi>-<collective>.json.
#   RANKS   ranks (default 2)    SIZES   block sizes (default 8:1M)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks="${RANKS:-2}" sizes="${SIZES:-8:1M}"
mkdir -p build/bench

for mpi in openmpi mpich; do
  launcher="$(sed -n 's/^QUADRILLE_MPIRUN:[A-Z]*=//p' "build/$mpi/CMakeCache.txt")"
  bind=(--bind-to core)
  [[ "$mpi" == mpich ]] && bind=(-bind-to core)
  [[ "$mpi" == openmpi && "$ranks" -gt "$(nproc)" ]] && bind=(--oversubscribe)
  for collective in alltoall alltoallv alltoallw allgather allgatherv; do
    echo "== $collective, $ranks ranks, $mpi"
    "$launcher" -n "$ranks" "${bind[@]}" build/bin/quadrille bench "$collective" \
      --sizes "$sizes" --json "build/bench/$mpi-$collective.json"
  done
done
echo "results: build/bench"
