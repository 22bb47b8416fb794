# The page of `quadrille report` in a browser without a screen: no script error, every communicator can be chosen, and it can be
# read. QUADRILLE_TEST_ALL=1: more pages are measured. Skipped where there is no Chromium.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
. "$(dirname "$0")/browser.sh"

# report_of STATUS NAME OPTION...: NAME.html in $work.
report_of() {
  local status=$1 name=$2
  shift 2
  expect "$status" - "the report is in" "$TOOL" report --output "$work/$name.html" "$@"
}
report_of 0 all --replay-seconds 1 --data "$work/data.json" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" all
# Pages that are hard to draw.
python3 "$(dirname "$0")/report_looks_data.py" "$work/data.json" "$work"
for name in long ranks64 ranks301 nothing; do report_of 0 $name --data "$work/$name.json"; done
# A program that was interrupted, and one with more than has room.
report_of 5 aborted -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" abort
report_of 0 many --no-replay --data "$work/many.json" -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" many
# Text of the program is no part of the page, and data that are wrong are seen.
python3 - "$work/many.json" "$work/wrong.json" <<'PYTHON'
import json, sys
data = json.load(open(sys.argv[1]))
data['command'] = ['mpirun', '</script><b id=injected>', "it's"]
data['communicators'][0]['name'] = '<i id=injected>'
data['left_out'] = {key: 0 for key in data['left_out']}
data['traffic']['bytes'][0][0] += 1000000
json.dump(data, open(sys.argv[2], 'w'))
PYTHON
report_of 0 wrong --data "$work/wrong.json"

measured='long ranks301'
[ -z "${QUADRILLE_TEST_ALL:-}" ] || measured="$measured all many ranks64 nothing"
browse --dom "$work/start=file://$work/all.html" $(for name in aborted many wrong all; do echo --dom "$work/$name=file://$work/$name.html#autotest"; done) \
  $(for name in $measured; do echo "$name=file://$work/$name.html"; done)

# count PATTERN NUMBER: so often in the page; not in its script, in whose texts no number or name stands there.
count() {
  local found
  found=$(grep -oE -- "$1" "$dom" | wc -l)
  [ "$found" = "$2" ] || fail "$found, not $2, of $1"
}
dom start
has "$REPORT_PROGRAM all"
has '4 ranks on 1 node'
has 'alltoall, nonblocking'
has 'even (2 ranks)'
has 'Lines for the job script'
count 'class="call"><td class="text" data-name="Collective">[a-z]' "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["calls"]))' "$work/data.json")"
# Of communicators, call sites and collectives, if there are several.
count 'class="sum" data-seconds="[0-9]' "$(python3 -c 'import json, sys
calls = json.load(open(sys.argv[1]))["calls"]
sums = [{key(call) for call in calls} for key in (lambda c: c["communicator"], lambda c: json.dumps(c["where"]), lambda c: (c["collective"], c["form"]))]
print(sum(len(one) for one in sums if len(one) > 1))' "$work/data.json")"
count 'class="cell" data-from="[0-9]' 16
count 'class="of-rank" style="height: [0-9]' 4
grep -qE 'class="replayed"><td class="text" data-name="Collective">[a-z]' "$dom" || fail "no call was made again"
grep -q 'data-result=' "$dom" && fail "a script error: $(grep -o 'id="autotest"[^<]*<' "$dom")"
dom all
has 'data-result="passed"'
dom aborted
has 'ended with status 5'
has 'did not come to MPI_Finalize'
has 'data-result="passed"'
dom many
has 'more than 64 communicators at a time'
has 'data-result="passed"'
dom wrong
grep -qE '<(b|i) id="injected"' "$dom" && fail "text became a part of the page"
has 'data-result="failed"'
has 'Error: traffic'
finish
