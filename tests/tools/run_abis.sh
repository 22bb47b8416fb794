# Programs whose ABI is not served, or not by this launcher: `quadrille run` ends with one line, and `doctor` says the same.
# STANDARD is linked to a stand-in of libmpi_abi.so.1, STANDARD_2 to one of libmpi_abi.so.2, TWO to stand-ins of libmpi.so.40
# and libmpi_abi.so.1.
. "$(dirname "$0")/common.sh"

# refused TEXT command...
refused() {
  local text=$1
  shift
  expect 2 1 "$text" "$TOOL" run -- "$@"
  expect 1 - "$text" "$TOOL" doctor -- "$@"
}

# Another version of the MPI standard's ABI.
for launcher in "" "$MPIRUN -n 2"; do
  refused "$STANDARD_2 uses libmpi_abi.so.2, a version of the MPI standard ABI that is not served; link it to" \
    $launcher "$STANDARD_2"
done

# Two ABIs, in one program and in two of a command.
refused "$TWO: libmpi.so.40 uses Open MPI, but libmpi_abi.so.1 uses the MPI standard ABI; link all of the program to one MPI" \
  "$MPIRUN" -n 2 "$TWO"
refused "$PROGRAM uses Open MPI, but $STANDARD uses the MPI standard ABI; link all of the program to one MPI" \
  "$MPIRUN" -n 1 "$PROGRAM" : -n 1 "$STANDARD"

# The launcher of another MPI.
refused "$STANDARD uses the MPI standard ABI, but the launcher '$MPIRUN' belongs to Open MPI; use the launcher of" \
  "$MPIRUN" -n 2 "$STANDARD"
expect 2 1 "--mpi says standard, but the launcher '$MPIRUN' belongs to Open MPI" \
  "$TOOL" run --mpi standard -- "$MPIRUN" -n 2 "$STANDARD"
finish
