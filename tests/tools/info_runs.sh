# `quadrille info` finds the preload library and an MPI, and its JSON is JSON.
. "$(dirname "$0")/common.sh"
expect 0 0 "$PRELOAD" "$TOOL" info
expect 0 0 "memfd" "$TOOL" info
expect 0 0 '"reach"' "$TOOL" info --json
python3 - "$work/out" "$ABI" "$PRELOAD" <<'PYTHON' || fail "the JSON is not as promised"
import json, sys
info = json.load(open(sys.argv[1]))
assert sys.argv[2] in info["quadrille"]["abis"], info["quadrille"]
assert info["quadrille"]["preload"] == sys.argv[3], info["quadrille"]
assert info["machine"]["cores"] >= 1 and info["machine"]["numa"], info["machine"]
assert all(isinstance(r["available"], bool) and r["detail"] for r in info["reach"]), info["reach"]
node = info["inside_a_node"]
ways = {way["name"]: way for way in node["ways"]}
assert list(ways) == ["heap", "xpmem", "cma-read", "cma-write", "ring"], ways
assert all(isinstance(w["available"], bool) and w["detail"] for w in ways.values()), ways
assert node["copy_kernels"] in node["all_copy_kernels"] and node["numa_domains"] >= 1, node
drivers = {driver["driver"]: driver for driver in info["devices"]["drivers"]}
assert list(drivers) == ["cuda", "hip"] and all(isinstance(d["devices"], list) for d in drivers.values()), drivers
libraries = [library for library in info["mpi"]["libraries"] if "problem" not in library]
assert all(isinstance(library["takes_devices"], bool) for library in libraries), libraries
PYTHON
for key in "heap " "xpmem " "cma-read " "cma-write " "ring " "copy kernels " "NUMA domains "; do
  expect 0 0 "  $key" "$TOOL" info
done

# The settings are shown and obeyed.
expect 0 0 "ring           yes" env QUADRILLE_REACH=ring "$TOOL" info
grep -q "heap  *no .*QUADRILLE_REACH" "$work/out" || fail "QUADRILLE_REACH=ring: $(cat "$work/out")"
expect 0 0 "heap           no" env QUADRILLE_HEAP=off "$TOOL" info
grep -q "QUADRILLE_HEAP  *off" "$work/out" || fail "QUADRILLE_HEAP=off: $(cat "$work/out")"
expect 0 0 "warning: QUADRILLE_REACH" env QUADRILLE_REACH=feet "$TOOL" info
(ulimit -v 8000000; "$TOOL" info >"$work/out" 2>&1) || fail "with little address space: $(cat "$work/out")"
grep -q "heap  *no .*address space" "$work/out" || fail "RLIMIT_AS is no reason: $(cat "$work/out")"
expect 0 0 "NUMA domains   3 (QUADRILLE_TOPOLOGY)" env QUADRILLE_TOPOLOGY="numa:3 core:2 pu:1" "$TOOL" info
expect 0 0 "  domains        4 (QUADRILLE_TOPOLOGY)" env QUADRILLE_TOPOLOGY="numa:1 l3:4 core:2 pu:1" "$TOOL" info
expect 0 0 "warning: QUADRILLE_TOPOLOGY" env QUADRILLE_TOPOLOGY="a village" "$TOOL" info
expect 0 0 "segments of 1024 MiB" env QUADRILLE_HEAP_BYTES=1G "$TOOL" info
expect 0 0 "warning: QUADRILLE_HEAP_BYTES=1: expected at least 65536 bytes" \
  env QUADRILLE_HEAP_BYTES=1 "$TOOL" info

# Drivers and devices, with stand-ins, and with libraries that are none: so it does not depend on the machine.
mkdir "$work/none"
for name in libcuda.so.1 libamdhip64.so.7 libamdhip64.so.6 libamdhip64.so.5; do : >"$work/none/$name"; done
expect 0 0 "  cuda           no driver: " env LD_LIBRARY_PATH="$work/none" "$TOOL" info
grep -q "^  hip  *no driver: " "$work/out" || fail "an empty file is a driver of HIP: $(cat "$work/out")"
grep -q "QUADRILLE_MPI_DEVICE is not set" "$work/out" || fail "QUADRILLE_MPI_DEVICE: $(cat "$work/out")"
standins="$STANDINS/standin-cuda:$STANDINS/standin-hip"
expect 0 0 "  cuda           2 devices: Stand-in 0, Stand-in 1; $STANDINS/standin-cuda/libcuda.so.1, version " \
  env LD_LIBRARY_PATH="$standins" QUADRILLE_STANDIN_DEVICES=2 QUADRILLE_MPI_DEVICE=1 "$TOOL" info
grep -q "^  hip  *2 devices: Stand-in 0, Stand-in 1; " "$work/out" || fail "HIP: $(cat "$work/out")"
grep -q "QUADRILLE_MPI_DEVICE on: " "$work/out" || fail "QUADRILLE_MPI_DEVICE=1: $(cat "$work/out")"
expect 0 0 "libcuda.so.1: it does not start: error 999" \
  env LD_LIBRARY_PATH="$standins" QUADRILLE_STANDIN_FAIL=cuInit:1 QUADRILLE_MPI_DEVICE=0 "$TOOL" info
grep -q "QUADRILLE_MPI_DEVICE off: " "$work/out" || fail "QUADRILLE_MPI_DEVICE=0: $(cat "$work/out")"
QUADRILLE_MPI_DEVICE=messages "$TOOL" info >"$work/out" 2>&1 || fail "QUADRILLE_MPI_DEVICE=messages"
grep -q "QUADRILLE_MPI_DEVICE messages: .*not in collectives" "$work/out" || fail "messages: $(cat "$work/out")"
# A setting that means nothing ends the stand-in's process, and nothing else.
expect 0 - "no driver: its library ends the program" \
  env LD_LIBRARY_PATH="$standins" QUADRILLE_STANDIN_STREAMS=never "$TOOL" info
expect 2 1 "--jsno" "$TOOL" info --jsno
expect 0 0 "quadrille " "$TOOL" --version

# `quadrille show` draws for the machine of QUADRILLE_TOPOLOGY.
expect 0 0 "rank 1 of 4, node 0, NUMA domain 1" \
  env QUADRILLE_TOPOLOGY="numa:2 core:1 pu:1" "$TOOL" show --algorithms sh-numa-co --ranks 4
expect 2 1 "QUADRILLE_TOPOLOGY=\"a village\": expected a synthetic topology" \
  env QUADRILLE_TOPOLOGY="a village" "$TOOL" show --algorithms sh-numa-co

for command in run bench info list verify show; do
  expect 0 0 "Examples:" "$TOOL" $command --help
done
finish
