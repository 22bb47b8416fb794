// Doors that `quadrille run` adds where the MPI that a command will use has the functions: those with large counts
// (MPI_Alltoall_c) and those that make persistent requests (MPI_Alltoall_init).
//
// Programs look whether such functions are there, so Quadrille may only add its own where the MPI has them. A program
// that is linked to its MPI tells which one it is. One that loads it late, as Python does, does not: then every library
// that it may find must have them.
#pragma once

#include <string>
#include <vector>

#include "tool/launch/abi.hpp"
#include "tool/launch/command.hpp"
#include "tool/launch/libraries.hpp"

namespace quadrille::tools {

// The MPI libraries of this ABI that a program which loads its MPI late may find: those that mpi4py is told of
// (MPI4PY_LIBMPI), beside the launcher, beside the program (as in a virtual environment), and the loader's. A
// launcher or program of the system (in /usr) has none beside it if the loader finds one. Either path may be empty.
std::vector<std::string> libraries_in_reach(const std::string& launcher, const std::string& program, Abi abi,
                                            const LoaderPaths& paths);

// The libraries with doors that the command's programs may have, of those beside the preload library.
std::vector<std::string> added_doors(const Command& command, Abi abi, const std::string& preload,
                                     const LoaderPaths& paths);

}  // namespace quadrille::tools
