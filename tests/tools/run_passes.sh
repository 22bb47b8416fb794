# What `quadrille run` must not change: exit status, what the user preloads. And what it adds.
. "$(dirname "$0")/common.sh"
run="$TOOL run"
PRELOAD="$PRELOAD$ADDED"  # the doors that not every MPI has

expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=1" $run --explain "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run --mpi "$ABI" -- "$MPIRUN" -n 2 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 env LANG=C nice "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 1 "$PROGRAM" : -n 1 "$PROGRAM" print
expect 0 - "preload=$PRELOAD explain=" env -C "$(dirname "$PROGRAM")" \
  $run -- "$MPIRUN" -n 2 "./$(basename "$PROGRAM")" print
# A script: the launcher says which MPI it is.
printf '#!/bin/sh\nexec "%s" print\n' "$PROGRAM" >"$work/script"
chmod +x "$work/script"
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 "$work/script"
# Without a launcher it may start one itself, which forwards nothing with Open MPI.
[ "$ABI" = openmpi ] && lines=1 text="or give it -x LD_PRELOAD" || lines=0 text=
expect 0 $lines "$text" $run --mpi "$ABI" -- sh -c true
# A program that needs no MPI and starts another one.
cp "$(command -v env)" "$work/wrapper"
expect 0 - "preload=$PRELOAD explain=" $run -- "$MPIRUN" -n 2 "$work/wrapper" "$PROGRAM" print

# What was preloaded before stays.
library=$(ldd /bin/sh | awk '/libc\.so/ {print $3}')
expect 0 - "preload=$PRELOAD:$library " env LD_PRELOAD="$library" \
  $run -- "$MPIRUN" -n 2 "$PROGRAM" print
if [ "$ABI" = openmpi ]; then
  expect 0 - "preload=$PRELOAD:$library " $run -- "$MPIRUN" -x LD_PRELOAD="$library" -n 2 "$PROGRAM" print
  # A file with parts of the job: its lines get our variables, too.
  printf -- '-n 1 -x LD_PRELOAD=%s %s print\n-n 1 %s\n' "$library" "$PROGRAM" "$PROGRAM" >"$work/parts"
  expect 0 - "preload=$PRELOAD:$library " $run -- "$MPIRUN" --app "$work/parts"
else
  expect 0 - "preload=$PRELOAD:$library " \
    $run -- "$MPIRUN" -genv LD_PRELOAD "$library" -n 2 "$PROGRAM" print
fi

# Exit status, through the launcher and without it.
expect 7 - "" $run -- "$MPIRUN" -n 1 "$PROGRAM" fail
# Ranks that end at once: a launcher of MPICH then now and then dies of SIGPIPE, also without Quadrille.
expect 7 - "" $run -- "$MPIRUN" -n 2 sh -c 'sleep 0.2; exit 7'
expect 7 - "" $run -- "$PROGRAM" fail
expect 0 - "" $run -- "$MPIRUN" -n 2 "$PROGRAM"

finish
