# The page of `quadrille show --html` in a browser without a screen: no script error, every case can be chosen, stepped through to
# its end, and has all blocks in place there. Skipped where there is no Chromium.
. "$(dirname "$0")/common.sh"
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  browser=$(command -v "$name") && break
done
[ -n "$browser" ] || { echo "no Chromium on this machine"; exit 77; }

# dom ADDRESS: the page as the browser has it when its scripts have run.
dom() {
  HOME="$work" timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --virtual-time-budget=1000000 --dump-dom "$1" >"$work/dom" 2>"$work/err" || fail "$browser: $(tail -n 5 "$work/err")"
}
has() { grep -qF -- "$1" "$work/dom" || fail "no '$1' in the page: $(grep -o 'id="autotest"[^<]*' "$work/dom") $(grep -o 'id="status"[^<]*' "$work/dom")"; }

expect 0 0 "" "$TOOL" show --ranks 4 --html "$work/page.html"
dom "file://$work/page.html"
has 'Step 0 of 3: 0 messages with 0 blocks, 0 blocks copied. 0 of 16 blocks are where they belong.'
has 'block 3→1'
grep -q 'data-result=' "$work/dom" && fail "a script error: $(grep -o 'id="autotest"[^<]*<' "$work/dom")"
dom "file://$work/page.html#autotest"
has 'data-result="passed"'

# The order on the square, from the start to the end.
expect 0 0 "" "$TOOL" show --algorithm sh-co --ranks 4 --html "$work/page.html"
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
