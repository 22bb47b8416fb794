# `quadrille bench` measures every collective, finds no error, and writes what it promises.
. "$(dirname "$0")/common.sh"
bench="$MPIRUN -n 2 $TOOL bench"
short="--iterations 20 --warmup 1"

expect 0 - "default" $bench alltoall --sizes 8:64:x4 $short --json "$work/a.json" --csv "$work/a.csv"
python3 - "$work/a.json" "$work/a.csv" <<'PYTHON' || fail "the JSON or CSV file is not as promised"
import csv, json, sys
data = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
needed = {"collective", "ranks", "nodes", "bytes", "algorithm", "mpi_us", "quadrille_us", "ratio",
          "errors", "mpi_p90_us", "quadrille_p99_us"}
assert {"version", "mpi", "cpu", "date"} <= set(data["header"]), data["header"]
assert [row["bytes"] for row in data["rows"]] == [8, 32], data["rows"]
for row, line in zip(data["rows"], rows, strict=True):
    assert needed <= set(row), row
    assert row["ranks"] == 2 and row["errors"] == 0 and row["mpi_us"] > 0, row
    assert abs(row["ratio"] - row["quadrille_us"] / row["mpi_us"]) < 1e-9, row
    assert list(row) == list(line) and int(line["bytes"]) == row["bytes"], line
PYTHON

for collective in alltoall alltoallv alltoallw allgather allgatherv; do
  expect 0 - "served by" $bench $collective --sizes 0,1,100 --algorithms default,all $short
  expect 0 - "in place" $bench $collective --sizes 8,24 $short --in-place --datatype double
  expect 0 - "strided" $bench $collective --sizes 8,40 $short --datatype strided
done
for collective in alltoallv alltoallw allgatherv; do
  expect 0 - "served by" $bench $collective --sizes 100 $short --distribution uniform
  expect 0 - "in place" $bench $collective --sizes 100 $short --distribution uniform --in-place
done
expect 0 - "cold caches" $bench alltoall --sizes 64 --iterations 3 --cold
expect 0 - "1 rank" "$TOOL" bench alltoall --sizes 8 $short

# Forced node maps are believed.
expect 0 - "pairwise" $bench alltoall --sizes 8 $short --no-node --algorithms default,pairwise \
  --json "$work/b.json"
grep -q '"nodes": 2' "$work/b.json" || fail "--no-node: not two nodes"
grep -q '"served_by": "inbox"' "$work/b.json" && fail "--no-node: an inbox between nodes"
expect 0 - "default" $bench alltoall --sizes 8 $short --nodes roundrobin:2 --json "$work/c.json"
grep -q '"nodes": 2' "$work/c.json" || fail "--nodes: not two nodes"
finish
