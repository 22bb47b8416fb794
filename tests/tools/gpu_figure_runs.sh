# `quadrille-lab bench --figure gpu-1` to `gpu-10`, over the stand-in of CUDA's driver (tests/device), whose folder is CUDA.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
cuda="env LD_LIBRARY_PATH=$CUDA" hip="env LD_LIBRARY_PATH=$HIP"
short="--iterations 2 --warmup 0 --shrink 4096 --results $work"

for number in 1 2 3 4 5 7 8 9 10; do
  expect 0 - "cannot be told: no GPU: a stand-in of a driver" $cuda $MPIRUN -n 3 "$LAB" bench --figure gpu-$number $short
done
expect 0 - "all sizes were divided by 4096" $MPIRUN -n 8 "$LAB" bench --figure gpu-6 $short
python3 - "$work" <<'PYTHON' || fail "the JSON of a figure is not as promised"
import json, sys
plots = {1: 1, 2: 2, 3: 1, 4: 1, 5: 1, 6: 2, 7: 1, 8: 3, 9: 2, 10: 1}
claims = {1: 1, 2: 16, 3: 7, 4: 10, 5: 6, 6: 11, 7: 2, 8: 4, 9: 5, 10: 5}
for number in plots:
    data = json.load(open(f"{sys.argv[1]}/gpu-{number}.json"))
    # The command line of the launcher, whatever it is called.
    started = f" -n {8 if number == 6 else 3} quadrille-lab bench --figure gpu-{number} "
    assert started in data["command"] and data["command"].startswith("mpi") and "/" not in data["command"], data["command"]
    assert len(data["plots"]) == plots[number] and len(data["claims"]) == claims[number], (number, len(data["claims"]))
    assert data["sizes_divided_by"] == 4096
    assert ("device" in data["header"]) == (number != 6), data["header"]
    if number != 6:
        assert all(rate > 0 for rate in data["header"]["device"]["ceilings"].values()), data["header"]
    for plot in data["plots"]:
        lines = [line["label"] for line in plot["lines"]]
        counts = sorted({row["ranks"] for row in plot["rows"]})
        assert counts == ([8] if number == 6 else [2, 3] if plot["x"] == "ranks" else [3]), counts
        assert len(plot["rows"]) == (len(lines) - 1) * len(plot["sizes"]) * len(counts), (number, plot["title"])
        assert not plot["skipped"] and not plot["left_out"], plot["skipped"]
        for row in plot["rows"]:
            assert row["errors"] == 0 and row["algorithm"] in lines and row["mpi_us"] > 0, row
            assert row["size"] in plot["sizes"] and row["collective"] == "alltoallv", row
            assert row["memory"] == ("heap" if number == 6 else "device"), row
    for claim in data["claims"]:
        assert claim["verdict"] == "cannot be told" and claim["here"] is None and claim["reason"], claim
PYTHON

# Figure 6 gets verdicts, where there are as many ranks as a claim is about. One panel alone; a rank that is late.
expect 0 - "left out (--panel)" $MPIRUN -n 8 "$LAB" bench --figure gpu-6 --panel 2 --iterations 2 --warmup 0 --results "$work"
python3 - "$work/gpu-6.json" <<'PYTHON' || fail "figure 6 has no panel that was measured"
import json, sys
data = json.load(open(sys.argv[1]))
assert [plot["left_out"] for plot in data["plots"]] == [True, False]
assert {row["bytes"] for row in data["plots"][1]["rows"]} == {1 << 20}
reasons = {claim.get("reason") for claim in data["claims"]}
assert reasons == {"its panel was left out (--panel)", "64 ranks are needed, and there were 8",
                   "16 ranks are needed, and there were 8"}, reasons
PYTHON
expect 0 - "entered each call 100 us late" $MPIRUN -n 2 "$LAB" bench --figure gpu-6 $short --late 100
expect 0 - "hip: Stand-in 0" $hip $MPIRUN -n 2 "$LAB" bench --figure gpu-4 $short

# Without a driver: one line, and the files.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1\|libamdhip64'; then
  expect 0 - "gpu-9 cannot be tested here: no driver libcuda.so.1 found" $MPIRUN -n 2 "$LAB" bench --figure gpu-9 --results "$work"
  [ "$(wc -l <"$work/out")" = 1 ] || fail "more than one line: $(cat "$work/out")"
  python3 - "$work/gpu-9.json" <<'PYTHON' || fail "without a driver there are other verdicts"
import json, sys
data = json.load(open(sys.argv[1]))
assert len(data["claims"]) == 5 and "no driver libcuda.so.1" in data["no_device"], data
assert {(claim["verdict"], claim["reason"]) for claim in data["claims"]} == {("cannot be told", "no GPU")}, data
assert [len(plot["rows"]) for plot in data["plots"]] == [0, 0]
PYTHON
fi
expect_no() { # expect_no TEXT arguments...: one line, and status 2
  local text=$1
  shift
  expect 2 - "$text" $MPIRUN -n 2 "$LAB" bench "$@"
  [ "$(cat "$work/out" "$work/err" | grep -c '^quadrille: ')" = 1 ] || fail "$*: not one line: $(cat "$work/err")"
}
expect_no "gpu-6 is about memory of the host" --figure gpu-6 --device cuda
expect_no "gpu-3 has 1 panel" --figure gpu-3 --panel 2
expect_no "--shrink and --panel are for figures of gpu, not hint-6" --figure hint-6 --shrink 2
expect_no "hint-6 is about memory of the host: leave --device out" --figure hint-6 --device cuda
expect 2 1 "mpirun -n 8 quadrille-lab bench --figure gpu-3" "$LAB" bench --figure gpu-3
finish
