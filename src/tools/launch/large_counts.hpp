// Has the MPI that a command will use the collectives with large counts (MPI_Alltoall_c)?
//
// Programs look whether they are there, so Quadrille may only add its own where the MPI has them. A program that is
// linked to its MPI tells which one it is. One that loads it late, as Python does, does not: then every library that
// it may find must have them.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/abi.hpp"
#include "tools/launch/command.hpp"
#include "tools/launch/libraries.hpp"

namespace quadrille::tools {

// The MPI libraries of MPICH's ABI that a program which loads its MPI late may find: those that mpi4py is told of
// (MPI4PY_LIBMPI), beside the launcher, beside the program (as in a virtual environment), and the loader's.
// Either path may be empty.
std::vector<std::string> libraries_in_reach(const std::string& launcher, const std::string& program,
                                            const LoaderPaths& paths);

bool has_large_counts(const Command& command, Abi abi, const LoaderPaths& paths);

// The preload library with the doors for large counts, beside the other one; empty if it is not there.
std::string find_large_preload(const std::string& preload);

}  // namespace quadrille::tools
