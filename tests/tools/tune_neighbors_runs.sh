# `quadrille tune --neighbors` measures up to which block neighbours are combined, and programs obey the table.
. "$(dirname "$0")/common.sh"
file=$work/tuning.json
export OMPI_MCA_rmaps_base_oversubscribe=1
tune="$TOOL tune --neighbors --batches 1 --file $file"

expect 0 - "written to" $MPIRUN -n 4 $tune
expect 0 - "moore:2,1" $MPIRUN -n 2 $TOOL tune --neighbors --batches 1 --dry
expect 0 - "nothing to combine" $MPIRUN -n 3 $TOOL tune --neighbors --batches 1 --neighborhood von-neumann:1 \
  --neighborhood positive-moore:2,1 --neighborhood moore:1,2 --file "$work/three"
# One's own offsets, on the command line and in a file: they have no structure that could combine.
printf '# forth and back\n1 0\n-1 1\n' >"$work/offsets"
expect 0 - "offsets:1,0/-1,1" $MPIRUN -n 4 $TOOL tune --neighbors --batches 1 --dry --neighborhood offsets:1,0/-1,1 \
  --neighborhood "file:$work/offsets"
grep -qxF "file:$work/offsets" "$work/out" || fail "the file of offsets was not measured: $(cat "$work/out")"
expect 0 - "at most 2 on a node" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 4 $tune
python3 - "$file" <<'PYTHON' || fail "the table is not as promised"
import json, sys
table = json.load(open(sys.argv[1]))
assert {e["of"] for e in table["entries"]} == {"combining", "order"}, table
names = {"of", "collective", "ranks", "ranks_on_node", "crowded", "around", "choices"}
between = [e for e in table["entries"] if e["of"] == "combining"]
cases = sorted((e["collective"], e["ranks_on_node"]) for e in between)
assert cases == [(c, n) for c in ("neighbor_allgather", "neighbor_alltoall") for n in (1, 2)], table
for e in between:
    assert set(e) == names and e["ranks"] == 4, e
    assert set(e["around"]) == {"neighbors", "rounds", "blocks"}, e
    assert e["around"]["neighbors"] == 8 and e["around"]["rounds"] == 2, e
    [limit] = e["choices"]
    assert set(limit) == {"up_to", "take"} and limit["take"] == "combined", e
# Inside the node: of the run that took all ranks for one.
inside = [e for e in table["entries"] if e["of"] == "order"]
assert sorted(e["collective"] for e in inside) == ["neighbor_allgather", "neighbor_alltoall"], table
for e in inside:
    assert set(e) == names - {"ranks_on_node"}, e
    assert e["ranks"] == 4 and e["around"]["neighbors"] == 8, e
    sizes = [r["up_to"] for r in e["choices"]]
    assert sizes and sizes == sorted(set(sizes)), e
    assert all(r["take"] in ("default", "sh-naive", "sh-co", "sh-numa-co") for r in e["choices"]), e
PYTHON

# The switch is put into the table, for ranks with a processor each and for others; $1: the largest combined block.
put() {
  python3 - "$file" "$1" "$file.used" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
choices = [{"up_to": int(sys.argv[2]), "take": "combined"}]
table["entries"] = [e | {"choices": choices, "crowded": crowded} for e in table["entries"]
                    if e["of"] == "combining" and e["ranks_on_node"] == 1 for crowded in (True, False)]
# A model that says the contrary.
message = 1e9 if sys.argv[2] == "0" else 1e-9
machine = {"message": message, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}
table["entries"] += [{"of": "model", "ranks": 4, "ranks_on_node": 1, "crowded": crowded, "quadrille": machine,
                      "mpi": machine} for crowded in (True, False)]
json.dump(table, open(sys.argv[3], "w"))
PYTHON
}
served() {
  python3 - "$work/b.json" "$@" <<'PYTHON' || fail "not served by $*: $(cat "$work/b.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert all(row["errors"] == 0 for row in rows), rows
combined = {"torus", "torus-direct", "basis"}
for row, kind in zip(rows, sys.argv[2:], strict=True):
    assert (row["served_by"].split(":")[0] in combined) == (kind == "combined"), row
PYTHON
}
bench="--neighborhood moore:2,1 --iterations 20 --warmup 3 --json $work/b.json"
export QUADRILLE_TUNING=$file.used
for collective in neighbor_alltoall neighbor_allgather; do
  put 2000
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --no-node --sizes 8,2000,2001 $bench
  served combined combined direct
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --no-node --sizes 8 --algorithms direct $bench
  served direct
  put 0
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --no-node --sizes 1,2000 $bench
  served direct direct
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --no-node --sizes 8 --algorithms torus $bench
  served combined
