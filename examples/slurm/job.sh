#!/bin/bash
# A job under Quadrille. Copy this file, change the #SBATCH lines and the modules, and submit your program:
#
#   sbatch job.sh ./app input.txt
#
# Without a program it measures MPI_Alltoall on the nodes of the job: the MPI's own and Quadrille's.
#SBATCH --job-name=quadrille
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out

# Change the names to those of your site. Without modules, quadrille and the MPI must be in PATH.
if command -v module >/dev/null; then
  module load openmpi
  module use /shared/quadrille/share/modulefiles
  module load quadrille
fi

# Open MPI needs pmix, MPICH and Intel MPI pmi2; `srun --mpi=list` lists what Slurm supports.
# Another launcher: LAUNCHER="mpirun" sbatch job.sh ...
read -ra launcher <<<"${LAUNCHER:-srun --mpi=pmix}"

if [ $# -eq 0 ]; then
  exec "${launcher[@]}" quadrille bench alltoall --sizes 64:64K:x4
fi

# Takes some seconds and prints problems with their fixes first. The job continues in any case.
quadrille doctor -- "${launcher[@]}" "$@"

# The first calls of each kind try several algorithms; the next job reuses the results.
export QUADRILLE_TRIALS=learn
exec quadrille run --explain -- "${launcher[@]}" "$@"
