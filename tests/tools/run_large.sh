# The doors for large counts are preloaded where the program's MPI has such functions, and nowhere else: programs look
# whether they are there. OLD and NEW are folders with a stand-in of an MPI without and with them; STANDIN is a program
# that is linked to it.
. "$(dirname "$0")/common.sh"
run="$TOOL run"
with="preload=$PRELOAD:$LARGE end" without="preload=$PRELOAD end"

# A program that is linked to its MPI.
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD" $run -- "$STANDIN"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run -- "$STANDIN"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW:$OLD" $run -- "$STANDIN"
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD:$NEW" $run --mpi mpich -- "$STANDIN"

# A program that loads its MPI late. All that it may find must have them.
say='echo "preload=$LD_PRELOAD end"'
expect 0 - "$without" env LD_LIBRARY_PATH="$OLD" $run --mpi mpich -- sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run --mpi mpich -- sh -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="$OLD" $run --mpi mpich -- sh -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="/nowhere:$OLD/libmpi.so.12" $run --mpi mpich -- sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" MPI4PY_LIBMPI="$NEW" $run --mpi mpich -- sh -c "$say"

# In a virtual environment the MPI lies beside the interpreter, which is a link; and beside the launcher.
venv() {
  mkdir -p "$work/$1/bin" "$work/$1/lib" && ln -s "$(command -v bash)" "$work/$1/bin/bash" &&
    cp "$2/libmpi.so.12" "$work/$1/lib"
  printf '#!/bin/sh\n[ "$1" = --version ] && echo HYDRA || exec "$@"\n' >"$work/$1/bin/mpirun"
  chmod +x "$work/$1/bin/mpirun"
}
venv old "$OLD"
venv new "$NEW"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run --mpi mpich -- "$work/old/bin/bash" -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run --mpi mpich -- "$work/new/bin/bash" -c "$say"
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run -- "$work/old/bin/mpirun" sh -c "$say"
expect 0 - "$with" env LD_LIBRARY_PATH="$NEW" $run -- "$work/new/bin/mpirun" sh -c "$say"
# The second program of a command counts as well.
expect 0 - "$without" env LD_LIBRARY_PATH="$NEW" $run -- "$work/new/bin/mpirun" sh -c "$say" : "$work/old/bin/bash" -c true
finish
