# `quadrille-lab` repeats experiments, and writes what it promises.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
bench="$MPIRUN -n 2 $LAB bench"

# A figure writes its data, and prints its page; without a launcher it says how to start it.
expect 0 - "How many times as fast" $bench --figure hint-10 --runs 2 --iterations 2 --warmup 0 --results "$work"
expect 0 0 "hybrid T over temporal | up to 1.2 | " "$LAB" judge "$work/hint-10.json"
"$LAB" judge "$work/hint-10.json" | grep "wrong bytes" && fail "wrong bytes"
python3 - "$work/hint-10.json" <<'PYTHON' || fail "the JSON of the figure is not as promised"
import json, sys
data = json.load(open(sys.argv[1]))
rows = data["plots"][0]["rows"]
labels = ["temporal", "streaming", "hybrid T", "hybrid T/2", "hybrid T/4"]
assert data["figure"] == "hint-10" and data["ranks"] == 2, data
assert [row["line"] for row in rows[:5]] == labels, rows
assert all(row["errors"] == 0 for row in rows) and "claims" not in data, data
# Two runs, the first line once more, and where it all was measured.
assert rows[5]["line"] == "temporal again", rows[5]
for row in rows:
    assert len(row["us"]) == len(row["mpi_us"]) == 2 and row["samples"] > 0 and row["by"].startswith("hint-hilbert"), row
    assert all(us == float(f"{us:.4g}") for us in row["us"] + row["mpi_us"]), row
# A row a line.
assert sum(line.lstrip().startswith('{"line":') for line in open(sys.argv[1])) == len(rows)
# With blocks that fit T the hybrid copy is the ordinary one; far beyond it is not.
threshold = data["facts"]["l2_bytes"] // 2
for row in rows:
    if row["line"] == "hybrid T" and threshold:
        assert ("identical_to" in row) == (row["bytes"] <= threshold), (row["bytes"], threshold)
facts = data["facts"]
assert facts["runs"] == 2 and len(facts["binding"]) == len(facts["domains"]) == 2 and facts["kernel"], facts
assert "quadrille-lab bench --figure hint-10 --runs 2" in data["command"] and "/" not in data["command"], data["command"]
PYTHON
# Its claims follow from its data.
"$LAB" judge --json "$work/hint-10.json" >"$work/claims.json" || fail "the claims of a figure"
python3 - "$work/claims.json" <<'PYTHON' || fail "the claims of the figure are not as promised"
import json, sys
(claims,) = json.load(open(sys.argv[1])).values()
verdicts = {"agrees", "disagrees", "cannot be told", None}
assert claims and all(claim["verdict"] in verdicts for claim in claims), claims
# Where no block exceeds T, as with a large second cache, the lines are the same, and a claim about them has no number.
assert all(claim["least"] <= claim["here"] <= claim["most"] if claim["sizes"] else claim["here"] is None for claim in claims), claims
PYTHON
echo '{"figure": "hint-10"}' >"$work/no.json"
expect 1 1 "these are no data of a figure" "$LAB" judge "$work/no.json"
# A panel for each number of ranks: the others wait, and all come to the end.
expect 0 - "The fastest of these lines" $MPIRUN -n 5 "$LAB" bench --figure bruck-9 --iterations 1 --warmup 0 --results "$work"
"$LAB" judge "$work/bruck-9.json" | grep "wrong bytes\| served \|not measured" && fail "bruck-9"
python3 - "$work/bruck-9.json" <<'PYTHON' || fail "the panels of bruck-9 are not as promised"
import json, sys
panels = json.load(open(sys.argv[1]))["plots"]
assert [panel["title"] for panel in panels] == ["4 ranks", "5 ranks"], panels
assert [panel["ranks"] for panel in panels] == [4, 5]
PYTHON
# What is computed takes no launcher, and no options of measurements.
expect 0 0 "Counted, not measured" "$LAB" bench --figure co-table-1 --results "$work"
expect 0 0 "Counted, not measured" "$LAB" judge "$work/co-table-1.json"
expect 2 - "start it without a launcher" $bench --figure co-table-1 --results "$work"
expect 2 1 "--iterations has no effect on co-table-1" "$LAB" bench --figure co-table-1 --iterations 3
expect 2 1 "is no folder to write to" "$LAB" bench --figure co-table-1 --results /proc/1/no
# Neighbours: panels on two grids, and a table of set-up times.
for figure in iso-2 iso-4; do
  expect 0 - "How many times as fast" $bench --figure $figure --iterations 1 --warmup 0 --results "$work"
  "$LAB" judge "$work/$figure.json" | grep "wrong bytes\| served \|not measured" && fail "$figure"
done
expect 0 - "How many times as fast" $bench --figure iso-table-2 --iterations 1 --results "$work"
python3 - "$work/iso-table-2.json" <<'PYTHON' || fail "the table of set-up times is not as promised"
import json, sys
setups = json.load(open(sys.argv[1]))["setups"]
assert [(row["dimensions"], row["radius"]) for row in setups] == [(d, r) for d in (2, 3, 4, 5) for r in (1, 2, 3)]
for row in setups:
    assert row["neighbors"] == (2 * row["radius"] + 1) ** row["dimensions"] - 1 and row["repetitions"] == 1, row
    assert len(row["us"]) == 7 and all(us > 0 for us in row["us"].values()), row
PYTHON
expect 2 1 "mpirun -n 8 quadrille-lab bench --figure co-10" "$LAB" bench --figure co-10
# Without --results it makes a folder, where the run is; nothing else changes there.
mkdir -p "$work/here/docs/results" && (failures=0 && cd "$work/here" && echo kept >docs/results/hint-10.json &&
  expect 0 - "How many times as fast" $bench --figure hint-10 --iterations 1 --warmup 0 &&
  [ "$failures" = 0 ] && [ "$(cat docs/results/hint-10.json)" = kept ] && [ "$(ls results)" = hint-10.json ]) || fail "the folder of a figure is not 'results'"

# The copy phase needs no launcher.
expect 0 0 "hilbert" "$LAB" bench --copy-phase --ranks 8 --sizes 8,100 --json "$work/g.json"
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
expect 0 0 "cold caches" "$LAB" bench --copy-phase --ranks 4 --sizes 8 --orders morton --cold --threads 1
expect 2 1 "known are row" "$LAB" bench --copy-phase --orders peano
expect 2 1 "--threads must be" "$LAB" bench --copy-phase --ranks 2 --threads 3
expect 0 0 "copy phase of allgather, 6 ranks in 2 domains" "$LAB" bench allgather --copy-phase --ranks 6 --domains 2 --sizes 8 --json "$work/g.json"
grep -q '"order": "morton-numa"' "$work/g.json" || fail "no orders for NUMA in the copy phase with domains"
expect 0 0 "8 neighbours on a torus of 3x2" "$LAB" bench neighbor_alltoall --copy-phase --ranks 6 --neighborhood moore:2,1 --sizes 8
expect 2 1 "has no 'alltoallv'; known are alltoall, allgather" "$LAB" bench alltoallv --copy-phase
expect 2 1 "for neighbours are row, morton" "$LAB" bench neighbor_allgather --copy-phase --orders hilbert
expect 2 1 "--domains must be 1 to" "$LAB" bench --copy-phase --ranks 4 --domains 5
expect 2 1 "3 dimensions and 6 ranks" "$LAB" bench neighbor_alltoall --copy-phase --ranks 6 --grid 3x2
expect 2 1 "--grid is for neighbour" "$LAB" bench --copy-phase --ranks 6 --grid 3x2
expect 2 1 "need more memory" "$LAB" bench --copy-phase --sizes 1G

finish
