# A program of one MPI with the launcher of another.
. "$(dirname "$0")/common.sh"
[ -x "$OTHER_MPIRUN" ] || { echo "no launcher of another MPI on this machine"; exit 77; }
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "for example mpirun.$ABI" \
  "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
# The second program of a command counts as well.
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 1 sh -c true : -n 1 "$PROGRAM"
expect 2 1 "--mpi says" "$TOOL" run --mpi "$ABI" -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"

# The library of the other build, if it is there, in a program of this MPI: it knows the ABIs of both.
if [ -e "$OTHER_PRELOAD" ]; then
  expect 0 - "calls served" \
    "$MPIRUN" -n 2 env QUADRILLE_EXPLAIN=1 LD_PRELOAD="$OTHER_PRELOAD" "$PROGRAM"
fi
finish
