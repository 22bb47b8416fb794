# A browser without a screen; sourced after common.sh. Skipped where there is no Chromium.
python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import chromium; sys.exit(not chromium.program())' "$(dirname "$0")" ||
  { echo "no Chromium on this machine"; exit 77; }

# browse OPTION...: page_looks.py with these; one browser for all. Pictures to look at are in build/looks.
browse() {
  timeout 220 python3 "$(dirname "$0")/page_looks.py" --pictures "$(dirname "$0")/../../build/looks" ${QUADRILLE_TEST_ALL:+--all-pictures} "$@" >"$work/looks" 2>&1 ||
    fail "looks: $(head -n 20 "$work/looks")"
}
# dom FILE: what `has` looks at from now on, a page that `browse --dom` wrote.
dom() { dom="$work/$1"; }
has() { grep -qF -- "$1" "$dom" || fail "no '$1' in $dom: $(grep -o 'id="autotest"[^<]*' "$dom") $(grep -o 'id="status"[^<]*' "$dom")"; }
