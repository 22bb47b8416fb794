#!/bin/sh
# learn.sh COMMAND...: what trials of one program found, the next one obeys; and where it cannot be kept, nothing fails.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() {
  echo "learn.sh: $*" >&2
  exit 1
}
export QUADRILLE_TRIALS=learn QUADRILLE_TUNING="$work/place/tuning.json" QUADRILLE_EXPLAIN=1
"$@" > "$work/first" 2>&1 || { cat "$work/first"; fail "the first program fails"; }
grep -q "the first calls.* took" "$work/first" || fail "nothing was tried"
grep -q "trials in '$QUADRILLE_TUNING'" "$work/first" || fail "nothing is kept"
"$@" > "$work/second" 2>&1 || { cat "$work/second"; fail "the second program fails"; }
for collective in alltoall alltoallv allgather allgatherv; do
  grep -q "$collective on .* -> .*: measured before" "$work/second" || {
    cat "$QUADRILLE_TUNING" "$work/second"
    fail "what was found of $collective is not obeyed"
  }
done
grep -q "the first calls.* took" "$work/second" && fail "it is tried again"
grep -q "ignored" "$work/second" && fail "the table is refused"
grep -q "no trial was completed: nothing new to save in '$QUADRILLE_TUNING'" "$work/second" || fail "it does not say that nothing is new"

unset QUADRILLE_EXPLAIN
for place in /proc/no/tuning.json "$work/first"; do
  cp "$work/first" "$work/before"
  QUADRILLE_TUNING=$place "$@" > "$work/third" 2>&1 || { cat "$work/third"; fail "it fails with $place"; }
  [ "$(grep -c "quadrille: cannot save what the trials found: .*$place" "$work/third")" = 1 ] || {
    cat "$work/third"
    fail "it does not say once that $place cannot be written"
  }
  cmp -s "$work/first" "$work/before" || fail "it wrote into what is no table"
done
exit 0
