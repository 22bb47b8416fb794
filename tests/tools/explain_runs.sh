# `quadrille explain` ranks all algorithms on many nodes, by a model.
. "$(dirname "$0")/common.sh"
export QUADRILLE_TUNING=none
explain="$TOOL explain"

# A small made-up machine, whose times can be worked out by hand: round numbers of nanoseconds.
cat >"$work/small" <<'JSON'
{"quadrille_tuning": 2, "machine": {"processor": "made up", "cores": 4},
 "entries": [
  {"of": "model", "ranks": 6, "ranks_on_node": 2, "crowded": false, "processors": 2,
   "quadrille": {"message": 1000, "byte": 1, "node_message": 500, "node_byte": 2, "near_message": 100, "near_byte": 0.5,
                 "copied_byte": 0.1, "copied_block": 10, "shared_byte": 0.2, "shared_block": 20, "round": 300, "fence": 200,
                 "flight": 0},
   "mpi": {"message": 2000, "byte": 1, "node_message": 0, "node_byte": 0, "near_message": 0, "near_byte": 0,
           "copied_byte": 0, "copied_block": 0, "shared_byte": 0, "shared_block": 0, "round": 0, "fence": 0, "flight": 0}},
  {"of": "model", "ranks": 6, "ranks_on_node": 1, "crowded": false,
   "quadrille": {"message": 1000, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0},
   "mpi": {"message": 1000, "byte": 1, "copied_byte": 0, "copied_block": 0, "round": 0}}]}
JSON

# golden SIZE ALGORITHM US: 3 nodes of 2 ranks.
golden() {
  $explain alltoall --nodes 3 --per-node 2 --sizes "$1" --model "$work/small" --algorithms "$2" --json >"$work/json" || fail "$*"
  python3 - "$work/json" "$3" <<'PYTHON' || fail "golden $*: $(cat "$work/json")"
import json, sys
answer = json.load(open(sys.argv[1]))
[one] = answer["ranking"]
assert abs(one["us"] - float(sys.argv[2])) < 1e-6, one
assert abs(sum(one["made_of"].values()) - one["us"]) < 1e-6, one
PYTHON
}
# A rank sends 4 messages of 100 bytes to other nodes, its node 8; one stays inside; the own block is copied; one round:
# 4000 + 400 + 4000 + 1600 + 150 + 20 + 300.
golden 100 spread-out 10.47
# Taken for Bruck: 3 messages of 7 blocks in all, not 4 of 4.
golden 100 mpi 6.7
# One leader: 2 messages of 400 bytes; 9 copies (6 in, 3 runs out), 1200 bytes; two waits of two ranks; one round:
# 2000 + 800 + 1000 + 1600 + 180 + 240 + 400 + 300.
golden 100 leaders 6.52
# Two leaders: each 2 messages of 200 bytes, their node 4 of 800 in all.
golden 100 leaders:leaders=2 7.12
# As spread-out between nodes; inside both ranks' blocks are written into inboxes and read: 4 copies, 400 bytes.
golden 100 single-copy 10.46
# In the order of rows: 1 copy of its own block, 1 of the other's, and two waits.
golden 100 hint-row 10.76

small="$explain alltoall --nodes 3 --per-node 2 --sizes 100 --model $work/small"
expect 0 0 "leaders is first: beside the MPI's own it saves 4.0 us of messages between nodes of a rank (2 instead of 3)" $small
expect 0 0 "inbox: the ranks live on 3 nodes" $small
expect 0 0 "hint-hilbert: not all ranks of a node reach each other's memory" $small --no-load-store
expect 0 0 "fitted with 6 ranks, 2 a node, on made up; all ranks were looked at" $small
expect 0 0 "no model of 7 ranks a node" $explain alltoall --nodes 3 --per-node 7 --model "$work/small"
expect 0 0 "more ranks than the model was fitted with" $explain alltoall --nodes 30 --per-node 2 --model "$work/small"
expect 0 0 "3 nodes, at most 3 on one" $explain alltoall --node-map 0,0,0,1,1,2
expect 0 0 "4 nodes, at most 2 on one (round-robin)" $explain allgather --nodes 4 --per-node 2 --node-map round-robin
expect 0 0 "at most 9 on one" $explain alltoallw --nodes 2 --per-node 6 --node-map ragged:9,3
expect 0 0 "sizes 'uniform' of 1024 bytes" $explain alltoallv --nodes 4 --per-node 4 --sizes 1K --distribution uniform
expect 0 0 "8 times as large on the busiest rank" $explain alltoallv --nodes 4 --per-node 4 --skew 8

