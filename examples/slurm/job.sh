#!/bin/bash
# A job under Quadrille. Copy this file, change the lines with #SBATCH and the modules, and hand in your program:
#
#   sbatch job.sh ./app input.txt
#
# Without a program it measures Alltoall on the nodes of the job, the MPI's own and Quadrille's.
#SBATCH --job-name=quadrille
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out

# As your site has them. Where there are no modules, PATH must lead to quadrille and to the MPI.
if command -v module >/dev/null; then
  module load openmpi
  module use /shared/quadrille/share/modulefiles
  module load quadrille
fi

# Open MPI needs pmix, MPICH and Intel MPI pmi2; `srun --mpi=list` says what there is. Another one: LAUNCHER="mpirun" sbatch job.sh ...
read -ra launcher <<<"${LAUNCHER:-srun --mpi=pmix}"

if [ $# -eq 0 ]; then
  exec "${launcher[@]}" quadrille bench alltoall --sizes 64:64K:x4
fi

# Some seconds, and the first lines of the output say what is in the way, if anything is. The job goes on in any case.
quadrille doctor -- "${launcher[@]}" "$@"

# The first calls of each kind try what may serve them; what was best is kept for the next job.
export QUADRILLE_TRIALS=learn
exec quadrille run --explain -- "${launcher[@]}" "$@"
