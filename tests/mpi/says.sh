#!/bin/sh
# says.sh TEXT COMMAND...: runs the command; passes if it passes and its output has TEXT in one line.
text="$1"
shift
output="$("$@" 2>&1)"
status=$?
printf '%s\n' "$output"
[ "$status" -eq 0 ] || exit "$status"
printf '%s\n' "$output" | grep -qF -- "$text" && exit 0
echo "says.sh: no line with: $text" >&2
exit 1