done
put 2000
QUADRILLE_EXPLAIN=1 expect 0 - "measured to be better up to 2000 bytes" \
  $MPIRUN -n 4 $TOOL bench neighbor_alltoall --no-node --sizes 8 $bench
# Of others no table is known: the ranks share nodes, and the model is of those that do not.
expect 0 - "" $MPIRUN -n 4 $TOOL bench neighbor_alltoall --node-map blocked:2 --sizes 1M $bench
served direct
# A bad one is refused as a whole.
sed -i 's/"rounds": 2/"rounds": 8/' "$file.used"
expect 0 - "must be fewer than" $MPIRUN -n 4 $TOOL bench neighbor_alltoall --no-node --sizes 1M $bench
served direct
expect 2 - "cannot be added to" $MPIRUN -n 4 $TOOL tune --neighbors --batches 1

# Inside the node the order that the table names, up to its size.
python3 - "$file" "$file.used" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
ranges = [{"up_to": 100, "take": "default"}, {"up_to": 2000, "take": "sh-co"}]
table["entries"] = [e | {"choices": ranges, "crowded": crowded}
                    for e in table["entries"] if e["of"] == "order" for crowded in (True, False)]
json.dump(table, open(sys.argv[2], "w"))
PYTHON
copied() {
  python3 - "$work/b.json" "$@" <<'PYTHON' || fail "not served by $*: $(cat "$work/b.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert all(row["errors"] == 0 for row in rows), rows
assert [row["served_by"] for row in rows] == sys.argv[2:], rows
PYTHON
}
for collective in neighbor_alltoall neighbor_allgather; do
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --sizes 100,101,2000,2001 $bench
  copied rings sh-co sh-co rings
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --sizes 2000 --algorithms rings $bench
  copied rings
done
QUADRILLE_EXPLAIN=1 expect 0 - "measured to be faster inside a node" \
  $MPIRUN -n 4 $TOOL bench neighbor_alltoall --sizes 2000 $bench
# Who does not reach the others' memory by load and store has the default.
QUADRILLE_REACH=cma,ring expect 0 - "" $MPIRUN -n 4 $TOOL bench neighbor_alltoall --sizes 2000 $bench
copied rings
unset QUADRILLE_TUNING

expect 2 1 "one rank" "$TOOL" tune --neighbors
expect 2 - "excludes" "$TOOL" tune --neighbors --model
expect 2 - "requires" "$TOOL" tune --neighborhood moore:2,1
expect 2 - "requires" "$TOOL" tune --algorithms --neighborhood moore:2,1
expect 2 - "--neighborhood=moore:2: expected" $MPIRUN -n 2 $tune --neighborhood moore:2
expect 2 - "cannot read '/no/such/file'" $MPIRUN -n 2 $tune --neighborhood file:/no/such/file
QUADRILLE_NODES=blocked:1 expect 2 - "nothing to measure" $MPIRUN -n 3 $tune --neighborhood von-neumann:1
QUADRILLE_REACH=ring expect 2 - "nothing to measure" $MPIRUN -n 3 $tune --neighborhood von-neumann:1
QUADRILLE_REACH=ring expect 0 - "nothing to choose inside the node" $MPIRUN -n 2 $tune
# Only inside the one node that it names.
QUADRILLE_NODES=blocked:2 expect 0 - "default up to" $MPIRUN -n 2 $tune
grep -q "over messages" "$work/out" && fail "measured over messages, in one node"
finish
