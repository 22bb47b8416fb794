# `quadrille doctor`: a command that works, and commands that do not.
. "$(dirname "$0")/common.sh"
doctor="$TOOL doctor"

expect 0 - "Nothing is in the way on this machine" $doctor
expect 0 - "the launcher starts ranks, and all data came right" $doctor -- "$MPIRUN" -n 2 "$PROGRAM"
expect 0 - "quadrille run -- $MPIRUN -n 2 $PROGRAM input" $doctor --no-trial -- "$MPIRUN" -n 2 "$PROGRAM" input
expect 1 - "launcher 'mpirun.nowhere' is not found" $doctor -- mpirun.nowhere -n 2 "$PROGRAM"
expect 1 - "is not an MPI program" $doctor -- "$MPIRUN" -n 2 /bin/ls
expect 1 - "QUADRILLE=off: nothing is served" env QUADRILLE=off $doctor
expect 0 - "QUADRILLE_ALGORITM is not known" env QUADRILLE_ALGORITM=alltoall=ring $doctor
expect 2 1 "unknown option or argument: --explode; see 'quadrille doctor --help'" $doctor --explode
expect 0 - "ranks reach each other's memory by" $doctor --no-trial

# A launcher that cannot start anything.
printf '#!/bin/sh\n[ "$1" = --version ] && exec "%s" --version\necho "There are not enough slots available" >&2\nexit 1\n' "$MPIRUN" >"$work/mpirun"
chmod +x "$work/mpirun"
expect 1 - "Open MPI has fewer slots than ranks" $doctor -- "$work/mpirun" -n 200 "$PROGRAM"

# One that takes long: how long shows on a terminal at once, and without one after three seconds, if that is wanted.
printf '#!/bin/sh\n[ "$1" = --version ] && exec "%s" --version\nsleep 4\n' "$MPIRUN" >"$work/mpirun"
expect 1 1 "trying the launcher: 3 s of at most 120" $doctor --progress -- "$work/mpirun" -n 2 "$PROGRAM"
expect 1 0 "" $doctor -- "$work/mpirun" -n 2 "$PROGRAM"
expect 1 0 "trying the launcher: 1 s of at most 120" \
  python3 "$(dirname "$0")/on_terminal.py" $doctor -- "$work/mpirun" -n 2 "$PROGRAM"

# All ways closed.
[ -e /dev/xpmem ] || expect 1 - "all but small blocks go to the MPI" env QUADRILLE_REACH=xpmem $doctor

$doctor --json >"$work/json" 2>/dev/null
python3 - "$work/json" <<'PYTHON' || fail "the JSON is not as promised"
import json, sys
findings = json.load(open(sys.argv[1]))
assert findings and all(set(one) == {"level", "of", "what", "advice"} for one in findings), findings
assert {one["level"] for one in findings} <= {"ok", "note", "BAD"}, findings
PYTHON
finish
