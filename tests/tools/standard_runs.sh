# A program of the MPI standard's ABI, STANDARD_PROGRAM, with `quadrille run`, `doctor` and `report`.
. "$(dirname "$0")/common.sh"
page="$work/page.html" data="$work/data.json"

expect 0 - "preload=$PRELOAD$ADDED explain=" "$TOOL" run -- "$MPIRUN" -n 2 "$STANDARD_PROGRAM" print
expect 0 - "preload=$PRELOAD$ADDED explain=" "$TOOL" run --mpi standard -- "$MPIRUN" -n 2 "$STANDARD_PROGRAM" print
expect 7 - "" "$TOOL" run -- "$MPIRUN" -n 1 "$STANDARD_PROGRAM" fail
QUADRILLE_SETUP_AFTER=0 expect 0 - "alltoall on 2 ranks, 1 node" \
  "$TOOL" run --explain -- "$MPIRUN" -n 2 "$STANDARD_PROGRAM"
grep -q 'summary: [1-9][0-9]* calls served' "$work/out" "$work/err" || fail "no call is served: $(cat "$work/out" "$work/err")"

expect 0 - "$STANDARD_PROGRAM uses libmpi_abi.so.1 (the MPI standard ABI)" \
  "$TOOL" doctor -- "$MPIRUN" -n 2 "$STANDARD_PROGRAM"
for said in "the launcher starts ranks, and all data were correct" "/libmpi_abi.so.1; buffers in the shared heap"; do
  grep -qF -- "$said" "$work/out" || fail "doctor: no '$said' in: $(cat "$work/out")"
done

expect 0 - "the report is in '$page'" "$TOOL" report --no-replay --output "$page" --data "$data" -- \
  "$MPIRUN" -n 2 "$STANDARD_PROGRAM"
python3 - "$data" <<'PYTHON' || fail "the recording is not what the program did"
import json, sys
calls = json.load(open(sys.argv[1]))["calls"]
assert {(call["collective"], call["form"]) for call in calls} == {("alltoall", "blocking")}, calls
assert sum(call["calls"] for call in calls) == 10, calls
PYTHON
finish
