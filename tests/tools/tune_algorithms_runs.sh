# `quadrille tune --algorithms` measures which algorithm is best at which block size, and programs obey the table.
. "$(dirname "$0")/common.sh"
export QUADRILLE_TRIALS=off  # what tables and the model say is what is looked at
file=$work/tuning.json
export OMPI_MCA_rmaps_base_oversubscribe=1
tune="$TOOL tune --algorithms --batches 1 --sizes 64,1000,20000 --file $file"

expect 0 - "written to" env QUADRILLE_ALGORITHM=alltoall=sh-co $MPIRUN -n 2 $tune
expect 0 - "sh-naive" $MPIRUN -n 2 $tune
expect 0 - "zero-rotation-bruck:radix=2" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 4 $tune
# Pieces of blocks are measured where they cut them.
expect 0 - "leaders:leaders=2,piece=4096" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 4 $tune
grep -q "leaders:leaders=2,piece=4096 *- *- *[0-9]" "$work/out" || fail "pieces where they cut nothing: $(cat "$work/out")"
expect 0 - "recursive-doubling" env QUADRILLE_NODES=blocked:1 \
  $MPIRUN -n 3 $TOOL tune --algorithms --batches 1 --sizes 8 --dry
expect 0 - "written to" $MPIRUN -n 2 $TOOL tune --batches 1 --file "$file"
python3 - "$file" <<'PYTHON' || fail "the table is not as promised"
import json, sys
table = json.load(open(sys.argv[1]))
assert [e["ranks"] for e in table["entries"] if e["of"] == "kernel-copy"] == [2], table
algorithms = [e for e in table["entries"] if e["of"] == "algorithm"]
cases = sorted((e["collective"], e["ranks"], e["ranks_on_node"], e["nodes"]) for e in algorithms)
assert cases == [(c, *n) for c in ("allgather", "alltoall") for n in ((2, 2, 1), (4, 2, 2))], table
for e in algorithms:
    assert set(e) == {"of", "collective", "ranks", "ranks_on_node", "nodes", "crowded", "choices"}, e
    sizes = [c["up_to"] for c in e["choices"]]
    assert sizes == sorted(set(sizes)) and sizes[-1] == 28284, e
    assert set(sizes) <= {45, 252, 4472, 28284}, e
    # Over several nodes each size that was measured is named; below the smallest nothing is known.
    if e["nodes"] == 2:
        usual = [c["take"] == "default" for c in e["choices"]]
        assert sizes[0] == 45 and usual == [True] + [False] * len(sizes[1:]), e
PYTHON

# The winners are put into the table, for ranks with a processor each and for others.
put() {
  python3 - "$file" "$@" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
one, two = sys.argv[2:]
table["entries"] = [e for e in table["entries"] if e["of"] != "algorithm"] + [
    {"of": "algorithm", "collective": c, "ranks": nodes * 2, "ranks_on_node": 2, "nodes": nodes, "crowded": crowded,
     "choices": [{"up_to": 3, "take": "default"}, {"up_to": 3000, "take": name}]}
    for c in ("alltoall", "allgather") for nodes, name in ((1, one), (2, two)) for crowded in (True, False)]
json.dump(table, open(sys.argv[1] + ".used", "w"))
PYTHON
}
served() { # BYTES ALGORITHM...
  python3 - "$work/b.json" "$@" <<'PYTHON' || fail "not served by $*: $(cat "$work/b.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert all(row["errors"] == 0 for row in rows), rows
assert [row["served_by"] for row in rows] == sys.argv[2:], rows
PYTHON
}
export QUADRILLE_TUNING=$file.used
# What was measured before does not steer what is measured now: the inboxes take part.
put mpi mpi
expect 0 - "written to" $MPIRUN -n 2 $TOOL tune --algorithms --batches 1 --sizes 1000 --file "$work/other"
[ "$(grep -c "^  inbox " "$work/out")" = 2 ] || fail "no inboxes in $(cat "$work/out")"
short="--iterations 5 --warmup 2 --no-ceiling --json $work/b.json"
put hint-hilbert spread-out
order=hint-hilbert:rows=auto  # as it is printed
for collective in alltoall allgather; do
  expect 0 - "" $MPIRUN -n 2 $TOOL bench $collective --sizes 2,1000,3000,200000 $short
  served inbox $order $order single-copy
  expect 0 - "" $MPIRUN -n 4 $TOOL bench $collective --node-map blocked:2 --sizes 2,1000,200000 $short
  served mpi spread-out mpi
  expect 0 - "" $MPIRUN -n 2 $TOOL bench $collective --sizes 1000 --algorithms mpi,sh-co,default $short
  served mpi sh-co $order
done
expect 0 - "" $MPIRUN -n 2 $TOOL bench alltoallv --sizes 1000 $short
served single-copy
# Both doors: the preloaded library says what it does with blocks of 4 bytes.
QUADRILLE_EXPLAIN=1 expect 0 - "blocks of 1000 bytes -> $order: measured before, in the tuning table" \
  $MPIRUN -n 2 $TOOL bench alltoall --sizes 1000 $short
expect 0 - "blocks of 4 bytes -> $order: measured before, in the tuning table" \
  $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
# What the user set comes before it.
QUADRILLE_INBOX=500 expect 0 - "blocks of 4 bytes -> inbox" $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
QUADRILLE_ALGORITHM=alltoall=hint-row expect 0 - "blocks of 4 bytes -> hint-row: forced" \
  $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
# Where orders cannot serve.
QUADRILLE_HEAP=off QUADRILLE_REACH=ring expect 0 - "the measured hint-hilbert cannot serve it: not all ranks of a node reach" \
  $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
# A bad one is refused as a whole.
put hint-hilbart spread-out
expect 0 - "unknown algorithm \"hint-hilbart\" for alltoall; did you mean" \
  $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
expect 2 - "cannot be added to" $MPIRUN -n 2 $TOOL tune --algorithms --batches 1
unset QUADRILLE_TUNING

expect 2 1 "one rank" "$TOOL" tune --algorithms
expect 2 - "excludes" "$TOOL" tune --algorithms --model
expect 2 - "excludes" "$TOOL" tune --algorithms --neighbors
expect 2 - "requires" "$TOOL" tune --sizes 8
expect 2 - "sizes must be from 1" $MPIRUN -n 2 $TOOL tune --algorithms --sizes 0,8 --dry
expect 2 - "at most 63 sizes" $MPIRUN -n 2 $TOOL tune --algorithms --sizes 1:100:+1 --dry
expect 2 - "not enough memory" $MPIRUN -n 2 $TOOL tune --algorithms --sizes 1G --dry
finish
