# `quadrille bench` measures every collective, finds no error, and writes what it promises.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
bench="$MPIRUN -n 2 $TOOL bench"
short="--iterations 20 --warmup 1"

expect 0 - "default" $bench alltoall --sizes 8:64:x4 $short --json "$work/a.json" --csv "$work/a.csv"
grep -q '^# machine is ' "$work/out" || fail "nothing says whether the machine is quiet"
python3 - "$work/a.json" "$work/a.csv" <<'PYTHON' || fail "the JSON or CSV file is not as promised"
import csv, json, sys
data = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
needed = {"collective", "ranks", "nodes", "bytes", "algorithm", "mpi_us", "quadrille_us", "ratio",
          "errors", "mpi_p90_us", "quadrille_p99_us"}
assert {"version", "mpi", "cpu", "date"} <= set(data["header"]), data["header"]
assert data["header"]["quiet"]["ranks_per_processor"] > 0, data["header"]
assert [row["bytes"] for row in data["rows"]] == [8, 32], data["rows"]
for row, line in zip(data["rows"], rows, strict=True):
    assert needed <= set(row), row
    assert row["ranks"] == 2 and row["errors"] == 0 and row["mpi_us"] > 0, row
    assert abs(row["ratio"] - row["quadrille_us"] / row["mpi_us"]) < 1e-9, row
    assert list(row) == list(line) and int(line["bytes"]) == row["bytes"], line
PYTHON

for collective in alltoall alltoallv alltoallw allgather allgatherv; do
  expect 0 - "served by" $bench $collective --sizes 0,1,100 --algorithms default,all $short --no-ceiling
  expect 0 - "in place" $bench $collective --sizes 8,24 $short --in-place --datatype double
  expect 0 - "strided" $bench $collective --sizes 8,40 $short --datatype strided
done
for collective in alltoallv alltoallw allgatherv; do
  expect 0 - "served by" $bench $collective --sizes 100 $short --distribution uniform
  expect 0 - "in place" $bench $collective --sizes 100 $short --distribution uniform --in-place
done
while read -r collective distribution; do
  expect 0 - "blocks $distribution;" $bench $collective --sizes 1,1000 $short --no-node \
    --distribution $distribution </dev/null
done <<'PAIRS'
alltoallv window:20
alltoallw normal
allgatherv power:0.9
alltoallv sparse:1
alltoallw one-heavy:4
PAIRS

# Neighbours, also those that are the same process twice and the process itself.
for collective in neighbor_alltoall neighbor_allgather; do
  expect 0 - "26 neighbours" $bench $collective --sizes 1,100 $short --algorithms default,all --json "$work/n.json"
  expect 0 - "4 neighbours" $bench $collective --sizes 8 $short --algorithms torus-direct,basis --no-node \
    --neighborhood von-neumann:2 --datatype strided
done
for collective in neighbor_alltoallv neighbor_alltoallw neighbor_allgatherv neighbor_allgatherw; do
  expect 0 - "26 neighbours" $bench $collective --sizes 100 $short --algorithms default,torus --no-node
  expect 0 - "blocks uniform;" $bench $collective --sizes 100 $short --distribution uniform
done
printf '# to the east, to the north, back\n1 0\n0, 1\n-1 -1\n' >"$work/wind"
for around in offsets:1,0/0,1/-1,-1 "file:$work/wind"; do
  expect 0 - "3 neighbours" $bench neighbor_alltoallv --sizes 40 $short --algorithms default,torus --no-node \
    --neighborhood "$around" --distribution uniform
done
expect 0 - "mpi is MPI_Neighbor_alltoallw with the same block" $bench neighbor_allgatherw --sizes 0,40 $short \
  --algorithms default,all --datatype strided --neighborhood moore:2,1
expect 0 - "blocks stencil;" $bench neighbor_alltoallw --sizes 64 $short --algorithms torus,torus-direct --no-node \
  --distribution stencil --datatype double --json "$work/n.json"
python3 - "$work/n.json" <<'PYTHON' || fail "a stencil is not combined"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["served_by"] for row in rows] == ["torus:ports=1,pack=16384", "torus-direct:ports=1,pack=16384"], rows
assert {row["max_bytes"] for row in rows} == {64}, rows
PYTHON
grep -q '"quadrille_setup_us": [0-9]' "$work/n.json" || fail "the set-up of a neighbourhood is not in the file"
grep -q '"neighbors": 26' "$work/n.json" || fail "the number of neighbours is not in the file"

