# `quadrille bench --overlap` measures the nonblocking form of every collective, finds no error, and writes what it
# promises.
. "$(dirname "$0")/common.sh"
bench="$MPIRUN -n 2 $TOOL bench"
short="--overlap --iterations 20 --warmup 1"

expect 0 - "quadr. hidden %" $bench alltoall --sizes 0,64,64K --overlap --tests 3 --json "$work/a.json" --csv "$work/a.csv"
grep -q "with 3 calls of Test" "$work/out" || fail "the number of tests is not above the table"
python3 - "$work/a.json" "$work/a.csv" <<'PYTHON' || fail "the JSON or CSV file is not as promised"
import csv, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
lines = list(csv.DictReader(open(sys.argv[2])))
assert [row["bytes"] for row in rows] == [0, 64, 65536], rows
assert [row["served_by"] for row in rows] == ["nothing", "inbox", "rings"], rows
for row, line in zip(rows, lines, strict=True):
    assert list(row) == list(line), line
    assert row["errors"] == 0 and row["tests"] == 3 and row["compute_us"] > 0, row
    assert row["ceiling_us"] is None and not row["cold"], row
    assert abs(row["both_ratio"] - row["quadrille_both_us"] / row["mpi_both_us"]) < 1e-9, row
    for side in "mpi", "quadrille":
        percents = [row[f"{side}_overlap_{name}percent"] for name in ("p25_", "", "p75_")]
        assert percents == sorted(percents) and 0 <= percents[0] and percents[2] <= 100, row
        assert 0 < row[f"{side}_both_p25_us"] <= row[f"{side}_both_us"] <= row[f"{side}_both_p75_us"], row
        assert row[f"{side}_both_calls_per_batch"] > 0, row
# The computation lasts about as long as the MPI's call; others may take the processors away in between.
assert any(1 / 3 < row["compute_us"] / row["mpi_us"] < 3 for row in rows), rows
PYTHON

for collective in alltoall alltoallv alltoallw allgather allgatherv; do
  expect 0 - "quadr. hidden %" $bench $collective --sizes 0,1,4000 --algorithms default,all $short --tests 2
  expect 0 - "in place" $bench $collective --sizes 8,24K $short --in-place --datatype double
  expect 0 - "strided" $bench $collective --sizes 40 $short --datatype strided --memory private
done
for collective in alltoallv alltoallw allgatherv; do
  expect 0 - "blocks uniform;" $bench $collective --sizes 1000 $short --distribution uniform --tests 1
done
for collective in neighbor_alltoall neighbor_alltoallv neighbor_alltoallw neighbor_allgather neighbor_allgatherv \
  neighbor_allgatherw; do
  expect 0 - "26 neighbours" $bench $collective --sizes 0,100 $short --algorithms default,torus --tests 2
done
expect 0 - "mpi is MPI_Neighbor_alltoallw with the same block" $bench neighbor_allgatherw --sizes 40 $short \
  --datatype strided --neighborhood moore:2,1

# What is forced runs where it can, and what cannot run is named by what runs instead.
expect 0 - "" $bench alltoall --sizes 100 $short --no-node --algorithms pairwise,zero-rotation-bruck:radix=2,mpi \
  --json "$work/b.json"
python3 - "$work/b.json" <<'PYTHON' || fail "what is forced does not run"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["served_by"].split(":")[0] for row in rows] == ["pairwise", "zero-rotation-bruck", "mpi"], rows
assert {row["nodes"] for row in rows} == {2}, rows
PYTHON
expect 0 - "" $bench alltoall --sizes 64K $short --algorithms sh-co,single-copy --json "$work/c.json"
grep -q '"served_by": "sh-co"' "$work/c.json" || fail "a forced order of copies does not run"
grep -q '"served_by": "rings"' "$work/c.json" || fail "the exchange by pairs is not replaced by rings"
expect 0 - "" $bench neighbor_alltoall --sizes 100 $short --algorithms torus,direct --no-node --json "$work/d.json" \
  --neighborhood von-neumann:2
grep -q '"served_by": "torus' "$work/d.json" || fail "combining neighbours are not named"
expect 0 - "1 rank" "$TOOL" bench alltoall --sizes 8 $short

# Without the option the columns are not there.
expect 0 - "ceiling" $bench alltoall --sizes 8 --iterations 20 --json "$work/e.json"
grep -q overlap "$work/e.json" && fail "columns of --overlap without it"
finish
