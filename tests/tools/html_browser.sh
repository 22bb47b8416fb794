# The page of `quadrille show --html` in a browser without a screen: no script error, every case has all blocks in place at its end,
# one of each algorithm can be chosen and stepped through, and it can be read. QUADRILLE_TEST_ALL=1: every case is drawn, and
# more pages are measured. Skipped where there is no Chromium.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/browser.sh"
test=autotest${QUADRILLE_TEST_ALL:+-all}

expect 0 0 "" "$TOOL" show --ranks 4 --html "$work/page.html"
expect 0 0 "" "$TOOL" show --algorithms sh-co --ranks 4 --html "$work/square.html"
expect 0 0 "" "$TOOL" show --collective neighbor_alltoall --neighborhood moore:2,2 --ranks 16 --html "$work/torus.html"
# A page whose data are wrong says so.
python3 - "$work/page.html" "$work/wrong.html" <<'PYTHON'
import json, re, sys
text = open(sys.argv[1]).read()
found = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', text, re.S)
data = json.loads(found.group(2))
data['plays'][5]['steps'].pop()
open(sys.argv[2], 'w').write(text[:found.start(2)] + json.dumps(data) + text[found.end(2):])
PYTHON

measured=(torus="file://$work/torus.html")
if [ -n "${QUADRILLE_TEST_ALL:-}" ]; then
  expect 0 0 "" "$TOOL" show --algorithms sh-co --ranks 16 --html "$work/square16.html"
  measured+=(page="file://$work/page.html" square="file://$work/square.html" square16="file://$work/square16.html")
fi
browse --dom "$work/start=file://$work/page.html" --dom "$work/failed=file://$work/wrong.html#autotest" \
  --dom "$work/tested=file://$work/page.html#$test" --dom "$work/end=file://$work/square.html#end" \
  --faulty --run 'go(1)' "${measured[@]}"

dom start
has 'Step 0 of 3: 0 messages with 0 blocks, 0 blocks copied. 0 of 16 blocks are where they belong.'
has 'block 3→1'
grep -q 'data-result=' "$dom" && fail "a script error: $(grep -o 'id="autotest"[^<]*<' "$dom")"
dom tested
has 'data-result="passed"'
# The order on the square, from the start to the end.
dom end
has 'Step 4 of 4: '
has '16 of 16 blocks are where they belong.'
[ "$(grep -oE 'class="cell" data-rank="[0-9]' "$dom" | wc -l)" = 16 ] || fail "not 16 cells on the square"
[ "$(grep -oE 'class="cache-line" x="[0-9]' "$dom" | wc -l)" = 8 ] || fail "not 8 bars of cache lines"
dom failed
has 'data-result="failed"'
finish
