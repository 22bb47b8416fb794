# Tools that watch all memory of a program: AddressSanitizer, with which CHECKED_ASAN is built, and valgrind, where it is
# installed. There is no shared heap, other ranks write nothing past the tool, and the tool finds what it finds natively.
. "$(dirname "$0")/common.sh"
run="$TOOL run --explain -- $MPIRUN"
export ASAN_OPTIONS=detect_leaks=0 # those of the MPI

expect 0 - "heap is unavailable: a sanitizer watches the memory of this process" $run -n 2 "$CHECKED_ASAN" blocks
expect 0 - "0 wrong blocks" $run -n 2 "$CHECKED_ASAN" blocks
for start in "$MPIRUN" "$run"; do
  timeout 100 $start -n 2 "$CHECKED_ASAN" over >"$work/out" 2>&1 && fail "$start: AddressSanitizer found nothing"
  grep -q "heap-buffer-overflow" "$work/out" || fail "$start: no report of AddressSanitizer: $(cat "$work/out")"
  # Blocks are the program's, not ours.
  grep -A1 "allocated by thread" "$work/out" | grep -q " malloc\|interceptor_malloc" || fail "$start: $(cat "$work/out")"
  grep -A3 "allocated by thread" "$work/out" | grep -q " in main" || fail "$start: who allocated? $(cat "$work/out")"
done

if command -v valgrind >/dev/null; then
  # One rank under valgrind, the other without; what comes by other ranks' hands is defined.
  watched="valgrind --log-file=$work/valgrind $PROGRAM blocks"
  expect 0 - "heap is unavailable: valgrind watches the memory of this process" $run -n 1 $watched : -n 1 "$PROGRAM" blocks
  expect 0 - "0 wrong blocks" env QUADRILLE_REACH=cma-write,ring $run -n 1 $watched : -n 1 "$PROGRAM" blocks
  grep -q "at 0x[0-9A-F]*: main (program.c" "$work/valgrind" && fail "valgrind: $(cat "$work/valgrind")"
fi
finish
