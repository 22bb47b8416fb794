# The page of `quadrille show --html` in a browser without a screen: no script error, every case can be chosen, stepped through to
# its end, and has all blocks in place there. Skipped where there is no Chromium.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/browser.sh"

expect 0 0 "" "$TOOL" show --ranks 4 --html "$work/page.html"
dom "file://$work/page.html"
has 'Step 0 of 3: 0 messages with 0 blocks, 0 blocks copied. 0 of 16 blocks are where they belong.'
has 'block 3→1'
grep -q 'data-result=' "$work/dom" && fail "a script error: $(grep -o 'id="autotest"[^<]*<' "$work/dom")"
dom "file://$work/page.html#autotest"
has 'data-result="passed"'

# The order on the square, from the start to the end.
expect 0 0 "" "$TOOL" show --algorithms sh-co --ranks 4 --html "$work/page.html"
dom "file://$work/page.html#end"
has 'Step 4 of 4: '
has '16 of 16 blocks are where they belong.'
[ "$(grep -oE 'class="cell" data-rank="[0-9]' "$work/dom" | wc -l)" = 16 ] || fail "not 16 cells on the square"
[ "$(grep -oE 'class="cache-line" x="[0-9]' "$work/dom" | wc -l)" = 8 ] || fail "not 8 bars of cache lines"

# A page whose data are wrong says so.
python3 - "$work/page.html" <<'PYTHON'
import json, re, sys
text = open(sys.argv[1]).read()
found = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', text, re.S)
data = json.loads(found.group(2))
data['plays'][5]['steps'].pop()
open(sys.argv[1], 'w').write(text[:found.start(2)] + json.dumps(data) + text[found.end(2):])
PYTHON
dom "file://$work/page.html#autotest"
has 'data-result="failed"'
finish
