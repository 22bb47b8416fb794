# `quadrille report`: what is wrong, in one line and with a status; and that nothing is left, whatever happens.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
report="$TOOL report"
page="$work/page.html"
one="--no-replay --output $page --"

expect 2 1 "no program is given" $report
expect 2 1 "unknown option or argument: --explode; see 'quadrille report --help'" $report --explode
expect 0 0 "quadrille report -- mpirun -n 8 ./app" $report --help
expect 127 1 "launcher 'mpirun.nowhere' is not found" $report -- mpirun.nowhere -n 2 "$REPORT_PROGRAM"
expect 2 1 "is not an MPI program" $report -- "$MPIRUN" -n 2 /bin/ls
expect 2 1 "cannot write '/nowhere/page.html'" $report --output /nowhere/page.html -- "$MPIRUN" -n 2 "$REPORT_PROGRAM"
expect 2 1 "it is a folder" $report --output "$work" -- "$MPIRUN" -n 2 "$REPORT_PROGRAM"
expect 2 1 "cannot write '/nowhere/data.json'" $report --output "$page" --data /nowhere/data.json -- "$MPIRUN" -n 2 "$REPORT_PROGRAM"
expect 2 1 "--replay-seconds=0: expected 0.1 to" $report --replay-seconds 0 -- "$MPIRUN" -n 2 "$REPORT_PROGRAM"
expect 2 1 "cannot read '$work/none.json'" $report --data "$work/none.json"
echo '{"format": 99}' >"$work/other.json"
expect 2 1 "expected a file of this version's" $report --data "$work/other.json" --output "$page"
echo '{"format": "1"}' >"$work/other.json"
expect 2 1 "expected a file of this version's" $report --data "$work/other.json" --output "$page"
echo 'no JSON' >"$work/other.json"
expect 2 1 "expected a file of this version's" $report --data "$work/other.json" --output "$page"
[ -e "$page" ] && fail "a page is there though nothing was recorded"

# A program without calls; one that fails before and after them; a launcher that fails.
expect 1 - "nothing recorded: the program made no call" $report $one "$MPIRUN" -n 2 "$REPORT_PROGRAM" none
expect 7 - "nothing recorded: the command ended with status 7" $report $one "$MPIRUN" -n 2 sh -c 'exit 7'
[ -e "$page" ] && fail "a page is there though nothing was recorded"
expect 7 - "the report is in" $report $one "$MPIRUN" -n 2 "$PROGRAM" fail
rm -f "$page"

# What another version has recorded is not read, and not taken for nothing.
expect 1 - "the program ran with a Quadrille of another version" $report --mpi "$ABI" $one \
  sh -c 'printf QRECORD2 >"$QUADRILLE_RECORD/rank-0"'
[ -e "$page" ] && fail "a page is there though nothing was read"

# Of two programs of one command, also of two at a time, the first is recorded.
expect 0 - "another program has left its record in" $report --mpi "$ABI" $one \
  sh -c '"$0" -n 2 "$1" names && "$0" -n 2 "$1" many' "$MPIRUN" "$REPORT_PROGRAM"
expect 0 - "another program has left its record in" $report --mpi "$ABI" --data "$work/data.json" $one \
  sh -c '"$0" -n 2 "$1" names & "$0" -n 3 "$1" many; wait' "$MPIRUN" "$REPORT_PROGRAM"
[ "$(sed -n 's/^ "ranks": //p' "$work/data.json")" = "$(sed -n 's/^ "told": //p' "$work/data.json")" ] ||
  fail "not all ranks of one program: $(grep -e '"ranks"' -e '"told"' "$work/data.json")"
rm -f "$work/data.json"
rm -f "$page"

# SIGTERM: the launcher gets it, the page has what was recorded until then, and the folder goes.
: >"$work/ready"
$report --no-replay --output "$page" -- "$MPIRUN" -n 2 "$REPORT_PROGRAM" wait >"$work/ready" 2>"$work/err" &
pid=$! tries=0
until [ "$(grep -o ready "$work/ready" | wc -l)" = 2 ] || [ $tries = 1000 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
[ $tries = 1000 ] && fail "the ranks did not start: $(cat "$work/err")"
kill -TERM $pid
wait $pid
[ $? != 0 ] || fail "SIGTERM: status 0"
[ -s "$page" ] || fail "SIGTERM: there is no page: $(cat "$work/err")"
expect_no_ranks "$REPORT_PROGRAM wait"
[ -z "$(ls -A "$work" | grep quadrille-report)" ] || fail "a folder is left: $(ls -A "$work")"
finish
