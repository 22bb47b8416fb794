# A browser without a screen; sourced after common.sh. Skipped where there is no Chromium.
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
