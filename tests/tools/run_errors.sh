# Commands that `quadrille run` cannot serve: one line, and a status that is not 0.
. "$(dirname "$0")/common.sh"
run="$TOOL run"

expect 2 1 "/bin/ls is not an MPI program" $run -- "$MPIRUN" -n 2 /bin/ls
expect 2 1 "is not an MPI program" $run -- /bin/ls
expect 127 1 "launcher 'mpirun.nowhere' is not found" $run -- mpirun.nowhere -n 2 "$PROGRAM"
expect 127 1 "is not found; install an MPI" env PATH=/nowhere $run -- mpirun -n 2 "$PROGRAM"
expect 2 1 "'./nowhere' is not an executable file" $run -- "$MPIRUN" -n 2 ./nowhere
expect 127 1 "'./nowhere' is not an executable file" $run -- ./nowhere
expect 2 1 "nothing to run" $run
expect 2 1 "nothing to run" $run --explain --
expect 2 1 "unknown option or argument: --explode; see 'quadrille run --help'" \
  $run --explode -- "$MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "--mpi=lam: expected one of" $run --mpi lam -- "$MPIRUN" -n 2 "$PROGRAM"
expect 2 1 "unknown subcommand 'rum'" "$TOOL" rum
# Who writes nothing sees how to begin; so does who asks for help.
expect 2 7 "subcommand is required" "$TOOL"
expect 2 7 "quadrille run -- mpirun -n 4 ./app" "$TOOL"
for example in "quadrille run -- mpirun -n 4 ./app" "quadrille doctor -- mpirun" "mpirun -n 2 quadrille bench alltoall"; do
  expect 0 0 "  $example" "$TOOL" --help
done

# A static program, and one that is damaged.
head -c 300 "$PROGRAM" >"$work/cut"
chmod +x "$work/cut"
expect 2 1 "static or 32-bit program" $run -- "$MPIRUN" -n 2 "$work/cut"

# A tool that stands alone finds no preload library.
cp "$TOOL" "$work/quadrille"
expect 2 1 "libquadrille_mpi.so" env -u QUADRILLE_LIB_DIR "$work/quadrille" run -- "$MPIRUN" -n 2 "$PROGRAM"
expect 0 - "preload=$PRELOAD" env QUADRILLE_LIB_DIR="$(dirname "$PRELOAD")" \
  "$work/quadrille" run -- "$MPIRUN" -n 2 "$PROGRAM" print
finish
