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
  expect 0 - "served by" $bench $collective --sizes 0,1,100 --algorithms default,all $short
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

# Large blocks are compared with plain copies; small ones and other nodes are not.
expect 0 - "single-copy" $bench alltoall --sizes 8,64K $short --json "$work/d.json" --csv "$work/d.csv"
python3 - "$work/d.json" "$work/d.csv" <<'PYTHON' || fail "the ceiling is not as promised"
import csv, json, sys
small, large = json.load(open(sys.argv[1]))["rows"]
lines = list(csv.DictReader(open(sys.argv[2])))
assert small["served_by"] == "inbox" and small["ceiling_us"] is None, small
assert large["ceiling_us"] > 0 and large["ceiling_by"] in ("memcpy", "streaming"), large
assert abs(large["ceiling_part"] - large["ceiling_us"] / large["quadrille_us"]) < 1e-9, large
assert lines[0]["ceiling_us"] == "" and float(lines[1]["ceiling_us"]) > 0, lines
PYTHON
for options in --no-ceiling "--datatype strided" --in-place --no-node; do
  expect 0 - "default" $bench alltoall --sizes 64K $short $options --json "$work/e.json"
  grep -q '"ceiling_us": null' "$work/e.json" || fail "$options: a ceiling"
done
expect 0 - "cold caches" $bench allgatherv --sizes 64K --iterations 3 --cold --json "$work/e.json"
grep -q '"ceiling_us": [0-9]' "$work/e.json" || fail "--cold: no ceiling"

# A figure writes its page and its data; without a launcher it says how to start it.
expect 0 - "How many times as fast" $bench --figure hint-10 --runs 2 --iterations 2 --warmup 0 --results "$work"
grep -q "^| .* hybrid T over temporal | up to 1.2 | [0-9]" "$work/hint-10.md" ||
  fail "no page: $(cat "$work/hint-10.md")"
grep -q "wrong bytes" "$work/hint-10.md" && fail "wrong bytes: $(cat "$work/hint-10.md")"
python3 - "$work/hint-10.json" <<'PYTHON' || fail "the JSON of the figure is not as promised"
import json, sys
data = json.load(open(sys.argv[1]))
rows = data["plots"][0]["rows"]
labels = ["temporal", "streaming", "hybrid T", "hybrid T/2", "hybrid T/4"]
assert data["figure"] == "hint-10" and data["ranks"] == 2, data
assert [row["algorithm"] for row in rows[:5]] == labels, rows
assert all(row["errors"] == 0 for row in rows) and data["claims"], data
# Two runs, the first line once more, and where it all was measured.
assert rows[5]["algorithm"] == "temporal again" and data["plots"][0]["noise"]["line"] == "temporal", rows[5]
for row in rows:
    runs = row["runs"]["quadrille_us"]
    assert len(runs) == 2 and abs(sum(runs) / 2 - row["quadrille_us"]) < 1e-9, row
    assert len(row["samples_us"]) == 2 and all(0 < len(one) <= 64 for one in row["samples_us"]), row
    assert ("mpi_samples_us" in row) == (row["algorithm"] == "temporal"), row
# With blocks that fit T the hybrid copy is the ordinary one; far beyond it is not.
threshold = data["facts"]["l2_bytes"] // 2
for row in rows:
    if row["algorithm"] == "hybrid T" and threshold:
        assert ("identical_to" in row) == (row["bytes"] <= threshold), (row["bytes"], threshold)
facts = data["facts"]
assert facts["runs"] == 2 and len(facts["binding"]) == len(facts["domains"]) == 2 and facts["kernel"], facts
assert "quadrille bench --figure hint-10 --runs 2" in data["command"] and "/" not in data["command"], data["command"]
verdicts = {"agrees", "disagrees", "the runs differ", "cannot be tested here", None}
assert all(claim["verdict"] in verdicts and claim["least"] <= claim["here"] <= claim["most"] for claim in data["claims"])
PYTHON
# Its page follows from its data, and what is not so is found.
LAB=$(dirname "$TOOL")/quadrille-lab
expect 0 0 "" "$LAB" pages --check "$work/hint-10.json"
echo "One more line." >>"$work/hint-10.md"
expect 1 1 "is not what its data say" "$LAB" pages --check "$work/hint-10.json"
expect 0 0 "" "$LAB" pages "$work/hint-10.json"
expect 0 0 "" "$LAB" pages --check "$work/hint-10.json"
# A panel for each number of ranks: the others wait, and all come to the end.
expect 0 - "The fastest of these lines" $MPIRUN -n 5 "$TOOL" bench --figure bruck-9 --iterations 1 --warmup 0 --results "$work"
grep -q "wrong bytes\|carried out by\|not measured" "$work/bruck-9.md" && fail "bruck-9: $(cat "$work/bruck-9.md")"
python3 - "$work/bruck-9.json" <<'PYTHON' || fail "the panels of bruck-9 are not as promised"
import json, sys
panels = json.load(open(sys.argv[1]))["plots"]
assert [panel["title"] for panel in panels] == ["4 ranks", "5 ranks"], panels
assert [{row["ranks"] for row in panel["rows"]} for panel in panels] == [{4}, {5}]
PYTHON
# What is computed takes no launcher, and no options of measurements.
expect 0 0 "Counted, not measured" "$TOOL" bench --figure co-table-1 --results "$work"
expect 0 0 "" "$LAB" pages --check "$work/co-table-1.json"
expect 2 - "start it without a launcher" $bench --figure co-table-1 --results "$work"
expect 2 1 "--iterations has no effect on co-table-1" "$TOOL" bench --figure co-table-1 --iterations 3
expect 2 1 "is no folder to write to" "$TOOL" bench --figure co-table-1 --results /proc/1/no
# Neighbours: panels on two grids, and a table of set-up times.
for figure in iso-2 iso-4; do
  expect 0 - "How many times as fast" $bench --figure $figure --iterations 1 --warmup 0 --results "$work"
  grep -q "wrong bytes\|carried out by\|not measured\|none of its sizes" "$work/$figure.md" &&
    fail "$figure: $(cat "$work/$figure.md")"
