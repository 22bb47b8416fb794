# Where the MPI runs with fault tolerance, all calls are forwarded to it: survivors of a killed rank, or of a communicator
# that is revoked, get its errors and go on. OPENMPI5 is a folder with an Open MPI that can do that; it may be missing.
. "$(dirname "$0")/common.sh"
why="not used: the MPI runs with fault tolerance"

# Of this ABI by the environment. Intel MPI's variable: with its own, MPICH 5.0 does not start here.
if [ "$ABI" = mpich ]; then
  expect 0 - "$why" env I_MPI_FAULT_CONTINUE=1 $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
  grep -q "forwarded with an MPI that runs with fault tolerance" "$work/err" || fail "no summary: $(cat "$work/err")"
  expect 0 - "summary: " env I_MPI_FAULT_CONTINUE=0 $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
  grep -q "$why" "$work/err" && fail "it does not run with fault tolerance"
  finish
fi

mpicc="$OPENMPI5/bin/mpicc" mpirun="$OPENMPI5/bin/mpirun"
[ -x "$mpicc" ] && "$mpicc" -o "$work/survivor" "$(dirname "$0")/fault_tolerance.c" || exit 77
with_faults="$mpirun --with-ft ulfm --map-by :OVERSUBSCRIBE"
for how in "kill blocking" "kill nonblocking" "revoke blocking"; do
  timeout 100 $TOOL run -- $with_faults -n 3 "$work/survivor" $how >"$work/out" 2>&1
  [ "${how%% *}" = kill ] && survivors=2 || survivors=3
  [ "$(grep -c survived "$work/out")" = $survivors ] || fail "$how: $(cat "$work/out")"
done
# However it is enabled.
expect 0 - "$why" $TOOL run --explain -- "$mpirun" --mca mpi_ft_enable 1 --map-by :OVERSUBSCRIBE -n 2 "$work/survivor" revoke blocking
expect 1 - "$why" $TOOL doctor -- $with_faults -n 2 "$work/survivor"
finish
