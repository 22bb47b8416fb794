# bench/gpu/gpu_report.py over the stand-in of CUDA's driver: what it finds, what it says where something is refused, and
# that it goes on.
. "$(dirname "$0")/common.sh"
report="$(cd "$(dirname "$0")/../../bench/gpu" && pwd)/gpu_report.py"
cuda="env LD_LIBRARY_PATH=$CUDA"
start="python3 $report --mpirun $MPIRUN --quadrille $TOOL --quick --out $work/out.d"
export GPU_REPORT_LAB=$LAB OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# ---- The probe ----
expect 0 - "device: GPU and driver" $cuda $start --probe
python3 - "$work/out.d" <<'PYTHON' || fail "the probe found something else"
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
assert sorted(path.name for path in folder.iterdir()) == ["log.txt", "report.json", "report.md"]
found = json.loads((folder / "report.json").read_text())["probe"]
refused = {name for name, what in found.items() if "refused" in what}
assert refused <= {"links"}, {name: found[name] for name in refused}  # there may be no nvidia-smi
assert found["device"]["name"].startswith("Stand-in") and found["device"]["devices"] == 1, found["device"]
assert found["registration"]["right"] and found["ipc"]["right"] and found["values"]["waits"]
assert all(found["bus"][way] > 0 for way in ("device_copy", "to_device", "to_host", "both_ways", "pageable_to_host"))
assert set(found["blocks"]) == {"bytes", "2 ranks", "4 ranks", "8 ranks"}
assert found["shm"]["size_mib"] > 0 and found["machine"]["processors"] > 0
assert "no time says anything" in (folder / "report.md").read_text()
PYTHON

# One refusal hides nothing else.
expect 0 - "ipc: memory of a process that another one opens: refused: the other process: cuIpcGetMemHandle" \
  env QUADRILLE_STANDIN_NO_IPC=1 $cuda $start --probe
grep -q "values: streams that wait" "$work/out" || fail "after a refusal nothing was looked at"
expect 0 - "processes register: refused: " \
  env QUADRILLE_STANDIN_FAIL=cuMemHostRegister_v2:1+,cuGraphLaunch:1+ $cuda $start --probe
grep -q "bare copies of an exchange in one process: refused: cuGraphLaunch: " "$work/out" || fail "no refusal of graphs: $(cat "$work/out")"
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
  expect 0 - "device: GPU and driver: refused: there is no driver of CUDA" $start --probe
fi

# ---- Steps ----
rm -rf "$work/out.d"
expect 0 - "2 steps are left for --resume: 1e-09 minutes are over" $cuda $start --ranks 2 --steps large-alltoall,paper --budget 1e-9
expect 0 - "paper-alltoallv-2: " $cuda $start --ranks 2 --steps large-alltoall,paper,staged,buffers --resume
python3 - "$work/out.d" <<'PYTHON' || fail "the steps left something else"
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
steps = json.loads((folder / "report.json").read_text())["steps"]
assert set(steps) == {"large-alltoall-2", "paper-alltoallv-2", "staged-alltoallv-2", "buffers-2"}, set(steps)
for name, step in steps.items():
    assert step["status"] == 0 and step["ranks"] == 2 and step["rows"], (name, step)
    assert step["memory"] == "device" and all(row["errors"] == 0 for row in step["rows"]), name
    assert name.startswith("staged-") == ("ceiling_by" in step["rows"][0]), name
    assert " bench " in step["command"] and step["header"]["device"]["standin"], name
assert {row["bytes"] for row in steps["large-alltoall-2"]["rows"]} == {1 << 18}
page = (folder / "report.md").read_text()
for words in ("buffers=fresh beside", "at least 0.85 of a copy in the device", "at least 1.5", "at least 0.85 of the bus",
              "cannot be told: no machine: a stand-in of a driver"):
    assert words in page, words
assert "| reached |" not in page
PYTHON
# What is there is not measured again.
cp "$work/out.d/report.json" "$work/before.json"
expect 0 - "report.json, report.md and log.txt" $cuda $start --ranks 2 --steps large-alltoall,paper,staged,buffers --resume
grep -q "====" "$work/out" && fail "--resume measured again"
cmp -s "$work/before.json" "$work/out.d/report.json" || fail "--resume wrote something else"
# A step that fails is told, and the next ones are taken.
expect 1 - "paper-alltoallv-2 ended with" $cuda python3 "$report" --mpirun false --quadrille "$TOOL" --quick --out "$work/bad.d" \
  --ranks 2 --steps paper,staged
grep -q "2 steps failed" "$work/out" || fail "the second step was not taken: $(tail -3 "$work/out")"
grep -q "What did not end well" "$work/bad.d/report.md" || fail "the page hides failures"
# One that does not end is ended, and what it has started.
expect 1 - "paper-alltoallv-2 ended with 124" $cuda python3 "$report" --mpirun "sh -c 'sleep 77' --" --quadrille "$TOOL" --quick \
  --out "$work/slow.d" --ranks 2 --steps paper --minutes 0.01

# ---- Wrong options ----
expect 2 - "there is no such step; see --list" $start --steps nothing
expect 2 - "numbers of ranks with commas are wanted" $start --ranks two
expect 2 - "no-launcher is not there" python3 "$report" --mpirun no-launcher --quadrille "$TOOL"
expect 0 - "figure-10" $start --list
finish