# A matrix is taken as it is, or scaled; only rank 0 needs the file.
printf '# from each rank\n0 400\n16 100\n' >"$work/matrix"
expect 0 - "     129.0        400 default" $bench alltoallv $short --distribution "file:$work/matrix"
expect 0 - "     130.0        400 default" $bench alltoallv $short --distribution "file:$work/matrix" \
  --datatype double
expect 0 - "served by" $bench alltoallw --sizes 40,800 $short --in-place --distribution "file:$work/matrix"
expect 0 - "served by" $bench alltoallw --sizes 40,800 $short --distribution "file:$work/matrix" \
  --json "$work/h.json"
python3 - "$work/h.json" <<'PYTHON' || fail "the sizes of a matrix are not as promised"
import json, sys
small, large = json.load(open(sys.argv[1]))["rows"]
assert small["distribution"].startswith("file:/"), small
assert (small["bytes"], small["mean_bytes"], small["max_bytes"]) == (40, 13, 40), small
assert (large["bytes"], large["mean_bytes"], large["max_bytes"]) == (800, 258, 800), large
PYTHON
expect 0 - "cold caches" $bench alltoall --sizes 64 --iterations 3 --cold
expect 0 - "1 rank" "$TOOL" bench alltoall --sizes 8 $short

# Large blocks are compared with plain copies, small ones between two ranks with exchanges of cache lines. Several nodes have no
# ceiling.
expect 0 - "single-copy" $bench alltoall --sizes 8,64K $short --json "$work/d.json" --csv "$work/d.csv"
python3 - "$work/d.json" "$work/d.csv" <<'PYTHON' || fail "the ceiling is not as promised"
import csv, json, sys
data = json.load(open(sys.argv[1]))
small, large = data["rows"]
lines = list(csv.DictReader(open(sys.argv[2])))
bounded = [large]
if data["header"]["quiet"]["ranks_per_processor"] <= 1:
    bounded.append(small)
    assert small["ceiling_by"] == "cache lines" and float(lines[0]["ceiling_us"]) > 0, (small, lines)
else:
    assert small["ceiling_us"] is small["ceiling_by"] is None and lines[0]["ceiling_us"] == "", (small, lines)
assert small["served_by"] == "inbox" and large["ceiling_by"] in ("memcpy", "streaming"), (small, large)
for row in bounded:
    assert row["ceiling_us"] > 0, row
    assert abs(row["ceiling_part"] - row["ceiling_us"] / row["quadrille_us"]) < 1e-9, row
assert float(lines[1]["ceiling_us"]) > 0, lines
PYTHON
for options in --no-ceiling "--datatype strided" --in-place --no-node; do
  expect 0 - "default" $bench alltoall --sizes 8,512,64K $short $options --json "$work/e.json"
  [ "$(grep -c '"ceiling_us": null' "$work/e.json")" = 3 ] || fail "$options: a ceiling"
done
# Every dense collective on two ranks is compared with cache lines up to 512 bytes, whatever serves it; not with empty or uneven
# blocks, or three ranks.
for collective in alltoall alltoallv alltoallw allgather allgatherv; do
  expect 0 - "default" $bench $collective --sizes 0,1,512,513 --algorithms default,mpi $short --json "$work/e.json"
  python3 - "$work/e.json" <<'PYTHON' || fail "$collective: the ceiling of small blocks is not as promised"
import json, sys
data = json.load(open(sys.argv[1]))
own_processors = data["header"]["quiet"]["ranks_per_processor"] <= 1
assert len(data["rows"]) == 8, data
for row in data["rows"]:
    by_lines = own_processors and 0 < row["bytes"] <= 512
    assert row["bytes"] > 0 or row["ceiling_us"] is None, row
    assert (row["ceiling_by"] == "cache lines") == by_lines and row["errors"] == 0, row
PYTHON
done
for command in "$bench alltoallv --distribution uniform" "$MPIRUN -n 3 $TOOL bench alltoall"; do
  expect 0 - "default" $command --sizes 64 $short --json "$work/e.json"
  grep -q "cache lines" "$work/e.json" && fail "$command: a ceiling of cache lines"
done
expect 0 - "cold caches" $bench allgatherv --sizes 64K --iterations 3 --cold --json "$work/e.json"
grep -q '"ceiling_us": [0-9]' "$work/e.json" || fail "--cold: no ceiling"

