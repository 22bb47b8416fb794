# What `quadrille run` must not change: exit status, signals, what the user preloads. And what it adds.
. "$(dirname "$0")/common.sh"
run="$TOOL run"
PRELOAD="$PRELOAD$ADDED"  # the doors that not every MPI has

expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=1" $run --explain "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run --mpi "$ABI" -- "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 env LANG=C nice "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 1 "$PROGRAM" : -n 1 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" env -C "$(dirname "$PROGRAM")" \
  $run -- "$MPIRUN" -n 2 "./$(basename "$PROGRAM")" print
# A script: the launcher says which MPI it is.
printf '#!/bin/sh\nexec "%s" print\n' "$PROGRAM" >"$work/script"
chmod +x "$work/script"
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 "$work/script"

# What was preloaded before stays.
library=$(ldd /bin/sh | awk '/libc\.so/ {print $3}')
expect 0 - "preload=$PRELOAD:$library " env LD_PRELOAD="$library" \
  $run -- "$MPIRUN" -n 2 "$PROGRAM" print
if [ "$ABI" = openmpi ]; then
  expect 0 - "preload=$PRELOAD:$library " $run -- "$MPIRUN" -x LD_PRELOAD="$library" -n 2 "$PROGRAM" print
else
  expect 0 - "preload=$PRELOAD:$library " \
    $run -- "$MPIRUN" -genv LD_PRELOAD "$library" -n 2 "$PROGRAM" print
fi

# Exit status, through the launcher and without it.
expect 7 - "" $run -- "$MPIRUN" -n 1 "$PROGRAM" fail
expect 7 - "" $run -- "$MPIRUN" -n 2 sh -c 'exit 7'
expect 7 - "" $run -- "$PROGRAM" fail
expect 0 - "" $run -- "$MPIRUN" -n 2 "$PROGRAM"

# A signal reaches the launcher, because the tool has become the launcher; its status is the same as
# without Quadrille, and no rank is left.
signalled() {
  : >"$work/ready"  # else the ranks of the run before seem to be ready
  "$@" "$MPIRUN" -n 2 "$PROGRAM" wait >"$work/ready" 2>/dev/null &
  local pid=$! tries=0
  # A launcher may write what two ranks say on one line.
  until [ "$(grep -o ready "$work/ready" | wc -l)" = 2 ] || [ $tries = 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  [ $tries = 300 ] && echo "the ranks did not start,"  # this is a subshell: fail would be forgotten
  kill -TERM $pid
  wait $pid
  echo $?
}
# On a busy machine a launcher may answer one time with the signal and another with what its ranks answered.
for attempt in 1 2 3; do
  plain=$(signalled)
  under=$(signalled $run --)
  [ "$plain" = "$under" ] && break
  echo "SIGTERM, attempt $attempt: $plain, under Quadrille $under"
done
[ "$plain" = "$under" ] || fail "SIGTERM: status $under instead of $plain"
case "$plain$under" in *start*) fail "SIGTERM: $plain; under Quadrille $under" ;; esac
[ "$under" != 0 ] || fail "SIGTERM: status 0"
tries=0
while pgrep -f "$PROGRAM wait" >/dev/null && [ $tries -lt 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
pgrep -f "$PROGRAM wait" >/dev/null && fail "SIGTERM: ranks are left"
finish
