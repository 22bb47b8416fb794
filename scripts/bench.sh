#!/usr/bin/env bash
# Measures every collective on both builds, natively and by Quadrille in one run, with one rank a
# core. Results: build/bench/<abi>-<collective>.json.
#   RANKS   ranks (default 2)    SIZES   block sizes (default 8:1M)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks="${RANKS:-2}" sizes="${SIZES:-8:1M}"
mkdir -p build/bench

for abi in openmpi mpich; do
  launcher="$(sed -n 's/^QUADRILLE_MPIRUN:[A-Z]*=//p' "build/$abi/CMakeCache.txt")"
  bind=(--bind-to core)
  [[ "$abi" == mpich ]] && bind=(-bind-to core)
  [[ "$abi" == openmpi && "$ranks" -gt "$(nproc)" ]] && bind=(--oversubscribe)
  for collective in alltoall alltoallv alltoallw allgather allgatherv; do
    echo "== $collective, $ranks ranks, $abi"
    "$launcher" -n "$ranks" "${bind[@]}" "build/$abi/bin/quadrille" bench "$collective" \
      --sizes "$sizes" --json "build/bench/$abi-$collective.json"
  done
done
echo "results: build/bench"
