# `quadrille info` finds the preload library and an MPI, and its JSON is JSON.
. "$(dirname "$0")/common.sh"
expect 0 0 "$PRELOAD" "$TOOL" info
expect 0 0 "memfd" "$TOOL" info
expect 0 0 '"reach"' "$TOOL" info --json
python3 - "$work/out" "$ABI" "$PRELOAD" <<'PYTHON' || fail "the JSON is not as promised"
import json, sys
info = json.load(open(sys.argv[1]))
assert info["quadrille"]["abi"] == sys.argv[2], info["quadrille"]
assert info["quadrille"]["preload"][sys.argv[2]] == sys.argv[3], info["quadrille"]
assert info["machine"]["cores"] >= 1 and info["machine"]["numa"], info["machine"]
assert all(isinstance(r["available"], bool) and r["detail"] for r in info["reach"]), info["reach"]
PYTHON
expect 2 1 "--jsno" "$TOOL" info --jsno
expect 0 0 "quadrille " "$TOOL" --version
for command in run bench info list verify show; do
  expect 0 0 "Examples:" "$TOOL" $command --help
done
finish
