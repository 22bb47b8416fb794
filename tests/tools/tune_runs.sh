# `quadrille tune` writes a table, adds to it, and programs use it; a bad one is refused and left alone.
. "$(dirname "$0")/common.sh"
file=$work/new/tuning.json
tune="$TOOL tune --batches 1"
export OMPI_MCA_rmaps_base_oversubscribe=1

expect 0 - "written to $file" $MPIRUN -n 2 $tune --file "$file"
expect 0 - "machine is " $MPIRUN -n 2 $tune --file "$file"
expect 0 - "written to $file" env QUADRILLE_TUNING="$file" $MPIRUN -n 3 $tune
python3 - "$file" <<'PYTHON' || fail "the table is not as promised"
import json, sys
table = json.load(open(sys.argv[1]))
assert table["quiet"]["p99_over_median"] >= 1, "whether the machine was quiet"
assert table["quadrille_tuning"] == 2, table
of = lambda subject: [e for e in table["entries"] if e["of"] == subject]
assert sorted(e["ranks"] for e in of("kernel-copy")) == [2, 3], table
for entry in of("kernel-copy"):
    assert set(entry) == {"of", "ranks", "crowded", "choices"}, entry
    assert all(choice["take"] == "ring" for choice in entry["choices"]), entry
collectives = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
assert sorted((e["ranks"], e["collective"]) for e in of("inbox")) == [(r, c) for r in (2, 3) for c in collectives], table
for entry in of("inbox"):
    assert set(entry) == {"of", "collective", "ranks", "crowded", "choices"}, entry
    entry["choices"] = [{"up_to": 100, "take": "inbox"}]
json.dump(table, open(sys.argv[1], "w"), indent=1)
PYTHON

# Programs use it: 200 bytes are above the limit that was put into it. No trial finds that inboxes are faster there.
short="--iterations 5 --warmup 1"
served() { grep -q "\"served_by\": \"$1\"" "$work/b.json" || fail "$2: not served by $1"; }
QUADRILLE_TRIALS=off QUADRILLE_TUNING=$file expect 0 - "" $MPIRUN -n 2 $TOOL bench alltoall --sizes 200 $short \
  --json "$work/b.json"
served single-copy "with the table"
QUADRILLE_TUNING=none expect 0 - "" $MPIRUN -n 2 $TOOL bench alltoall --sizes 200 $short --json "$work/b.json"
served inbox "without a table"

# A bad one: one line, nothing of it is used, and it is not written over.
sed -i 's/"quadrille_tuning": 2/"quadrille_tuning": 9/' "$file"
cp "$file" "$work/before"
QUADRILLE_TUNING=$file expect 0 - "line 2: version 9 is not known" \
  $MPIRUN -n 2 $TOOL bench alltoall --sizes 200 $short --json "$work/b.json"
[ "$(grep -c "tuning table" "$work/err")" = 1 ] || fail "not one line: $(cat "$work/err")"
served inbox "with a bad table"
expect 2 - "cannot be added to: line 2" $MPIRUN -n 2 $tune --file "$file"
cmp -s "$file" "$work/before" || fail "a bad table was written over"

# That of another machine: said only to who wants to know.
sed -i 's/"quadrille_tuning": 9/"quadrille_tuning": 2/; s/"processor": "/&Another /' "$file"
QUADRILLE_TUNING=$file expect 0 0 "" $MPIRUN -n 2 $TOOL bench alltoall --sizes 200 $short --json "$work/b.json"
served inbox "with another machine's table"
QUADRILLE_EXPLAIN=1 QUADRILLE_TUNING=$file expect 0 - "made on another machine" \
  $MPIRUN -n 2 $TOOL bench alltoall --sizes 200 $short
expect 2 - "of another machine" $MPIRUN -n 2 $tune --file "$file"

expect 2 1 "one rank" "$TOOL" tune
expect 0 - "inboxes up to" $MPIRUN -n 2 $tune --dry
expect 1 - "cannot write" $MPIRUN -n 2 $tune --file /proc/nowhere/tuning.json
finish