done
expect 0 - "How many times as fast" $bench --figure iso-table-2 --iterations 1 --results "$work"
python3 - "$work/iso-table-2.json" <<'PYTHON' || fail "the table of set-up times is not as promised"
import json, sys
setups = json.load(open(sys.argv[1]))["setups"]
assert [(row["dimensions"], row["radius"]) for row in setups] == [(d, r) for d in (2, 3, 4, 5) for r in (1, 2, 3)]
for row in setups:
    assert row["neighbors"] == (2 * row["radius"] + 1) ** row["dimensions"] - 1 and row["repetitions"] == 1, row
    assert len(row["functions"]) == 7 and all(function["us"] > 0 for function in row["functions"]), row
PYTHON
# What the panels of co-10-neighbors and co-11-neighbors measure.
expect 0 - "cold caches" $bench neighbor_alltoallv --sizes 64 --iterations 1 --warmup 0 --cold \
  --algorithms rings,sh-naive,sh-co,sh-numa-co --neighborhood von-neumann:2 --grid 2x1 --distribution uniform
expect 2 1 "mpirun -n 8 quadrille bench --figure co-10" "$TOOL" bench --figure co-10
# Without --results it makes a folder, where the run is; nothing else changes there.
mkdir -p "$work/here/docs/results" && (failures=0 && cd "$work/here" && echo kept >docs/results/hint-10.md &&
  expect 0 - "How many times as fast" $bench --figure hint-10 --iterations 1 --warmup 0 &&
  [ "$failures" = 0 ] && [ "$(cat docs/results/hint-10.md)" = kept ] &&
  [ "$(ls results)" = "hint-10.json
hint-10.md" ]) || fail "the folder of a figure is not 'results'"

# The copy phase needs no launcher.
expect 0 0 "hilbert" "$TOOL" bench --copy-phase --ranks 8 --sizes 8,100 --json "$work/g.json"
python3 - "$work/g.json" <<'PYTHON' || fail "the JSON of the copy phase is not as promised"
import json, sys
data = json.load(open(sys.argv[1]))
rows = [row for row in data["rows"] if row["threads"] == 1]
assert [row["bytes"] for row in rows] == 4 * [8] + 4 * [100], rows
assert [row["order"] for row in rows[:4]] == ["row", "column", "morton", "hilbert"], rows
for row in rows:
    first = next(r for r in rows if r["order"] == "row" and r["bytes"] == row["bytes"])
    assert abs(row["speedup"] - first["us"] / row["us"]) < 1e-9 and row["errors"] == 0, row
assert all(mean["geometric_mean_speedup"] > 0 for mean in data["means"]), data["means"]
PYTHON
expect 0 0 "cold caches" "$TOOL" bench --copy-phase --ranks 4 --sizes 8 --orders morton --cold --threads 1
expect 2 1 "known are row" "$TOOL" bench --copy-phase --orders peano
expect 2 1 "--threads must be" "$TOOL" bench --copy-phase --ranks 2 --threads 3
expect 0 0 "copy phase of allgather, 6 ranks in 2 domains" "$TOOL" bench allgather --copy-phase --ranks 6 --domains 2 --sizes 8 --json "$work/g.json"
grep -q '"order": "morton-numa"' "$work/g.json" || fail "no orders for NUMA in the copy phase with domains"
expect 0 0 "8 neighbours on a torus of 3x2" "$TOOL" bench neighbor_alltoall --copy-phase --ranks 6 --neighborhood moore:2,1 --sizes 8
expect 2 1 "has no 'alltoallv'; known are alltoall, allgather" "$TOOL" bench alltoallv --copy-phase
expect 2 1 "for neighbours are row, morton" "$TOOL" bench neighbor_allgather --copy-phase --orders hilbert
expect 2 1 "--domains must be 1 to" "$TOOL" bench --copy-phase --ranks 4 --domains 5
expect 2 1 "3 dimensions and 6 ranks" "$TOOL" bench neighbor_alltoall --copy-phase --ranks 6 --grid 3x2
expect 2 1 "--grid is for neighbour" "$TOOL" bench --copy-phase --ranks 6 --grid 3x2
expect 2 1 "need more memory" "$TOOL" bench --copy-phase --sizes 1G
expect 2 1 "--figure, --csv have no effect with --copy-phase" "$TOOL" bench --copy-phase --csv a --figure co-10
expect 2 1 "--overlap, --tests have no effect with --copy-phase" "$TOOL" bench --copy-phase --overlap --tests 1

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
