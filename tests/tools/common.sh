# Shared by the scripts. The environment gives TOOL, LAB, PROGRAM, PRELOAD, MPIRUN, PYTHON (may be missing),
# OTHER_MPIRUN (may be missing), ABI and ADDED (empty, or what follows PRELOAD for what this MPI has).
set -u
python3() { command "${PYTHON:-python3}" "$@"; }
failures=0
work=$(mktemp -d)
# Also of a script that forgets to finish.
trap 'rm -rf "$work"; [ "$failures" = 0 ] || exit 1' EXIT

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# expect STATUS LINES TEXT command...: runs the command; its exit status is STATUS, it writes LINES
# lines to stderr (- for any number), and TEXT, if not empty, occurs in what it writes.
expect() {
  local status=$1 lines=$2 text=$3 got count
  shift 3
  timeout 100 "$@" >"$work/out" 2>"$work/err"
  got=$?
  count=$(wc -l <"$work/err")
  [ "$got" = "$status" ] || fail "$*: exit status $got instead of $status: $(cat "$work/err")"
  [ "$lines" = - ] || [ "$count" = "$lines" ] ||
    fail "$*: $count lines on stderr instead of $lines: $(cat "$work/err")"
  [ -z "$text" ] || grep -qF -- "$text" "$work/out" "$work/err" ||
    fail "$*: no '$text' in: $(cat "$work/out" "$work/err")"
}

# expect_line TEXT arguments...: two ranks of $refusing with these end, not with status 0, and one of them writes one line, with
# TEXT. The launcher adds lines of its own.
expect_line() {
  local text=$1
  shift
  timeout 60 $MPIRUN -n 2 $refusing "$@" >"$work/out" 2>&1
  local status=$?
  [ $status != 0 ] && [ $status != 124 ] || fail "$*: exit status $status"
  [ "$(grep -c '^quadrille: ' "$work/out")" = 1 ] || fail "$*: not one line: $(cat "$work/out")"
  grep '^quadrille: ' "$work/out" | grep -qF -- "$text" || fail "$*: no '$text' in: $(cat "$work/out")"
}

# expect_no_ranks PATTERN: within a minute after a signal no process of this command line is left.
expect_no_ranks() {
  local tries=0
  while pgrep -f "$1" >/dev/null && [ $tries -lt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  pgrep -f "$1" >/dev/null && fail "SIGTERM: ranks are left"
  return 0
}

# make_own_mpi: puts the MPI and all libraries of PROGRAM into the folder OWN_MPI, where RPATH_PROGRAM finds them. `mpi` becomes
# the name of the MPI's library.
make_own_mpi() {
  local file name
  mkdir -p "$OWN_MPI"
  while read -r file name; do
    ln -sf "$file" "$OWN_MPI/$name"
    case $name in libmpi.so.*|libmpich.so.*) mpi=$name ;; esac
  done <<LIBRARIES
$(ldd "$PROGRAM" | awk '$2 == "=>" && $3 ~ /^\// {print $3, $1}')
LIBRARIES
}

finish() {
  [ "$failures" = 0 ] && echo "all as expected"
  exit $((failures > 0))
}
