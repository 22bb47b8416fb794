# `quadrille bench --device`: buffers in the memory of a GPU, here of stand-ins of drivers (tests/device). CUDA and HIP
# are their folders, WRONG_MPI an MPI that delivers a wrong byte.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
short="--iterations 4 --warmup 1 --no-ceiling"
cuda="env LD_LIBRARY_PATH=$CUDA" hip="env LD_LIBRARY_PATH=$HIP"
dense="alltoall alltoallv alltoallw allgather allgatherv"
neighbors="neighbor_alltoall neighbor_alltoallv neighbor_alltoallw neighbor_allgather neighbor_allgatherv neighbor_allgatherw"

# Each collective on 2, 3 or 4 ranks, and with QUADRILLE_TEST_ALL=1 on each of these numbers, with streams that are late.
ranks=4
for collective in $dense $neighbors; do
  ranks=$((ranks == 4 ? 2 : ranks + 1))
  numbers=$ranks
  [ -z "${QUADRILLE_TEST_ALL:-}" ] || numbers="2 3 4"
  for number in $numbers; do
    expect 0 - "cuda: Stand-in 0, driver 13.0, 1 GPU, $number ranks a GPU; mpi receives host memory" \
      $cuda QUADRILLE_STANDIN_STREAMS=random:$number \
      $MPIRUN -n $number "$TOOL" bench $collective --device cuda --sizes 0,100,5000 $short --json "$work/a.json"
    grep -q '"errors": 0' "$work/a.json" || fail "$collective on $number ranks: $(cat "$work/out")"
  done
done

bench="$MPIRUN -n 3 $TOOL bench"
lazy="QUADRILLE_STANDIN_STREAMS=lazy"
expect 0 - "hip: Stand-in 0, driver 6.0.0, 1 GPU" $hip $lazy $bench alltoallw --device hip --sizes 24 $short
expect 0 - "strided" $cuda $lazy $bench alltoallw --device cuda --sizes 8,40 $short --datatype strided
expect 0 - "in place" $cuda $lazy $bench alltoall --device cuda --sizes 8,40 $short --in-place
expect 0 - "enters each call 500 us late" $cuda $bench alltoall --device cuda --sizes 8 $short --late 500
expect 0 - "2 GPUs, 2 ranks a GPU" $cuda QUADRILLE_STANDIN_DEVICES=2 $bench alltoall --device cuda --sizes 8 $short

# The algorithms of the paper by their names, the ceilings, and what the file has of the device.
forced=pairwise,nonblocking,cuda-aware-mpi
for stride in 1 5 10 15; do
  forced=$forced,waitall-stride:stride=$stride,waitany-stride:stride=$stride,testany-stride:stride=$stride
done
for buffers in kept fresh pageable; do forced=$forced,copy-to-cpu:inner=waitany-stride,stride=10,buffers=$buffers; done
expect 0 - "# ceilings of the slowest GPU" $cuda $bench alltoallv --device cuda --sizes 300 --distribution uniform \
  --iterations 4 --warmup 1 --algorithms default,$forced,copy-to-cpu:inner=mpi --json "$work/b.json" --csv "$work/b.csv"
grep -q "stand-in driver: the times" "$work/out" || fail "a stand-in is taken for a GPU"
python3 - "$work/b.json" "$work/b.csv" <<'PYTHON' || fail "the JSON or CSV file is not as promised"
import csv, json, sys
data = json.load(open(sys.argv[1]))
rows, lines, device = data["rows"], list(csv.DictReader(open(sys.argv[2]))), data["header"]["device"]
assert {k: device[k] for k in ("kind", "name", "devices", "gpus", "ranks_a_gpu", "standin", "mpi_memory")} == {
    "kind": "cuda", "name": "Stand-in 0", "devices": 1, "gpus": 1, "ranks_a_gpu": 3, "standin": True,
    "mpi_memory": "host"}, device
assert len(device["ceilings"]) == 5 and all(rate > 0 for rate in device["ceilings"].values()), device
assert len(rows) == 20, len(rows)
for row, line in zip(rows, lines, strict=True):
    assert list(row) == list(line), line
    assert row["errors"] == 0 and row["memory"] == "device" and row["path"] == "over host", row
    assert row["ceiling_us"] > 0 and row["ceiling_by"] == "bus", row
    asked = row["algorithm"].split(":")[0]
    assert asked == "default" or row["served_by"].startswith({"cuda-aware-mpi": "mpi"}.get(asked, asked)), row
