# `quadrille doctor`: a command that works, and commands that do not.
. "$(dirname "$0")/common.sh"
doctor="$TOOL doctor"

expect 0 - "No problems found on this machine" $doctor
expect 0 - "the launcher starts ranks, and all data were correct" $doctor -- "$MPIRUN" -n 2 "$PROGRAM"
expect 0 - "quadrille run -- $MPIRUN -n 2 $PROGRAM input" $doctor --no-trial -- "$MPIRUN" -n 2 "$PROGRAM" input
expect 1 - "launcher 'mpirun.nowhere' is not found" $doctor -- mpirun.nowhere -n 2 "$PROGRAM"
expect 1 - "is not an MPI program" $doctor -- "$MPIRUN" -n 2 /bin/ls
expect 1 - "QUADRILLE=off: nothing is served" env QUADRILLE=off $doctor
expect 0 - "unknown variable QUADRILLE_ALGORITM" env QUADRILLE_ALGORITM=alltoall=ring $doctor
expect 2 1 "unknown option or argument: --explode; see 'quadrille doctor --help'" $doctor --explode
expect 0 - "ranks reach each other's memory by" $doctor --no-trial

# The library that the program finds is measured, not the one that the tool or the launcher would find; under a batch
# system's launcher, too.
make_own_mpi
printf '#!/bin/sh\nexec "%s" "$@"\n' "$MPIRUN" >"$work/srun"
chmod +x "$work/srun"
for launcher in "$MPIRUN" "$work/srun"; do
  expect 0 - ", $OWN_MPI/$mpi; buffers in the shared heap" $doctor -- "$launcher" -n 2 "$RPATH_PROGRAM"
done
# Where another one is asked for, doctor says so.
cp "$OWN_MPI/$mpi" "$OWN_MPI/other-$mpi"
expect 0 - "with another library than the program has here" env QUADRILLE_LIBMPI="$OWN_MPI/other-$mpi" \
  $doctor -- "$MPIRUN" -n 2 "$PROGRAM"
# A library with a name as Cray MPICH has it is measured, too.
if [ "$ABI" = mpich ]; then
  ln -sf "$(readlink "$OWN_MPI/$mpi")" "$OWN_MPI/libmpi_gnu_123.so.12"
  expect 0 - ", $OWN_MPI/libmpi_gnu_123.so.12; buffers" $doctor -- "$work/srun" -n 2 "$CRAY_PROGRAM"
fi
# Each size has six columns, in private memory and in the heap.
$doctor -- "$MPIRUN" -n 2 "$PROGRAM" >"$work/out" 2>&1
awk '/^ +bytes/ {rows = 1; next} rows && NF != 6 {exit} rows {n[$2]++} END {exit n["private"] != 3 || n["heap"] != 3}' "$work/out" ||
  fail "not three sizes of six columns for each memory: $(cat "$work/out")"

# What stands in front of the MPI.
expect 0 - "$TOOL_IN_FRONT, preloaded, defines MPI_Alltoall" env LD_PRELOAD="$TOOL_IN_FRONT" \
  $doctor --no-trial -- "$MPIRUN" -n 2 "$PROGRAM"
expect 0 - "$TOOL_IN_FRONT, preloaded, defines MPI_Alltoall" \
  $doctor --no-trial -- "$MPIRUN" -n 2 env LD_PRELOAD="$TOOL_IN_FRONT" "$PROGRAM"
expect 0 - "defines MPI_Alltoall itself: Quadrille serves" $doctor --no-trial -- "$MPIRUN" -n 2 "$PROGRAM_WITH_TOOL"
$doctor --no-trial -- "$MPIRUN" -n 2 "$PROGRAM" 2>&1 | grep -q ' tool ' && fail "a tool where there is none"
if [ "$ABI" = openmpi ] && grep -q MPIX_Comm_shrink "$OWN_MPI/$mpi"; then
  expect 0 - "--with-ft ulfm: Open MPI runs with fault tolerance" $doctor --no-trial -- "$MPIRUN" --with-ft ulfm -n 2 "$PROGRAM"
else
  expect 0 - "No problems found" $doctor --no-trial -- "$MPIRUN" --with-ft ulfm -n 2 "$PROGRAM"
fi

# A launcher that cannot start anything.
printf '#!/bin/sh\n[ "$1" = --version ] && exec "%s" --version\necho "There are not enough slots available" >&2\nexit 1\n' "$MPIRUN" >"$work/mpirun"
chmod +x "$work/mpirun"
expect 1 - "Open MPI has fewer slots than ranks" $doctor -- "$work/mpirun" -n 200 "$PROGRAM"

# All ways closed.
[ -e /dev/xpmem ] || expect 1 - "forwarded to the MPI" env QUADRILLE_REACH=xpmem $doctor

$doctor --json >"$work/json" 2>/dev/null
python3 - "$work/json" <<'PYTHON' || fail "the JSON is not as promised"
import json, sys
findings = json.load(open(sys.argv[1]))
assert findings and all({"level", "of", "what", "advice"} <= set(one) for one in findings), findings
quiet = [one["quiet"] for one in findings if "quiet" in one]
assert len(quiet) == 1 and quiet[0]["p99_over_median"] >= 1 and quiet[0]["line"].startswith("machine is "), findings
assert {one["level"] for one in findings} <= {"ok", "note", "BAD"}, findings
PYTHON
finish
