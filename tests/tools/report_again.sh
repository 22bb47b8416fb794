# `quadrille report`: the calls are made again as they should be, whatever was set in the run, and where an MPI has not enough.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
here=$(dirname "$0")
# What is measured here is not looked at for its times.
report="$TOOL report --replay-seconds 20"
page="$work/page.html" data="$work/data.json"

# By the MPI, and by Quadrille as it chooses, also if the run was by the MPI alone, or by one algorithm; wherever that was said.
for setting in QUADRILLE=off QUADRILLE_ALGORITHM=alltoall=pairwise; do
  export "$setting"
  expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" all
  python3 "$here/report_page.py" "$data" "$page" replay 4 >"$work/checked" 2>&1 ||
    fail "replay, $setting: $(tail -n 3 "$work/checked")"
  unset "${setting%%=*}"
done
expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- \
  "$MPIRUN" -n 4 env QUADRILLE=off "$REPORT_PROGRAM" all
python3 - "$data" 2>"$work/checked" <<'PYTHON' || fail "QUADRILLE=off in the command: $(tail -n 1 "$work/checked")"
import json, sys
replay = json.load(open(sys.argv[1]))['replay']
assert replay['without'] == ['QUADRILLE=off'], replay
assert any(len(case.get('times', [])) > 2 for case in replay['cases']), replay
PYTHON
# By the MPI that the program finds, which the launcher does not.
make_own_mpi
expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- "$MPIRUN" -n 2 "$RPATH_PROGRAM"
python3 - "$data" "$OWN_MPI/$mpi" 2>"$work/checked" <<'PYTHON' || fail "the program's own MPI: $(tail -n 1 "$work/checked")"
import json, sys
data = json.load(open(sys.argv[1]))
assert data['replay']['library'] == sys.argv[2], data['replay']
assert all(of['quiet']['p99_over_median'] >= 1 for of in (data, data['replay'])), data
PYTHON
# A rank gets no communicator: all ranks go on, and say so.
for lack in WRONG_SPLIT=1 WRONG_CREATE=1 WRONG_CREATE=4; do
  expect 0 - "the report is in '$page'" env QUADRILLE_LIBMPI="$WRONG_MPI" "$lack" $report --output "$page" --data "$data" -- \
    "$MPIRUN" -n 4 "$REPORT_PROGRAM" all
  grep -q '"why": "the MPI has no communicator left"' "$data" || fail "$lack: the data do not say so"
  grep -q '"problem"' "$data" && fail "$lack: $(grep '"problem"' "$data")"
done
# So with the graph of neighbours: first for the MPI's calls, then for one of the algorithms.
for lack in WRONG_GRAPH=1 WRONG_GRAPH=4; do
  expect 0 - "the report is in '$page'" env QUADRILLE_LIBMPI="$WRONG_MPI" "$lack" $report --output "$page" --data "$data" -- \
    "$MPIRUN" -n 4 "$REPORT_PROGRAM" neighbors
  grep -q '"why": "the MPI has no communicator left"' "$data" || fail "$lack: the data do not say so"
  grep -q '"problem"' "$data" && fail "$lack: $(grep '"problem"' "$data")"
done
# Calls that take long: what would not fit into the budget is not begun. Each takes a second here, and each rank would make
# dozens of them without a limit. They are counted, not timed: other programs may use the processors.
cat >"$work/mpirun" <<SCRIPT
#!/bin/sh
case "\$*" in *--replay-cases*) export WRONG_SLEEP=1 WRONG_SLEPT="$work/slept" QUADRILLE_LIBMPI="$WRONG_MPI" ;; esac
exec "$MPIRUN" "\$@"
SCRIPT
chmod +x "$work/mpirun"
expect 0 - "the report is in '$page'" "$TOOL" report --replay-seconds 2 --output "$page" --data "$data" -- \
  "$work/mpirun" -n 2 "$REPORT_PROGRAM" names
slept=$(wc -c <"$work/slept")
[ "$slept" -gt 0 ] && [ "$slept" -le 16 ] || fail "a replay of 2 s by two ranks has made $slept calls of 1 s"
grep -q '"why": "no time' "$data" || fail "slow calls: $(grep -A8 '"replay"' "$data")"
# A launcher of a script, which starts another number of ranks: these cannot be had again.
cat >"$work/mpirun" <<SCRIPT
#!/bin/sh
case "\$*" in *--replay-cases*) exec "$MPIRUN" \$(echo "\$*" | sed 's/-n 2 /-n 1 /') ;; esac
exec "$MPIRUN" "\$@"
SCRIPT
expect 0 - "the program had 2 ranks, but the launcher in the command starts 1" $report --output "$page" --data "$data" -- \
  "$work/mpirun" -n 2 "$REPORT_PROGRAM" names
grep -q '"cases"' "$data" && fail "another world: $(grep -A8 '"replay"' "$data")"
# Between nodes Quadrille may choose the MPI's own, which is then told as its choice.
QUADRILLE_NODES=blocked:2 expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- \
  "$MPIRUN" -n 4 "$REPORT_PROGRAM" neighbors
python3 "$here/report_page.py" "$data" "$page" neighbors 4 2 >"$work/checked" 2>&1 ||
  fail "neighbours on two nodes: $(tail -n 3 "$work/checked")"
finish
