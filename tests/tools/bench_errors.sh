# Bad options of `quadrille bench`: one line from one rank, no rank hangs, the status is not 0.
. "$(dirname "$0")/common.sh"

refusing="$TOOL bench"

expect_line "unknown collective 'gather'; known are alltoall," gather
expect_line "a collective is required" --sizes 8
expect_line "zero-rotation-bruck" alltoall --algorithms nothing
expect_line "radix" alltoall --algorithms basic-bruck:radix=1
expect_line "size 8x: expected bytes" alltoall --sizes 8x
expect_line "expected a first size below the last" alltoall --sizes 9:8
expect_line "--iterations=some: expected" alltoall --iterations some
expect_line "--datatype=float: expected one of byte, double, strided" alltoall --datatype float
expect_line "--memory=disk: expected one of heap, private, stack, mmap" alltoall --memory disk
expect_line "of the stack, which holds 64 MiB" alltoall --memory stack --sizes 64M
expect_line "leave --late and --counters out" alltoall --touch --late 500
expect_line "--touch has no effect with --overlap: leave it out" alltoall --overlap --touch
expect_line "--distribution=skewed: expected one of equal, uniform," alltoallv --distribution skewed
expect_line "a percentage from 0 to 100: window:R" alltoallv --distribution window:101
expect_line "cannot read the traffic matrix" alltoallv --distribution "file:$work/nowhere"
printf '1 2\n3 x\n' >"$work/matrix"
expect_line "line 2, column 3: expected a number of bytes" alltoallv --distribution "file:$work/matrix"
printf '1 2 3\n4 5 6\n7 8 9\n' >"$work/matrix"
expect_line "and 2 ranks need 2 lines of 2 numbers" alltoallw --distribution "file:$work/matrix"
expect_line "a traffic matrix is for alltoallv and alltoallw" allgatherv --distribution "file:$work/matrix"
expect_line "blocks of one size" alltoall --distribution uniform
expect_line "contradict" alltoall --no-node --node-map blocked:1
expect_line "contradict" alltoall --no-node --nodes 1
expect_line "blocked:" alltoall --node-map block
expect_line "--nodes=block: expected" alltoall --nodes block
expect_line "2 ranks cannot be on --nodes 3" alltoall --nodes 3
expect_line "leave out --nodes" alltoall --nodes 2 --node-map blocked:1
expect_line "--node-map round-robin needs --nodes" alltoall --node-map round-robin
expect_line "unknown option or argument: --size 8 (did you mean --sizes?); see 'quadrille bench --help'" alltoall --size 8
expect_line "--neighborhood=moore:3: expected" neighbor_alltoall --neighborhood moore:3
expect_line "the offset '1' has 1 coordinates, the first one 2" neighbor_alltoall --neighborhood offsets:1,0/1
expect_line "cannot read '/no/such/file'" neighbor_alltoall --neighborhood file:/no/such/file
expect_line "--grid=4x: expected" neighbor_alltoall --grid 4x
expect_line "has 2 dimensions, the neighbourhood moore:3,1 has 3" neighbor_alltoall --grid 2x1
expect_line "expected a torus" neighbor_alltoall --grid 2mx1x1
expect_line "--grid is for neighbour collectives, not for alltoall" alltoall --grid 2x1x1
expect_line "--neighborhood is for neighbour collectives, not for alltoallw" alltoallw --neighborhood offsets:1,0
expect_line "--neighborhood is for neighbour collectives, not for alltoall" alltoall --neighborhood moore:3,1 --overlap
expect_line "--neighborhood and --grid are for neighbour" allgather --neighborhood nonsense --grid 2x1
# Those without ranks: schedules and their proofs.
expect 2 1 "--neighborhood is for neighbour collectives, not for alltoall" "$TOOL" show --neighborhood nonsense
expect 2 1 "--neighborhood is for neighbour" "$TOOL" show --neighborhood file:/no/such/file
expect 2 1 "--grid is for neighbour" "$TOOL" show --grid 4x3
expect 2 1 "unknown option or argument: --neighborhood" "$TOOL" verify --neighborhood moore:2,1
expect 2 1 "8 ranks cannot be on --nodes 9" "$TOOL" show --nodes 9
expect 2 1 "one algorithm is shown, not 2" "$TOOL" show --algorithms pairwise,spread-out
expect 0 0 "rank 7 of 8, node 1" "$TOOL" show --algorithm spread-out --nodes 2
expect 0 0 "rank 7 of 8, node 1" "$TOOL" show --algorithms spread-out --nodes 2 --node-map round-robin
expect 0 1 "--nodes blocked:4 is read as --node-map blocked:4" "$TOOL" show --algorithms spread-out --nodes blocked:4
expect 0 0 "proved  alltoall            spread-out" "$TOOL" verify --ranks 3 --algorithms pairwise,spread-out
expect 2 1 "give its name alone, --algorithms bruck" "$TOOL" verify --algorithm bruck:radix=2
expect_line "the grid 3x1x1 has 3 processes, and there are 2 ranks" neighbor_alltoall --grid 3x1x1
expect_line "no in-place form" neighbor_allgather --in-place
expect_line "blocks of one size" neighbor_alltoall --distribution uniform
expect_line "--json: a name is needed" alltoall --json ""
expect_line "exchange has no nonblocking form" exchange --overlap
expect_line "unknown collective 'gather'" gather --overlap
expect_line "--cold, --no-ceiling, --counters have no effect with --overlap: leave them out" alltoall --overlap --cold \
  --counters --no-ceiling --tests 2 --in-place
expect_line "--tests requires --overlap" alltoall --tests 3
expect_line "expected microseconds" alltoall --late 5x
expect_line "expected microseconds" alltoall --late 0
expect_line "expected microseconds" alltoall --late 500:-1
expect_line "--late names rank 2, and there are 2 ranks" alltoall --late 500:2
expect_line "leave one of the two out" alltoall --late 500 --counters
expect_line "--late has no effect with --overlap: leave it out" alltoall --overlap --late 500
expect_line "--tests: expected 0 to 1000000" alltoall --overlap --tests -1
expect_line "--tests=some: expected a whole number" alltoall --overlap --tests some
expect_line "no in-place form" neighbor_alltoall --overlap --in-place
expect_line "cannot write" alltoall --sizes 8 --json "$work/nowhere/a.json"
expect_line "largest int" alltoall --sizes 4G
# What the laboratory has.
expect_line "unknown option or argument: --figure (available in quadrille-lab); see 'quadrille bench --help'" --figure hint-6
expect_line "unknown option or argument: --results=a (available in quadrille-lab)" alltoall --results=a
expect 2 1 "unknown option or argument: --map (available in quadrille-lab)" "$TOOL" show --map
expect 2 1 "unknown option or argument: --results=a; see 'quadrille tune --help'" "$TOOL" tune --results=a
expect 2 1 "unknown subcommand 'simulate' (available in quadrille-lab); known are run," "$TOOL" simulate alltoall
finish
