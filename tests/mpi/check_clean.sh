#!/bin/sh
# Runs a command that starts MPI ranks and checks what it leaves on the machine.
#   check_clean.sh end COMMAND...   the command must succeed, and must have used segments
#   check_clean.sh torn COMMAND...  the command must fail: a rank ends in the middle of the run, when segments are in use
# Afterwards no process of the command may live, and there may be no new file with our name.
ending=$1
shift

# Files that carry our name, in the places where such files live.
our_files() {
  find /dev/shm /tmp -maxdepth 1 \( -name 'quadrille*' -o -name 'libquadrille*' \) 2>/dev/null | sort
}

QUADRILLE_CHECK_MARK=check-clean-$$
export QUADRILLE_CHECK_MARK
# Processes of the command: they have inherited the mark. Not this script's own.
our_processes() {
  for process in /proc/[0-9]*; do
    id=${process#/proc/}
    [ "$id" = "$$" ] && continue
    if tr '\0' '\n' 2>/dev/null <"$process/environ" |
       grep -qx "QUADRILLE_CHECK_MARK=$QUADRILLE_CHECK_MARK" &&
       tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "checks finalize"; then
      echo "$id"
    fi
  done
}

before=$(our_files)
output=$("$@" 2>&1)
status=$?
echo "$output"
case $ending in
  end)
    [ $status -eq 0 ] || { echo "the command failed with status $status"; exit 1; }
    echo "$output" | grep -q 'segments before MPI_Finalize: [1-9]' || {
      echo "no segment was in use: the check sees nothing"; exit 1; }
    ;;
  torn)
    [ $status -ne 0 ] || { echo "the command succeeded although a rank ended early"; exit 1; }
    echo "$output" | grep -q 'segments in the middle: [1-9]' || {
      echo "no segment was in use when a rank ended: the check sees nothing"; exit 1; }
    ;;
esac

# The launcher may need a moment to end the other ranks.
tries=0
while [ -n "$(our_processes)" ]; do
  tries=$((tries + 1))
  [ $tries -lt 600 ] || { echo "still running: $(our_processes)"; exit 1; }
  sleep 0.1
done
after=$(our_files)
[ "$before" = "$after" ] || { echo "files were left: $after"; exit 1; }
