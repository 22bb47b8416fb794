# `quadrille tune --neighbors` measures up to which block neighbours are combined, and programs obey the table.
. "$(dirname "$0")/common.sh"
file=$work/tuning.json
export OMPI_MCA_rmaps_base_oversubscribe=1
tune="$TOOL tune --neighbors --batches 1 --file $file"

expect 0 - "written to" $MPIRUN -n 4 $tune
expect 0 - "moore:2,1" $MPIRUN -n 2 $TOOL tune --neighbors --batches 1 --dry
expect 0 - "nothing to combine" $MPIRUN -n 3 $TOOL tune --neighbors --batches 1 --neighborhood von-neumann:1 \
  --neighborhood positive-moore:2,1 --neighborhood moore:1,2 --file "$work/three"
expect 0 - "at most 2 on a node" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 4 $tune
python3 - "$file" <<'PYTHON' || fail "the table is not as promised"
import json, sys
table = json.load(open(sys.argv[1]))
assert table["entries"] == [] and "models" not in table, table
names = {"collective", "ranks", "ranks_on_node", "crowded", "neighbors", "rounds", "blocks", "largest_combined"}
cases = sorted((e["collective"], e["ranks_on_node"]) for e in table["neighbors"])
assert cases == [(c, n) for c in ("neighbor_allgather", "neighbor_alltoall") for n in (1, 2)], table
for e in table["neighbors"]:
    assert set(e) == names and e["ranks"] == 4 and e["neighbors"] == 8 and e["rounds"] == 2, e
PYTHON

# The switch is put into the table, for ranks with a processor each and for others; $1: largest_combined.
put() {
  python3 - "$file" "$1" "$file.used" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
table["neighbors"] = [e | {"largest_combined": int(sys.argv[2]), "crowded": crowded}
                      for e in table["neighbors"] if e["ranks_on_node"] == 1 for crowded in (True, False)]
# A model that says the contrary.
message = 1e9 if sys.argv[2] == "0" else 1e-9
machine = {"message": message, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}
table["models"] = [{"ranks": 4, "ranks_on_node": 1, "crowded": crowded, "quadrille": machine, "mpi": machine}
                   for crowded in (True, False)]
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
expect 0 - "" $MPIRUN -n 4 $TOOL bench neighbor_alltoall --nodes blocked:2 --sizes 1M $bench
served direct
# A bad one is refused as a whole.
sed -i 's/"rounds": 2/"rounds": 8/' "$file.used"
expect 0 - "must be fewer than" $MPIRUN -n 4 $TOOL bench neighbor_alltoall --no-node --sizes 1M $bench
served direct
expect 2 - "cannot be added to" $MPIRUN -n 4 $TOOL tune --neighbors --batches 1
unset QUADRILLE_TUNING

expect 2 1 "one rank" "$TOOL" tune --neighbors
expect 2 - "excludes" "$TOOL" tune --neighbors --model
expect 2 - "requires" "$TOOL" tune --neighborhood moore:2,1
expect 2 - "is no neighbourhood" $MPIRUN -n 2 $tune --neighborhood moore:2
expect 2 - "nothing to combine" $MPIRUN -n 3 $tune --neighborhood von-neumann:1
expect 2 - "says that there is one" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 2 $tune
finish
