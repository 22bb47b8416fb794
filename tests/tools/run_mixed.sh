# A program of one MPI with the launcher of another.
. "$(dirname "$0")/common.sh"
[ -x "$OTHER_MPIRUN" ] || { echo "no launcher of another MPI on this machine"; exit 77; }
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "for example mpirun.$ABI" \
  "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
# The second program of a command counts as well.
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 1 sh -c true : -n 1 "$PROGRAM"
expect 2 1 "--mpi says" "$TOOL" run --mpi "$ABI" -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"

# The library of the other build, if it is there, in a program of this MPI. Open MPI's handles do not fit into those of
# MPICH: the program ends before it starts. In the reverse case its calls are forwarded.
if [ -e "$OTHER_PRELOAD" ]; then
  if [ "$ABI" = openmpi ]; then
    expect 1 - "is Open MPI; this Quadrille is built for the ABI of MPICH; start the program with" \
      "$MPIRUN" -n 2 env LD_PRELOAD="$OTHER_PRELOAD" "$PROGRAM"
  else
    expect 0 - "quadrille: not used:" "$MPIRUN" -n 2 env LD_PRELOAD="$OTHER_PRELOAD" "$PROGRAM"
  fi
  [ "$(grep -c '^quadrille:' "$work/err" "$work/out" | awk -F: '{n += $2} END {print n}')" = 1 ] ||
    fail "not one line: $(cat "$work/out" "$work/err")"
fi
finish
