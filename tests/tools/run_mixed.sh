# The launcher of another MPI: with a program of this one, and with the tool, which takes the MPI of its launcher.
. "$(dirname "$0")/common.sh"
[ -x "$OTHER_MPIRUN" ] || { echo "no launcher of another MPI on this machine"; exit 77; }
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "for example mpirun.$ABI" \
  "$TOOL" run -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"
# The second program of a command counts as well.
expect 2 1 "belongs to" "$TOOL" run -- "$OTHER_MPIRUN" -n 1 sh -c true : -n 1 "$PROGRAM"
expect 2 1 "--mpi says" "$TOOL" run --mpi "$ABI" -- "$OTHER_MPIRUN" -n 2 "$PROGRAM"

export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
expect 0 - "alltoall, 2 ranks" "$OTHER_MPIRUN" -n 2 "$TOOL" bench alltoall --sizes 8 --iterations 20 --warmup 1
finish