# What the panels of co-10-neighbors and co-11-neighbors measure.
expect 0 - "cold caches" $bench neighbor_alltoallv --sizes 64 --iterations 1 --warmup 0 --cold \
  --algorithms rings,sh-naive,sh-co,sh-numa-co --neighborhood von-neumann:2 --grid 2x1 --distribution uniform

# As programs call: in each memory, with buffers that are written before and read after each call.
for memory in heap shared private stack mmap; do
  expect 0 - "# buffers in ${memory/shared/heap}: us is a call" $bench alltoallv --sizes 100,64K --algorithms default,pairwise $short --touch --memory $memory \
    --json "$work/t.json" --csv "$work/t.csv"
  python3 - "$work/t.json" "$work/t.csv" $memory <<'PYTHON' || fail "steps in $memory are not as promised"
import csv, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 4, rows
for row, line in zip(rows, csv.DictReader(open(sys.argv[2])), strict=True):
    assert list(row) == list(line), line
    assert row["memory"] == {"shared": "heap"}.get(sys.argv[3], sys.argv[3]) and row["errors"] == 0, row
    for side in "mpi", "quadrille":
        assert 0 < row[f"{side}_us"] <= row[f"{side}_step_us"], row
        assert row["bytes"] < 65536 or row[f"{side}_us"] < row[f"{side}_step_us"], row
    assert abs(row["step_ratio"] - row["quadrille_step_us"] / row["mpi_step_us"]) < 1e-9, row
    assert row["step_pair_ratio"] > 0 and row["ceiling_us"] is None, row
PYTHON
  expect 0 - "served by" $bench alltoall --sizes 8,64K $short --memory $memory --json "$work/t.json"
  grep -q _step_us "$work/t.json" && fail "--memory $memory: steps without --touch"
done
for options in "alltoall --in-place" "allgather --in-place" "alltoallw --datatype strided" "allgatherv --cold" \
  "neighbor_allgatherw --neighborhood moore:2,1" "alltoallv --distribution uniform --no-node"; do
  expect 0 - "mpi step us" $bench $options --sizes 1,1000 $short --touch --memory stack
done
expect 0 - "mpi step us" "$TOOL" bench alltoall --sizes 0 $short --touch

# Counters count, or one line says why not, and the run goes on.
expect 0 - "single-copy" $bench alltoall --sizes 64K,128K $short --counters --json "$work/f.json"
[ "$(grep -c "not available" "$work/out")" -le 1 ] || fail "--counters: more than one line"
python3 - "$work/f.json" <<'PYTHON' || fail "the counters are not as promised"
import json, sys
data = json.load(open(sys.argv[1]))
for row in data["rows"]:
    for side in "mpi", "quadrille":
        for event in "l1d_misses", "l2_misses", "llc_misses", "store_stalls":
            value = row[f"{side}_{event}"]
            assert value is None or value >= 0, row
    known = any(value is not None for key, value in row.items() if key.endswith(("_misses", "_stalls")))
    assert known or "not available" in data["header"]["no_counters"], data["header"]
PYTHON

# Forced node maps are believed.
expect 0 - "pairwise" $bench alltoall --sizes 8 $short --no-node --algorithms default,pairwise \
  --json "$work/b.json"
grep -q '"nodes": 2' "$work/b.json" || fail "--no-node: not two nodes"
grep -q '"served_by": "inbox"' "$work/b.json" && fail "--no-node: an inbox between nodes"
expect 0 - "default" $bench alltoall --sizes 8 $short --node-map roundrobin:2 --json "$work/c.json"
grep -q '"nodes": 2' "$work/c.json" || fail "--node-map: not two nodes"
expect 0 - "default" $bench alltoall --sizes 8 $short --nodes 2 --json "$work/c.json"
grep -q '"nodes": 2' "$work/c.json" || fail "--nodes: not two nodes"
# An older name of it, from all ranks in one line.
expect 0 - "quadrille: --nodes roundrobin:2 is read as --node-map roundrobin:2" $bench alltoall --sizes 8 $short --nodes roundrobin:2 \
  --json "$work/c.json"
[ "$(grep -c 'is read as' "$work/err")" = 1 ] || fail "--nodes roundrobin:2: $(cat "$work/err")"
grep -q '"nodes": 2' "$work/c.json" || fail "--nodes roundrobin:2: not two nodes"
finish
