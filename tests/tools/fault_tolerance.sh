# Where the MPI runs with fault tolerance, survivors of a killed rank, or of a communicator that is revoked, get an error
# and go on. With Open MPI 5 calls are served then; OPENMPI5 is a folder with one, which may be missing. With the others all
# calls are forwarded.
. "$(dirname "$0")/common.sh"

# Of this ABI by the environment. Intel MPI's variable: with its own, MPICH 5.0 does not start here.
if [ "$ABI" = mpich ]; then
  why="not used: the MPI runs with fault tolerance"
  expect 0 - "$why" env I_MPI_FAULT_CONTINUE=1 $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
  grep -q "forwarded with an MPI that runs with fault tolerance" "$work/err" || fail "no summary: $(cat "$work/err")"
  expect 0 - "summary: " env I_MPI_FAULT_CONTINUE=0 $TOOL run --explain -- "$MPIRUN" -n 2 "$PROGRAM"
  grep -q "$why" "$work/err" && fail "it does not run with fault tolerance"
  finish
fi

mpicc="$OPENMPI5/bin/mpicc" mpirun="$OPENMPI5/bin/mpirun"
[ -x "$mpicc" ] || exit 77
"$mpicc" -I "$(dirname "$0")/../../include" -o "$work/survivor" "$(dirname "$0")/fault_tolerance.c" "$PRELOAD" || exit 1
with_faults="$mpirun --with-ft ulfm --map-by :OVERSUBSCRIBE"

# survives SURVIVORS SERVED WHAT FORM BYTES: SURVIVORS of 3 ranks survive, and rank 0 has had at least SERVED calls served.
survives() {
  local survivors=$1 least=$2 served
  shift 2
  timeout 100 $TOOL run --explain -- $with_faults -n 3 "$work/survivor" "$@" >"$work/out" 2>&1
  [ "$(grep -ac survived "$work/out")" = "$survivors" ] || fail "$*: $(cat "$work/out")"
  served=$(sed -n 's/^quadrille: summary: \([0-9]*\) calls served.*/\1/p' "$work/out")
  [ "${served:-0}" -ge "$least" ] || fail "$*: $served calls served: $(cat "$work/out")"
}

# Of the calls on the communicator, and of those on that of the survivors.
survives 2 140 kill blocking 64
survives 2 140 kill-anywhere uneven 100000
survives 2 140 kill-anywhere typed 4096
survives 2 140 kill-anywhere gather 4096
survives 2 140 kill-anywhere uneven-gather 100000
survives 2 140 kill-anywhere own-nonblocking 100000
survives 3 140 revoke blocking 100000
survives 3 140 revoke own-persistent 64
# Among neighbours. In a line ranks run ahead of others.
survives 2 140 kill ring 64
survives 2 140 kill-anywhere ring 64
survives 2 140 kill-anywhere uneven-ring 100000
survives 3 140 revoke ring 100000
for bytes in 64 100000; do survives 2 45 kill-anywhere line $bytes; done
survives 2 140 kill-anywhere own-nonblocking-ring 64
survives 2 140 kill-anywhere own-persistent-ring 100000
# To named destinations, by messages everywhere.
survives 2 140 kill-anywhere own-exchange 64
survives 3 140 revoke own-exchange 65536
QUADRILLE_ALGORITHM=exchange=consensus survives 2 140 kill-anywhere own-exchange 64
# While the ranks compare the sizes of the blocks.
QUADRILLE_CHECK=on survives 2 140 kill-anywhere uneven-ring 64
# Or the offsets of a new communicator, or the names of an algorithm.
QUADRILLE_CHECK=on survives 2 0 kill new-ring 64
survives 2 0 kill setting 64
# While the communicator is made ready, at the call in which rank 1 may die.
for form in blocking uneven-ring line; do
  for calls in 124 125; do QUADRILLE_SETUP_AFTER=$calls survives 2 0 kill-anywhere $form 64; done
done
# By messages, rank 2 on a node of its own. Blocks of 64 KiB wait for their receives.
export QUADRILLE_NODES=blocked:2
between() { QUADRILLE_ALGORITHM=$1 survives "${@:2}"; }
between alltoall=pairwise 2 140 kill blocking 64
between alltoall=pairwise 2 140 kill-anywhere blocking 65536
between alltoall=pairwise 3 140 revoke blocking 65536
between alltoall=zero-rotation-bruck 2 140 kill-anywhere blocking 64
between alltoall=waitany-stride 2 140 kill-anywhere blocking 65536
between alltoallv=two-phase-bruck 2 140 kill-anywhere uneven 4096
between alltoallv=padded-alltoall 3 140 revoke uneven 4096
between allgather=ring 2 140 kill-anywhere gather 65536
between neighbor_alltoall=direct 2 140 kill-anywhere ring 64
between neighbor_alltoall=torus 3 140 revoke ring 4096
between alltoall=pairwise 2 140 kill-anywhere own-nonblocking 65536
between alltoall=single-copy 3 140 revoke own-nonblocking 65536
between alltoall=spread-out 3 140 revoke own-persistent 64
between neighbor_alltoall=direct 3 140 revoke own-nonblocking-ring 65536
between neighbor_alltoall=direct 2 140 kill-anywhere own-persistent-ring 64
# With the memory of a node beside them.
between alltoall=single-copy 2 140 kill-anywhere blocking 65536
between alltoallv=single-copy 3 140 revoke uneven 65536
between alltoall=leaders 2 140 kill-anywhere blocking 64
between alltoallv=leaders 3 140 revoke uneven 65536
between alltoall=leaders 2 140 kill-anywhere own-nonblocking 64
# Pairs stand in for orders of copies.
between alltoall=sh-co 2 140 kill blocking 64
between alltoall=hint-network 2 140 kill-anywhere blocking 65536
between alltoallv=sh-co 3 140 revoke uneven 65536
# Requests under the MPI's names.
between alltoall=pairwise 2 140 kill-anywhere nonblocking 65536
between alltoall=pairwise 3 140 revoke nonblocking 64
between alltoall=spread-out 2 140 kill-anywhere persistent 64
between alltoall=spread-out 3 140 revoke persistent 65536
unset QUADRILLE_NODES
# The same inside a node.
survives 2 140 kill nonblocking 64
survives 2 140 kill-anywhere nonblocking 100000
survives 3 140 revoke nonblocking 100000
survives 2 140 kill-anywhere nonblocking-ring 64
survives 2 140 kill persistent 64
survives 2 140 kill-anywhere persistent 100000
survives 3 140 revoke persistent 64
survives 3 140 revoke persistent-ring 64
survives 2 0 kill-anywhere persistent-again 64
survives 3 0 revoke persistent-again 100000
# Of an order of copies.
QUADRILLE_ALGORITHM=alltoall=sh-co survives 2 140 kill-anywhere blocking 100000
QUADRILLE_ALGORITHM=alltoall=hint-hilbert survives 3 140 revoke nonblocking 100000
# However requests are completed.
for how in waitall waitany waitsome test testall testany testsome; do survives 2 140 kill-anywhere nonblocking-$how 64; done
for how in waitall waitsome testany; do survives 3 140 revoke persistent-$how 64; done

# However it is enabled.
expect 0 - survived $TOOL run --explain -- "$mpirun" --mca mpi_ft_enable 1 --map-by :OVERSUBSCRIBE -n 2 "$work/survivor" revoke nonblocking 64
expect 0 - "Open MPI runs with fault tolerance" $TOOL doctor -- $with_faults -n 2 "$work/survivor" revoke blocking 64
finish
