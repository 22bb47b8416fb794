# The job file for Slurm, with another launcher in the place of srun: it measures, or looks around and runs a program.
. "$(dirname "$0")/common.sh"
job="$(dirname "$0")/../../examples/slurm/job.sh"
bash -n "$job" || fail "the job file cannot be read"
mkdir "$work/bin" "$work/home"
ln -s "$TOOL" "$work/bin/quadrille"
export PATH="$work/bin:$PATH" HOME="$work/home" LAUNCHER="$MPIRUN -n 2" OMPI_MCA_rmaps_base_oversubscribe=1
expect 0 - "alltoall, 2 ranks" bash "$job"
expect 0 - "the launcher starts ranks, and all data were correct" bash "$job" "$PROGRAM"
grep -q '^quadrille: .* -> ' "$work/out" "$work/err" || fail "the program was not run with --explain: $(cat "$work/out" "$work/err")"
# Its exit status is the program's.
expect 7 - "" bash "$job" "$PROGRAM" fail
# Slurm reads these before any command.
sed '/^#/!q' "$job" | grep -q '^#SBATCH --nodes=' || fail "the lines with #SBATCH do not stand first"
finish
