#!/bin/sh
# says.sh PATTERN... -- COMMAND...: runs the command; passes if it passes and its output has each pattern.
patterns=""
while [ "$1" != "--" ]; do
  patterns="$patterns$1
"
  shift
done
shift
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
status="$({ { "$@" 2>&1; echo $? >&3; } | tee "$output" >&4; } 3>&1 4>&2)"
[ "$status" -eq 0 ] || exit "$status"
printf '%s' "$patterns" | while read -r pattern; do
  grep -q -- "$pattern" "$output" && continue
  echo "says.sh: no line with: $pattern" >&2
  exit 1
done
