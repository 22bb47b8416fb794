# `quadrille report`: calls of every kind are made again. Their times are not looked at.
. "$(dirname "$0")/common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
here=$(dirname "$0")
report="$TOOL report --replay-seconds 20"
page="$work/page.html" data="$work/data.json"

# Between neighbours, in every kind of topology.
expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" neighbors
python3 "$here/report_page.py" "$data" "$page" neighbors 4 >"$work/checked" 2>&1 || fail "neighbours: $(tail -n 3 "$work/checked")"
# Those that are started and waited for.
expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- "$MPIRUN" -n 4 "$REPORT_PROGRAM" requests
python3 "$here/report_page.py" "$data" "$page" requests 4 >"$work/checked" 2>&1 || fail "requests: $(tail -n 3 "$work/checked")"
# What no MPI has is recorded, of which some is made again; also in the streams of a device, which do nothing before they have to.
for driver in "" "$CUDA/libcuda.so.1"; do
  QUADRILLE_STANDIN_STREAMS=lazy expect 0 - "the report is in '$page'" $report --output "$page" --data "$data" -- \
    "$MPIRUN" -n 4 "$REPORT_PROGRAM" own $driver
  python3 "$here/report_page.py" "$data" "$page" own 4 >"$work/checked" 2>&1 ||
    fail "own calls, driver '$driver': $(tail -n 3 "$work/checked")"
done
finish
