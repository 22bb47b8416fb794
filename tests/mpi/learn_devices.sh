#!/bin/sh
# learn_devices.sh COMMAND...: what trials of one program found of a device's memory, the next one obeys, as COMMAND checks.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() {
  echo "learn_devices.sh: $*" >&2
  exit 1
}
export QUADRILLE_TRIALS=learn QUADRILLE_TUNING="$work/tuning.json" QUADRILLE_EXPLAIN=1
"$@" > "$work/first" 2>&1 || { cat "$work/first"; fail "the first program fails"; }
count="$(grep -c '"memory": "device"' "$QUADRILLE_TUNING")"
[ "$count" -ge 5 ] || { cat "$QUADRILLE_TUNING"; fail "$count entries of a device's memory are kept"; }
QUADRILLE_TEST_LEARNED=1 "$@" > "$work/second" 2>&1 || { cat "$QUADRILLE_TUNING" "$work/second"; fail "the second program fails"; }
grep -q "ignored" "$work/second" && fail "the table is refused"
exit 0
