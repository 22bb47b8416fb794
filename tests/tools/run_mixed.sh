# A program of one MPI with the launcher of another.
. "$(dirname "$0")/common.sh"
[ -x "$OTHER_MPIRUN" ] || { echo "no launcher of another MPI on this machine"; exit 77; }
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "use the launcher of the program's MPI, such as mpirun.$ABI" \
  "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "belongs to" "$TOOL" run --mpi "$ABI" -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
# The second program of a command counts as well.
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 1 sh -c true : -n 1 "$PROGRAM"
finish
