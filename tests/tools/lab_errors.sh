# Bad options of `quadrille-lab`: one line from one rank, no rank hangs, the status is not 0.
. "$(dirname "$0")/common.sh"
refusing="$LAB bench"

expect 2 1 "--neighborhood is for neighbour" "$LAB" bench --copy-phase --neighborhood moore:2,1
expect 2 1 "--map excludes --grid" "$LAB" show --map --grid 4x3
expect 2 1 "--map excludes --neighborhood" "$LAB" show --map --neighborhood moore:2,1
expect 2 1 "--map excludes --node-map" "$LAB" show --map --node-map blocked:2
expect_line "unknown figure 'hint-99'; known are hint-6, hint-8, hint-10, co-10, co-11" --figure hint-99
# The documentation names all figures.
names=$($MPIRUN -n 1 "$LAB" bench --figure hint-99 2>&1 | sed -n 's/.*known are //p')
[ -n "$names" ] || fail "the figures are not named"
for name in ${names//,/ }; do
  grep -qF -- "\`$name\`" "$(dirname "$0")/../../docs/benchmark.md" || fail "docs/benchmark.md does not name $name"
done
expect_line "--seed has no effect on a table of set-up times: leave it out" --figure iso-table-2 --seed 2
expect_line "co-12 is about several hosts with two ranks or more on each, and all ranks are on one host" --figure co-12
expect_line "--runs has no effect on a table of set-up times: leave it out" --figure iso-table-2 --runs 2
expect_line "--runs is for figures of the host, not gpu-6" --figure gpu-6 --runs 2
expect_line "--runs=0: expected 1 to" --figure hint-6 --runs 0
expect_line "no folder" --figure hint-6 --results "$work/nowhere/below"
expect_line "no folder" --figure hint-6 --results "$TOOL"
expect_line "--figure: a name is needed" --figure ""
expect_line "--results: a name is needed" --figure hint-6 --results ""
expect_line "without a launcher" --copy-phase
expect_line "--sizes requires --copy-phase" --figure hint-6 --sizes 8
expect_line "--runs requires --figure" --copy-phase --runs 2
expect_line "collective requires --copy-phase" alltoall --figure hint-6
expect_line "--figure excludes --copy-phase" --copy-phase --figure co-10
expect_line "unknown option or argument: --overlap" --figure hint-6 --overlap
expect_line "(did you mean --figure?); see 'quadrille-lab bench --help'" --figur hint-6
expect_line "--figure or --copy-phase is required" --counters
expect 2 1 "--svg or --map is required" "$LAB" show
expect 2 1 "unknown subcommand 'run'; known are bench, show, simulate, judge" "$LAB" run
expect 2 1 "cannot write '/nowhere/a.svg'" "$LAB" show --svg /nowhere/a.svg
expect 0 0 "" "$LAB" show --algorithms sh-co --ranks 8 --svg "$work/a.svg"
finish
