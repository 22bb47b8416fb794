# `quadrille bench --late`: one rank enters each measured call late, and the others wait for it.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
bench="$MPIRUN -n 3 $TOOL bench"
short="--iterations 8 --warmup 1"

expect 0 - "a rank that is drawn for each round enters each call 20000 us late" $bench alltoallv --late 20000 --no-node \
  --sizes 100 --algorithms default,pairwise,waitany-stride $short --json "$work/a.json" --csv "$work/a.csv"
expect 0 - "rank 1 enters each call 20000 us late" $bench allgather --late 20000:1 --sizes 100 $short --json "$work/b.json"
# In place a call sends what the one before received; neighbours; nobody is late.
expect 0 - "in place" $bench alltoall --late 1000 --sizes 8,4K $short --in-place
expect 0 - "26 neighbours" $bench neighbor_alltoall --late 1000:2 --sizes 8 $short --algorithms default,torus
expect 0 - "cold caches" $bench alltoall --late 1000 --cold --sizes 64 --iterations 3
expect 0 - "ceiling" $bench alltoall --sizes 64 $short --json "$work/c.json"
python3 - "$work/a.json" "$work/a.csv" "$work/b.json" "$work/c.json" <<'PYTHON' || fail "the JSON or CSV file is not as promised"
import csv, json, sys
drawn, named, nobody = (json.load(open(name))["rows"] for name in (sys.argv[1], *sys.argv[3:]))
assert len(drawn) == 3 and len(named) == 1, (drawn, named)
for row, line in zip(drawn, csv.DictReader(open(sys.argv[2])), strict=True):
    assert list(row) == list(line), line
for row in drawn + named:
    assert row["late_us"] == 20000 and row["errors"] == 0, row
    assert row["batches"] == 8 and row["calls_per_batch"] == row["mpi_calls_per_batch"] == 1, row
    # They waited, for a time that depends on other programs; a call without a wait takes less than 1 ms.
    for side in "mpi", "quadrille":
        assert row[f"{side}_others_us"] > 1000 and row[f"{side}_us"] > 0, row
        assert row[f"{side}_others_p99_us"] >= row[f"{side}_others_us"], row
assert all(row["late_rank"] is None for row in drawn) and named[0]["late_rank"] == 1
assert not any("late" in name or "others" in name for name in nobody[0]), nobody
PYTHON
finish
