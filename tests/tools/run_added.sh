# Doors that not every MPI has (large counts, persistent requests) are preloaded where the program's MPI has such
# functions, and nowhere else: programs look whether they are there. OLD and NEW are folders with a stand-in of an MPI
# without and with them, MIDDLE of one that has DOORS_OF_MIDDLE alone; DOORS are the libraries for NEW. STANDIN is a program
# that is linked to it.
. "$(dirname "$0")/common.sh"
run="$TOOL run"
with="preload=$PRELOAD:$DOORS end" without="preload=$PRELOAD end"
file=$(basename "$NEW"/libmpi.so.*)
[ "$ABI" = mpich ] && version=HYDRA || version="mpirun (Open MPI) 4.1.4"

# A program that is linked to its MPI.
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD" $run -- "$STANDIN"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run -- "$STANDIN"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW:$OLD" $run -- "$STANDIN"
expect 0 - "preload=$PRELOAD:$DOORS_OF_MIDDLE end" env LD_LIBRARY_PATH="$MIDDLE" $run -- "$STANDIN"
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD:$NEW" $run --mpi "$ABI" -- "$STANDIN"

# A program that loads its MPI late. All that it may find must have them. Beside the system's own shell may lie an
# Open MPI without them: the loader's comes first.
say='echo "preload=$LD_PRELOAD end"'
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD" $run --mpi "$ABI" -- sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run --mpi "$ABI" -- sh -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="$OLD" $run --mpi "$ABI" -- sh -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="/nowhere:$OLD/$file" $run --mpi "$ABI" -- sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="$NEW" $run --mpi "$ABI" -- sh -c "$say"

# In a virtual environment the MPI lies beside the interpreter, which is a link; and beside the launcher.
venv() {
  mkdir -p "$work/$1/bin" "$work/$1/lib" && ln -s "$(command -v bash)" "$work/$1/bin/bash" &&
    cp "$2/$file" "$work/$1/lib"
  # Open MPI's is told what to pass on.
  printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s" && exit\nwhile [ "$1" = -x ]; do shift 2; done\nexec "$@"\n' \
    "$version" >"$work/$1/bin/mpirun"
  chmod +x "$work/$1/bin/mpirun"
}
venv old "$OLD"
venv new "$NEW"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run --mpi "$ABI" -- "$work/old/bin/bash" -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run --mpi "$ABI" -- "$work/new/bin/bash" -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run -- "$work/old/bin/mpirun" sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run -- "$work/new/bin/mpirun" sh -c "$say"
# The second program of a command counts as well.
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run -- "$work/new/bin/mpirun" sh -c "$say" : "$work/old/bin/bash" -c true
finish
