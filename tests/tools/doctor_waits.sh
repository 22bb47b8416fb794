# `quadrille doctor` with a launcher that takes long, and signals.
. "$(dirname "$0")/common.sh"
doctor="$TOOL doctor"

# How long it takes shows on a terminal at once, and without one after three seconds, if that is wanted. On a busy
# machine a line may name a later second.
long_launcher() {
  printf '#!/bin/sh\n[ "$1" = --version ] && exec "%s" --version\n%s\n' "$MPIRUN" "$1" >"$work/mpirun"
  chmod +x "$work/mpirun"
}
long_launcher "for try in \$(seq 600); do grep -q 'trying the launcher' '$work/err' && break; sleep 0.1; done"
expect 1 1 "trying the launcher: " $doctor --progress -- "$work/mpirun" -n 2 "$PROGRAM"
grep -q "trying the launcher: [3-9][0-9]* s of at most 120" "$work/err" || fail "--progress: $(cat "$work/err")"
long_launcher "sleep 4"
expect 1 0 "" $doctor -- "$work/mpirun" -n 2 "$PROGRAM"
long_launcher "sleep 3"
expect 1 0 "trying the launcher: " python3 "$(dirname "$0")/on_terminal.py" $doctor -- "$work/mpirun" -n 2 "$PROGRAM"
grep -q "trying the launcher: [1-9][0-9]* s of at most 120" "$work/out" || fail "on a terminal: $(cat "$work/out")"

# A signal to doctor goes to the launcher that it tries, and ends doctor.
long_launcher "trap 'echo asked >$work/asked; exit 1' TERM; echo begun >$work/begun; while :; do sleep 0.1; done"
$doctor -- "$work/mpirun" -n 2 "$PROGRAM" >"$work/out" 2>&1 &
pid=$!
for try in $(seq 600); do
  [ -s "$work/begun" ] && break
  sleep 0.1
done
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] || fail "SIGTERM: status $status: $(cat "$work/out")"
grep -q asked "$work/asked" || fail "SIGTERM: the launcher did not get it"
finish
