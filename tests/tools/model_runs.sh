# `quadrille tune --model` fits the cost model, `quadrille-lab show --map` draws it, and programs choose by it.
. "$(dirname "$0")/common.sh"
export QUADRILLE_TRIALS=off  # what tables and the model say is what is looked at
file=$work/tuning.json
export OMPI_MCA_rmaps_base_oversubscribe=1
bench="$TOOL bench alltoallv --no-node --distribution uniform --iterations 20 --warmup 3"

expect 0 - "median error" $MPIRUN -n 3 $TOOL tune --model --batches 1 --file "$file"
expect 0 - "two-phase-bruck:radix=2" $MPIRUN -n 2 $TOOL tune --model --batches 1 --file "$file"
expect 0 - "fitted on" "$LAB" show --map --model "$file"
expect 0 - "the model is extended beyond what was measured" \
  env QUADRILLE_TUNING="$file" "$LAB" show --map --map-ranks 4:64:x2 --map-sizes 1,100
# Of every MPI some messages are sent at once, and some are not.
python3 - "$file" <<'PYTHON' || fail "no limit of messages that are sent at once: $(cat "$file")"
import json, sys
for entry in json.load(open(sys.argv[1]))["entries"]:
    assert 64 <= entry["eager"] < 8 << 20 and entry["quadrille"]["handshake"] >= 0, entry
PYTHON
# A first table is not missed by those who write it.
QUADRILLE_TUNING=$work/first expect 0 0 "written to" $MPIRUN -n 2 $TOOL tune --model --batches 1
QUADRILLE_TUNING=none expect 0 - "Bruck is ahead up to 2048 (P = 256)" "$LAB" show --map --model aries --map-ranks 256
expect 0 - "2048       S" "$LAB" show --map --model paper --map-ranks 256

# Messages of the MPI's own are made dear in the table, then cheap; $2: those of Quadrille.
price() {
  python3 - "$file" "$1" "${2:-10000}" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
models = [e for e in table["entries"] if e["of"] == "model"]
assert sorted(m["ranks"] for m in models) == [2, 3], table
for model in models:
    model["quadrille"] = {"message": float(sys.argv[3]), "byte": 100, "copied_byte": 0, "copied_block": 1, "round": 0}
    model["mpi"] = {"message": float(sys.argv[2]), "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}
for crowded in (True, False):
    if not any(m["ranks"] == 3 and m["crowded"] == crowded for m in models):
        model = dict(next(m for m in models if m["ranks"] == 3))
        model["crowded"] = crowded
        table["entries"].append(model)
        break
json.dump(table, open(sys.argv[1] + ".used", "w"), indent=1)
PYTHON
}
served() {
  python3 - "$work/b.json" "$@" <<'PYTHON' || fail "not served by $*: $(cat "$work/b.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert all(row["errors"] == 0 for row in rows), rows
for row, name in zip(rows, sys.argv[2:], strict=True):
    assert row["served_by"].startswith(name), row
PYTHON
}
export QUADRILLE_TUNING=$file.used
price 1e6
expect 0 - "" $MPIRUN -n 8 $bench --sizes 8,1M --json "$work/b.json"
served two-phase-bruck mpi
expect 0 - "" $MPIRUN -n 7 $TOOL bench alltoallw --no-node --sizes 8 --iterations 20 --in-place --json "$work/b.json"
served two-phase-bruck
expect 0 - "" $MPIRUN -n 8 $TOOL bench alltoall --no-node --sizes 8,1M --iterations 20 --json "$work/b.json"
served zero-rotation-bruck mpi
QUADRILLE_EXPLAIN=1 expect 0 - "the cost model chooses by the load" $MPIRUN -n 8 $bench --sizes 8
price 1
expect 0 - "" $MPIRUN -n 8 $bench --sizes 8 --json "$work/b.json"
served mpi
cp "$work/b.json" "$work/v.json"
# Neighbours: 8 messages and blocks, or 2 messages and 10 blocks, so the cut-off is 3 message / byte.
around="$TOOL bench neighbor_alltoall --no-node --neighborhood moore:2,1 --iterations 20 --warmup 3"
price 1 4e6
expect 0 - "" $MPIRUN -n 4 $around --sizes 1K,110K,130K --json "$work/b.json"
served basis basis direct
price 1 4e3
QUADRILLE_EXPLAIN=1 expect 0 - "better for blocks below 120 bytes by the cost model" \
  $MPIRUN -n 4 $around --sizes 8,200 --json "$work/b.json"
served basis direct
expect 0 - "blocks 'uniform, byte' of N bytes, as measured" "$LAB" show --map --measured "$work/v.json"
QUADRILLE_TUNING=none expect 0 - "" $MPIRUN -n 2 $TOOL bench alltoallv --distribution one-heavy --sizes 8 --iterations 20 --json "$work/h.json"
expect 2 1 "one map has one kind" "$LAB" show --map --measured "$work/v.json" "$work/h.json"

# Ranks that share nodes have models of their own.
unset QUADRILLE_TUNING
expect 0 - "at most 2 on a node" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 4 $TOOL tune --model --batches 1 --file "$work/two"
python3 - "$work/two" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
[model] = [e for e in table["entries"] if e["of"] == "model"]
assert model["ranks_on_node"] == 2, model
model["quadrille"] = {"message": 100, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}
model["mpi"] = {"message": 1e6, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}
table["entries"].append(model | {"crowded": not model["crowded"]})
json.dump(table, open(sys.argv[1], "w"))
PYTHON
export QUADRILLE_TUNING=$work/two
bench="$TOOL bench alltoall --sizes 8 --iterations 20 --json $work/b.json"
expect 0 - "" $MPIRUN -n 4 $bench --node-map blocked:2
served leaders
expect 0 - "" $MPIRUN -n 4 $TOOL bench allgather --sizes 8 --iterations 20 --json "$work/b.json" --node-map blocked:2
served leaders
expect 0 - "" $MPIRUN -n 4 $TOOL bench alltoallv --sizes 8 --iterations 20 --json "$work/b.json" --node-map blocked:2
served leaders
expect 0 - "" $MPIRUN -n 4 $bench --no-node
served mpi
expect 0 - "" $MPIRUN -n 4 $bench
served inbox
unset QUADRILLE_TUNING

printf '{"quadrille_tuning": 2, "machine": {"processor": "x", "cores": 1}, "entries": []}' >"$work/empty"
expect 2 1 "no model" "$LAB" show --map --model "$work/empty"
expect 2 1 "there is no" "$LAB" show --map --model "$work/nowhere"
expect 2 1 "ranks must be from 2" "$LAB" show --map --map-ranks 1
expect 2 1 "cannot read" "$LAB" show --map --measured "$work/nowhere"
expect 2 1 "cannot read" "$LAB" show --map --measured "$work"
expect 2 1 "takes 'paper', 'aries' or" "$LAB" show --map --model nosuch
expect 2 1 "excludes" "$LAB" show --map --model aries --measured "$work/b.json"
expect 2 1 "--map-ranks: 'x' is no list" "$LAB" show --map --map-ranks x
expect 0 - "ahead nowhere (P = 32768)" "$LAB" show --map --model aries --map-ranks 32768 --map-sizes 1M
expect 2 1 "--map" "$LAB" show --measured "$work/b.json"
expect 2 1 "one rank" "$TOOL" tune --model
expect 2 - "says that there is one" env QUADRILLE_NODES=blocked:2 $MPIRUN -n 2 $TOOL tune --model --dry
finish
