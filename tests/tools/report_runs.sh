# `quadrille report`: what is recorded is what the program did, however it ends; and its mistakes.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
here=$(dirname "$0")
report="$TOOL report"
page="$work/page.html" data="$work/data.json"

# report_of STATUS RANKS NODES ACTION OPTION...: a run, whose data are checked.
report_of() {
  local status=$1 ranks=$2 nodes=$3 action=$4
  shift 4
  set -- "$@" -- "$MPIRUN" -n "$ranks" "$REPORT_PROGRAM" "$action"
  [ "$action" != names ] || set -- "$@" "$(printf 'gr\374n')"
  rm -f "$page" "$data"
  expect "$status" - "the report is in '$page'" $report --no-replay --output "$page" --data "$data" "$@"
  python3 "$here/report_page.py" "$data" "$page" "$action" "$ranks" "$nodes" >"$work/checked" 2>&1 ||
    fail "report, $ranks ranks, $action: $(tail -n 3 "$work/checked")"
  [ -z "$(ls -A "$work" | grep quadrille-report)" ] || fail "a folder is left: $(ls -A "$work")"
}
report_of 0 4 1 all
QUADRILLE_NODES=blocked:2 report_of 0 4 2 all
QUADRILLE=off report_of 0 3 1 all 2>/dev/null
report_of 0 2 1 many
report_of 0 4 1 full
report_of 0 2 1 names
report_of 0 6 1 neighbors
report_of 5 3 1 abort
# What a launcher answers if ranks end without MPI_Finalize is its own.
"$TOOL" run -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" early >/dev/null 2>&1
report_of $? 2 1 early

# The calls that took the most time are made again, those of both halves at once, with four times the time that it takes.
report="$report --replay-seconds 20"
expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" all
python3 "$here/report_page.py" "$data" "$page" replay 4 >"$work/checked" 2>&1 || fail "replay: $(tail -n 3 "$work/checked")"
# Whoever starts the tool may ignore how its children end.
expect 7 - "the report is in" python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' $report --no-replay --output "$page" -- "$MPIRUN" -n 2 "$PROGRAM" fail
# A missing answer is reported, and the page is still written: here the launcher starts only the program.
cat >"$work/mpirun" <<SCRIPT
#!/bin/sh
case "\$*" in *--replay-cases*) echo "no more ranks today" >&2; exit 9 ;; esac
exec "$MPIRUN" "\$@"
SCRIPT
chmod +x "$work/mpirun"
expect 0 - "the calls were not replayed: it ended with status 9: no more ranks today" $report --output "$page" --data "$data" -- \
  "$work/mpirun" -n 2 "$REPORT_PROGRAM" all
grep -q '"problem": "it ended with status 9' "$data" || fail "the data do not say why there is no replay"

# From stored data the same page comes.
mv "$page" "$work/before.html"
expect 0 1 "the report is in" $report --data "$data" --output "$page"
cmp "$page" "$work/before.html" || fail "the page of stored data is another one"
finish