PYTHON

# What goes over the host as a whole goes over the bus; in chunks all of it but a rank's own block.
expect 0 - "in chunks" $cuda $bench alltoall --device cuda --sizes 64K --iterations 2 --warmup 0 \
  --algorithms copy-to-cpu,pipelined-copy-to-cpu --json "$work/c.json"
python3 - "$work/c.json" <<'PYTHON' || fail "own blocks are counted as if they went over the bus"
import json, sys
whole, chunks = json.load(open(sys.argv[1]))["rows"]
assert (whole["ceiling_by"], chunks["ceiling_by"]) == ("bus", "bus, without own blocks"), (whole, chunks)
assert abs(chunks["ceiling_us"] / whole["ceiling_us"] - 2 / 3) < 1e-6, (whole, chunks)  # of 3 ranks
PYTHON

# Wrong bytes are seen: in the check before, and in a timed call.
for call in 1 5; do
  expect 1 - "1 wrong bytes" $cuda QUADRILLE_LIBMPI="$WRONG_MPI" WRONG_CALL=$call \
    $MPIRUN -n 1 "$TOOL" bench alltoallv --device cuda --sizes 64 --iterations 4 --warmup 0 --no-ceiling
done
expect 0 - "default" $cuda QUADRILLE_LIBMPI="$WRONG_MPI" WRONG_CALL=1000 \
  $MPIRUN -n 1 "$TOOL" bench alltoallv --device cuda --sizes 64 --iterations 4 --warmup 0 --no-ceiling

# No driver, or none on one rank; a device without memory; no device. One line says so, and nobody waits.
expect_line() { # expect_line STATUS TEXT command...
  local status=$1 text=$2
  shift 2
  expect "$status" - "$text" "$@"
  [ "$(cat "$work/out" "$work/err" | grep -c '^quadrille: ')" = 1 ] || fail "$*: not one line: $(cat "$work/out" "$work/err")"
  grep -qi "mpi_abort" "$work/out" "$work/err" && fail "$*: an abort: $(cat "$work/err")"
}
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
  expect_line 2 "quadrille: no driver libcuda.so.1 found" $bench alltoall --device cuda --sizes 8
  expect_line 2 "quadrille: rank 1 on $(uname -n): no driver libcuda.so.1 found" \
    $MPIRUN -n 1 env LD_LIBRARY_PATH="$CUDA" "$TOOL" bench alltoall --device cuda --sizes 8 : \
    -n 1 "$TOOL" bench alltoall --device cuda --sizes 8
fi
ldconfig -p 2>/dev/null | grep -q 'libamdhip64\.so' ||
  expect_line 2 "libamdhip64.so.6 found; --device hip needs a GPU" $cuda $bench alltoall --device hip --sizes 8
expect_line 2 "finds no GPU" $cuda CUDA_VISIBLE_DEVICES= $bench alltoall --device cuda --sizes 8
expect 1 - "the driver of the GPU refuses" $cuda QUADRILLE_STANDIN_FAIL=cuMemAlloc_v2:1+ \
  $bench alltoall --device cuda --sizes 8 $short
expect_line 2 "--device=tpu: expected one of cuda, hip" $bench alltoall --device tpu
expect_line 2 "--memory is about memory of the host" $bench alltoall --device cuda --memory private
expect_line 2 "--touch is about memory of the host" $bench alltoall --device cuda --touch
expect_line 2 "--stage-mpi is for --device" $bench alltoall --stage-mpi
expect_line 2 "--device has no effect with --overlap" $bench alltoall --device cuda --overlap

# Copies between the ranks' memory stay on the device, but not of memory that cannot be exported.
for fails in none:1 cuIpcGetMemHandle:1+; do
  expect 0 - "ipc-pull" $cuda QUADRILLE_STANDIN_FAIL=$fails $MPIRUN -n 2 "$TOOL" bench alltoall --device cuda --sizes 500 \
    --algorithms ipc-pull,mpi $short --json "$work/a.json"
  python3 - "$work/a.json" $fails <<'PYTHON' || fail "the ways of ipc-pull with $fails: $(cat "$work/a.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["path"] for row in rows] == ["straight" if sys.argv[2] == "none:1" else "over host", "over host"], rows