# The same layout, by other options; and several sizes.
expect 0 0 "6 ranks on 3 nodes, at most 2 on one (blocked:2)" $explain alltoall --nodes 3 --per-node 2
expect 0 0 "6 ranks on 3 nodes, at most 2 on one (even:3)" $explain alltoall --ranks 6 --nodes 3
expect 0 0 "6 ranks on 3 nodes, at most 2 on one (blocked:2)" $explain alltoall --ranks 6 --per-node 2
expect 0 0 "3 ranks on 3 nodes" $explain alltoall --nodes 3
expect 2 1 "4 ranks cannot be on --nodes 5" $explain alltoall --ranks 4 --nodes 5
expect 2 1 "--ranks 7 is not --nodes 3 times --per-node 2" $explain alltoall --ranks 7 --nodes 3 --per-node 2
expect 2 1 "names the nodes of 3 ranks, and --ranks says 4" $explain alltoall --ranks 4 --node-map 0,0,1
$explain alltoall --nodes 3 --sizes 100,1K --json | python3 -c 'import json, sys
assert [one["bytes"] for one in json.load(sys.stdin)] == [100, 1024]' || fail "two sizes"
# Older names are still read: a node map with a line that names the option it belongs to.
expect 0 0 "leaders" $explain alltoall --nodes 3 --per-node 2 --size 100 --algorithm leaders
expect 0 1 "--map 0,0,0,1,1,2 is read as --node-map 0,0,0,1,1,2" $explain alltoall --map 0,0,0,1,1,2
expect 0 1 "--nodes blocked:2 is read as --node-map blocked:2" $explain alltoall --ranks 6 --nodes blocked:2
expect 2 2 "a node map is given twice" $explain alltoall --map 0,0,1 --node-map 0,1,1
expect 2 1 "--nodes=three: expected" $explain alltoall --nodes three
expect 2 1 "--nodes=0: expected" $explain alltoall --nodes 0
# An option that is not known: the nearest is suggested, if there is one.
expect 2 1 "unknown option or argument: --node-mop 0,1 (did you mean --node-map?); see" $explain alltoall --node-mop 0,1
expect 2 1 "unknown option or argument: --siezs=8 (did you mean --sizes?); see" $explain alltoall --nodes 2 --siezs=8
expect 2 1 "unknown option or argument: --frobnicate; see" $explain alltoall --nodes 2 --frobnicate
expect 2 1 "unknown option or argument: --versoin (did you mean --version?); see" "$TOOL" --versoin

# A terminal shows which algorithm is looked at; without one nothing does, before some seconds have passed.
expect 0 0 "explain: 6 ranks, algorithm 1: leaders" python3 "$(dirname "$0")/on_terminal.py" $small --algorithms leaders,spread-out
expect 0 0 "explain: 6 ranks, algorithm 2: spread-out" python3 "$(dirname "$0")/on_terminal.py" $small --algorithms leaders,spread-out
expect 0 0 "leaders is first" $small --progress

# What a machine of many nodes looks like: all that is registered is there, the fastest first, within seconds.
$explain alltoall --nodes 256 --per-node 128 --sizes 64 --json >"$work/json" || fail "256 nodes"
$TOOL list --json >"$work/list"
python3 - "$work/json" "$work/list" <<'PYTHON' || fail "256 nodes: $(head -c 2000 "$work/json")"
import json, sys
answer, algorithms = (json.load(open(name)) for name in sys.argv[1:])
assert answer["ranks"] == 32768 and answer["ranks_looked_at"] < 100, answer["ranks"]
times = [one["us"] for one in answer["ranking"]]
assert times == sorted(times)
there = [one["algorithm"].split(":")[0] for one in answer["ranking"]] + [one["algorithm"] for one in answer["cannot"]]
assert sorted(there) == sorted(one["name"] for one in algorithms if "alltoall" in one["collectives"]), there
first = there[0]
assert first in ("leaders", "tuna-hierarchical"), answer["ranking"][0]
assert there.index("leaders") < there.index("spread-out"), there
assert answer["why"].startswith(first + " is first"), answer["why"]
for one in answer["ranking"]:
    assert abs(sum(one["made_of"].values()) - one["us"]) < 1e-6 * one["us"], one
PYTHON

expect 2 1 "not among alltoall" $explain bcast --nodes 2 --per-node 2
expect 2 1 "not among alltoall" $explain neighbor_alltoall --nodes 2 --per-node 2
expect 2 1 "collective" $explain
expect 2 1 "--ranks is missing, or --nodes and --per-node" $explain alltoall
expect 2 1 "--ranks is missing, or --nodes and --per-node" $explain alltoall --per-node 3
expect 2 1 "are for other node maps" $explain alltoall --nodes 3 --per-node 2 --node-map 0,0,1
expect 2 1 "--node-map takes blocked, round-robin" $explain alltoall --nodes 3 --per-node 2 --node-map nosuch
expect 2 1 "--node-map takes blocked, round-robin" $explain alltoall --nodes 3 --per-node 2 --node-map 0,,1
expect 2 1 "two ranks at least" $explain alltoall --nodes 1 --per-node 1
expect 2 1 "at most 1048576 ranks" $explain alltoall --nodes 1048576 --per-node 2
expect 2 1 "--sizes" $explain alltoall --nodes 2 --per-node 2 --sizes x
expect 2 1 "for its v and w forms" $explain alltoall --nodes 2 --per-node 2 --skew 2
expect 2 1 "--distribution" $explain alltoallv --nodes 2 --per-node 2 --distribution nosuch
expect 2 1 "a stencil is for neighbour" $explain alltoallv --nodes 2 --per-node 2 --distribution stencil
expect 2 1 "--skew must be 1 at least" $explain alltoallv --nodes 2 --per-node 2 --skew 0.5
expect 2 1 "excludes" $explain alltoallv --nodes 2 --per-node 2 --skew 2 --distribution uniform
expect 2 1 "there is no '$work/nowhere'" $explain alltoall --nodes 2 --per-node 2 --model "$work/nowhere"
expect 2 1 "nosuch" $explain alltoall --nodes 2 --per-node 2 --algorithms nosuch
printf '{"quadrille_tuning": 2, "machine": {"processor": "x", "cores": 1}, "entries": []}' >"$work/empty"
expect 2 1 "has no model" $explain alltoall --nodes 2 --per-node 2 --model "$work/empty"
# A table with one of the terms of several ranks a node has all of them.
sed '0,/"flight": 0/s/, *"fence": 200,//; 0,/"flight": 0/s/"flight": 0/"x": 0/' "$work/small" >"$work/bad"
expect 2 1 "line" $explain alltoall --nodes 2 --per-node 2 --model "$work/bad"
finish
