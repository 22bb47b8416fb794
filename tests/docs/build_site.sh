#!/usr/bin/env bash
# build_site.sh SOURCE TOOL: runs `make site` into its own folder, and checks its pages. 77: mkdocs is unavailable from the Python
# package index.
set -euo pipefail
source="$1" tool="$2"
"$source/scripts/setup.sh" site || exit 77
site="$(mktemp -d)"
trap 'rm -rf "$site"' EXIT
"$source/build/venv-site/bin/python" "$source/scripts/site.py" "$site" --tool "$tool"
fail() { echo "site test: $*" >&2; exit 1; }
for page in index.html docs/cli.html docs/cluster.html docs/watch.html docs/schedules.html CHANGELOG.html search/search_index.json; do
  [[ -s "$site/$page" ]] || fail "there is no $page"
done
for page in docs/cluster.html docs/report.html docs/watch.html; do
  grep -q "href=\"$page\"" "$site/index.html" || fail "the front page's menu does not lead to $page"
done
grep -q 'href="schedules.html"' "$site/docs/watch.html" || fail "docs/watch.html does not lead to the page of schedules"
grep -q 'zero-rotation-bruck' "$site/docs/schedules.html" || fail "docs/schedules.html has no schedules"
echo "$(find "$site" -name '*.html' | wc -l) pages"