PYTHON
done

# In chunks, if the driver of all ranks knows the host's memory; else as a whole, and the rows say so.
for fails in none:1 cuMemHostRegister_v2:1+; do
  expect 0 - "pipelined-copy-to-cpu" $cuda QUADRILLE_STANDIN_FAIL=$fails $MPIRUN -n 2 "$TOOL" bench alltoall --device cuda --sizes 500 \
    --algorithms pipelined-copy-to-cpu,copy-to-cpu $short --json "$work/a.json"
  python3 - "$work/a.json" $fails <<'PYTHON' || fail "the ways in chunks with $fails: $(cat "$work/a.json")"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["path"] for row in rows] == ["in chunks" if sys.argv[2] == "none:1" else "over host", "over host"], rows
PYTHON
done

# What is measured with a device's memory goes into the table for such calls alone, and they go by it.
tune="$TOOL tune --algorithms --batches 1 --sizes 64,1000 --file $work/table.json"
expect 0 - "Stand-in 0; a stand-in, not a GPU" $cuda $MPIRUN -n 2 $tune --device cuda
for contender in default ipc-pull:leader=0 ipc-pull:leader=1 pipelined-copy-to-cpu:leader=0 pipelined-copy-to-cpu:leader=1 sh-naive mpi; do
  [ "$(grep -c "^  $contender  .*[0-9]$" "$work/out")" = 2 ] || fail "$contender is not measured: $(cat "$work/out")"
done
grep -q "^  pairwise" "$work/out" && fail "messages are measured that the MPI does not take: $(cat "$work/out")"
[ "$(grep -c '"memory": "device"' "$work/table.json")" = 2 ] || fail "the entries: $(cat "$work/table.json")"
sed -i 's/"take": "[^"]*"/"take": "ipc-pull:leader=1"/' "$work/table.json"
QUADRILLE_TUNING=$work/table.json QUADRILLE_EXPLAIN=1 expect 0 - "ipc-pull:leader=1: measured before with device memory" \
  $cuda $MPIRUN -n 2 "$TOOL" bench alltoall --device cuda --sizes 100 $short
QUADRILLE_TUNING=$work/table.json QUADRILLE_EXPLAIN=1 expect 0 - "alltoall" $MPIRUN -n 2 "$TOOL" bench alltoall --sizes 100 $short
grep -q "ipc-pull" "$work/out" "$work/err" && fail "a call of the host goes by an entry of devices: $(cat "$work/err")"
# The bus goes into a model of its own, with the messages only if the MPI takes such memory.
model="$TOOL tune --model --batches 1 --file $work/model.json"
expect 0 - "only the bus is measured" $cuda QUADRILLE_MPI_DEVICE=0 $MPIRUN -n 2 $model --device cuda
expect 0 - "waitall-stride" $MPIRUN -n 2 $model
python3 - "$work/model.json" <<'PYTHON' || fail "the models: $(cat "$work/model.json")"
import json, sys
entries = json.load(open(sys.argv[1]))["entries"]
assert sorted(one.get("memory", "host") for one in entries) == ["device", "host"], entries
of = {one.get("memory", "host"): one for one in entries}
assert of["device"]["bus"]["call"] > 0 and "bus" not in of["host"]
assert not any(of["device"]["quadrille"].values()) and any(of["host"]["quadrille"].values())
PYTHON
QUADRILLE_TUNING=$work/model.json expect 0 - "alltoall" $cuda QUADRILLE_NODES=blocked:1 $MPIRUN -n 2 "$TOOL" bench alltoall \
  --device cuda --sizes 100 $short
grep -q "ignored" "$work/err" && fail "the table is refused: $(cat "$work/err")"
expect_line 2 "--device=tpu: expected one of cuda, hip" $MPIRUN -n 2 $tune --device tpu
expect_line 2 "--device requires --algorithms or --model" "$TOOL" tune --device cuda
ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' ||
  expect_line 2 "no driver libcuda.so.1 found" $MPIRUN -n 2 $tune --device cuda
finish
