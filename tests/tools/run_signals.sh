# What `quadrille run` must not change: what a signal to it does.
. "$(dirname "$0")/common.sh"
run="$TOOL run"

# A signal reaches the launcher, because the tool has become the launcher; its status is the same as
# without Quadrille, and no rank is left.
signalled() {
  : >"$work/ready"  # else the ranks of the run before seem to be ready
  "$@" "$MPIRUN" -n 2 "$PROGRAM" wait >"$work/ready" 2>/dev/null &
  local pid=$! tries=0
  # A launcher may write what two ranks say on one line.
  until [ "$(grep -o ready "$work/ready" | wc -l)" = 2 ] || [ $tries = 1000 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  [ $tries = 1000 ] && echo "the ranks did not start,"  # this is a subshell: fail would be forgotten
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
expect_no_ranks "$PROGRAM wait"
finish
