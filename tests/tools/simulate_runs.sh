# `quadrille-lab simulate` runs the schedules of many ranks through a network.
. "$(dirname "$0")/common.sh"
simulate="$LAB simulate"

# A network of round numbers.
cat >"$work/plain" <<'JSON'
{"name": "plain", "latency": 1000, "overhead": 100, "gap": 10, "gap_byte": 1, "eager": 500}
JSON

# us NAME BYTES: of the last JSON.
us() {
  python3 - "$work/json" "$1" "$2" <<'PYTHON'
import json, sys
[row] = [row for row in json.load(open(sys.argv[1]))["rows"] if row["name"] == sys.argv[2] and row["bytes"] == float(sys.argv[3])]
print(round(row["us"], 6))
PYTHON
}
$simulate alltoall --ranks 4 --sizes 8 --network "$work/plain" --algorithms spread-out pairwise --json "$work/json" >"$work/out" ||
  fail "plain"
[ "$(us spread-out 8)" = 1.418 ] && [ "$(us pairwise 8)" = 3.654 ] || fail "times: $(cat "$work/json")"
grep -q "network plain; simulated" "$work/out" || fail "heading: $(cat "$work/out")"

# Everything that can be simulated is there, with its rivals, within seconds.
$simulate alltoall --ranks 256 --per-node 16 --sizes 8,1K --json "$work/json" >"$work/out" || fail "all"
$TOOL list --json >"$work/list"
python3 - "$work/json" "$work/list" <<'PYTHON' || fail "all: $(head -c 2000 "$work/json")"
import json, sys
answer, algorithms = (json.load(open(name)) for name in sys.argv[1:])
assert (answer["ranks"], answer["nodes"]) == (256, 16), answer
there = {row["name"].split(":")[0] for row in answer["rows"]}
known = {one["name"] for one in algorithms if "alltoall" in one["collectives"]}
assert known - there - {"ipc-pull", "pipelined-copy-to-cpu"} == {"mpi", "inbox", "cuda-aware-mpi", "copy-to-cpu"}, known - there
assert {"openmpi", "mpich"} <= there
for row in answer["rows"]:
    assert row["us"] > 0 and (row["simulated"] == "one node for all") == (row["nodes_are"] != "not alike"), row
    # What comes from other nodes passes the adapter.
    assert row["us"] >= row["busiest_adapter_us"] > 0, row
PYTHON

# Who stands for all gives their times.
for algorithm in leaders:leaders=2 zero-rotation-bruck; do
  $simulate alltoall --ranks 64 --per-node 8 --sizes 64 --algorithms $algorithm --json "$work/json" >/dev/null || fail $algorithm
  some=$(us $algorithm 64)
  $simulate alltoall --ranks 64 --per-node 8 --sizes 64 --algorithms $algorithm --every-rank --json "$work/json" >/dev/null
  [ "$some" = "$(us $algorithm 64)" ] || fail "$algorithm: $some instead of $(us $algorithm 64)"
done

expect 0 0 "openmpi takes modified_bruck, as basic-bruck:radix=2" $simulate alltoall --ranks 64 --sizes 8 --algorithms pairwise
expect 0 0 "slingshot" $simulate --list-networks
expect 0 0 "hdr:slow" $simulate allgather --ranks 8 --sizes 8 --algorithms ring --network hdr:slow
expect 0 0 "go straight to their ranks" $simulate alltoallv --ranks 8 --per-node 4 --sizes 1M --algorithms leaders
expect 0 0 "would need" $simulate alltoall --ranks 4096 --per-node 16 --node-map permuted:1 --sizes 8 --memory 0.1 --no-rivals --algorithms spread-out
expect 0 0 "3 nodes" $simulate alltoall --ranks 6 --node-map roundrobin:3 --sizes 8 --algorithms pairwise

# The same layout, by other options; and older names, as in explain.
for layout in "--ranks 6 --per-node 2" "--nodes 3 --per-node 2" "--ranks 6 --nodes 3" "--node-map 0,0,1,1,2,2"; do
  expect 0 0 "6 ranks on 3 nodes, at most 2 on one" $simulate alltoall $layout --sizes 8 --algorithms pairwise,spread-out
done
expect 0 1 "--map roundrobin:3 is read as --node-map roundrobin:3" $simulate alltoall --ranks 6 --map roundrobin:3 --sizes 8 \
  --algorithm pairwise spread-out
expect 2 1 "(did you mean --network?)" $simulate alltoall --ranks 4 --netwrok hdr

expect 2 1 "--ranks is missing" $simulate alltoall
expect 2 1 "is not among" $simulate bcast --ranks 4
expect 2 1 "neighbour" $simulate alltoall --ranks 4 --grid 2x2
expect 2 1 "--agree" $simulate neighbor_alltoall --ranks 4 --agree
expect 2 1 "has 6 ranks" $simulate neighbor_alltoall --ranks 4 --grid 3x2
expect 2 1 "--neighborhood=nosuch: expected" $simulate neighbor_alltoall --ranks 4 --neighborhood nosuch
expect 2 1 "nosuch" $simulate alltoall --ranks 4 --algorithms nosuch
expect 2 1 "radix" $simulate alltoall --ranks 4 --algorithms zero-rotation-bruck:radix=1
expect 2 1 "it is the MPI's own" $simulate alltoall --ranks 4 --algorithms mpi
expect 2 1 "it needs all ranks on one node" $simulate alltoall --ranks 4 --algorithms inbox
expect 2 1 "--sizes" $simulate alltoall --ranks 4 --sizes x
expect 2 1 "for the v and w forms" $simulate alltoall --ranks 4 --distribution uniform
expect 2 1 "--distribution" $simulate alltoallv --ranks 4 --distribution nosuch
expect 2 1 "there is no '$work/nowhere'; known networks are slingshot" $simulate alltoall --ranks 4 --network "$work/nowhere"
expect 2 1 "slingshot:fast" $simulate alltoall --ranks 4 --network slingshot:odd
expect 2 1 "nosuch:3" $simulate alltoall --ranks 4 --node-map nosuch:3
expect 2 1 "--ranks" $simulate alltoall --ranks 0
expect 2 1 "cannot write" $simulate alltoall --ranks 4 --json "$work/nowhere/x"
# bad TEXT JSON: a network that is refused.
bad() {
  printf '%s' "$2" >"$work/bad"
  expect 2 1 "$1" $simulate alltoall --ranks 4 --sizes 8 --network "$work/bad"
}
bad "is not a JSON object" '[1]'
bad "is not a JSON object" '{"latency": '
bad "'speed' is not a constant of a network" '{"latency": 1, "speed": 2}'
bad "overhead must be a number" '{"latency": 1, "overhead": "x"}'
bad "gap must be from 0" '{"latency": 1, "gap": -1}'
bad "latency must be 0.001 ns at least" '{"overhead": 1}'
finish
