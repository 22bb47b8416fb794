# The page of `quadrille report` in a browser without a screen: no script error, and every communicator can be chosen. Skipped where
# there is no Chromium.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
. "$(dirname "$0")/browser.sh"

# count PATTERN NUMBER: so often in the page; not in its script, in whose texts no number or name stands there.
count() {
  local found
  found=$(grep -oE -- "$1" "$work/dom" | wc -l)
  [ "$found" = "$2" ] || fail "$found, not $2, of $1"
}

page="$work/page.html"
expect 0 - "the report is in" "$TOOL" report --output "$page" --data "$work/data.json" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" all
dom "file://$page"
has "$REPORT_PROGRAM all"
has '4 ranks on 1 node'
has 'alltoall, nonblocking'
has 'even (2 ranks)'
has 'Lines for the job script'
count 'class="call"><td>[a-z]' "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["calls"]))' "$work/data.json")"
# Of communicators, call sites and collectives, if there are several.
count 'class="sum" data-seconds="[0-9]' "$(python3 -c 'import json, sys
calls = json.load(open(sys.argv[1]))["calls"]
sums = [{key(call) for call in calls} for key in (lambda c: c["communicator"], lambda c: json.dumps(c["where"]), lambda c: (c["collective"], c["form"]))]
print(sum(len(one) for one in sums if len(one) > 1))' "$work/data.json")"
count 'class="cell" data-from="[0-9]' 16
count 'class="of-rank" x="[0-9]' 4
grep -qE 'class="replayed"><td>[a-z]' "$work/dom" || fail "no call was made again"
grep -q 'data-result=' "$work/dom" && fail "a script error: $(grep -o 'id="autotest"[^<]*<' "$work/dom")"
dom "file://$page#autotest"
has 'data-result="passed"'

# A program that was interrupted, and one with more than has room.
expect 5 - "the report is in" "$TOOL" report --output "$page" -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" abort
dom "file://$page#autotest"
has 'ended with status 5'
has 'did not come to MPI_Finalize'
has 'data-result="passed"'
expect 0 - "the report is in" "$TOOL" report --no-replay --output "$page" --data "$work/data.json" -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" many
dom "file://$page#autotest"
has 'more than 64 communicators at a time'
has 'data-result="passed"'

# Text of the program is no part of the page, and data that are wrong are seen.
python3 - "$work/data.json" <<'PYTHON'
import json, sys
data = json.load(open(sys.argv[1]))
data['command'] = ['mpirun', '</script><b id=injected>', "it's"]
data['communicators'][0]['name'] = '<i id=injected>'
data['left_out'] = {key: 0 for key in data['left_out']}
data['traffic']['bytes'][0][0] += 1000000
json.dump(data, open(sys.argv[1], 'w'))
PYTHON
expect 0 - "the report is in" "$TOOL" report --data "$work/data.json" --output "$page"
dom "file://$page#autotest"
grep -qE '<(b|i) id="injected"' "$work/dom" && fail "text became a part of the page"
has 'data-result="failed"'
has 'Error: traffic'
finish
