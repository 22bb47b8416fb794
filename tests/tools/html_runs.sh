# `quadrille show --html`: the page's moves are the schedules', and bring every block to where it belongs.
. "$(dirname "$0")/common.sh"
here=$(dirname "$0")
page="$work/page.html"

# page_of OPTION...: writes a page and checks it.
page_of() {
  rm -f "$page"
  expect 0 0 "" "$TOOL" show --html "$page" "$@"
  python3 "$here/html_page.py" "$TOOL" "$page" >"$work/checked" 2>&1 || fail "show --html $*: $(cat "$work/checked")"
}
page_of
page_of --collective alltoallv --algorithms two-phase-bruck:radix=5 --ranks 6 --node-map ragged:1,2,3
page_of --collective neighbor_allgather --neighborhood moore:2,2 --ranks 10
page_of --collective neighbor_alltoall --neighborhood offsets:1,0/0,1/-1,-1 --ranks 9
printf '# one way around a ring\n1\n2\n' >"$work/offsets"
page_of --collective neighbor_alltoall --neighborhood "file:$work/offsets" --ranks 5
QUADRILLE_TOPOLOGY='numa:2 core:4 pu:1' page_of --algorithms sh-numa-co --ranks 16
page_of --collective allgather --algorithms ring --ranks 1

expect 2 1 "at most 16" "$TOOL" show --ranks 17 --html "$page"
expect 2 1 "leave --grid out" "$TOOL" show --collective neighbor_alltoall --grid 4x3 --html "$page"
expect 2 1 "--neighborhood is for neighbour" "$TOOL" show --neighborhood moore:2,2 --html "$page"
expect 2 1 "cannot read '/no/such/file'" "$TOOL" show --collective neighbor_alltoall --neighborhood file:/no/such/file --html "$page"
expect 2 1 "cannot write '/nowhere/page.html'" "$TOOL" show --html /nowhere/page.html
expect 2 1 "excludes" "$TOOL" show --html "$page" --rank 1
finish
