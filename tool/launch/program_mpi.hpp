// The MPI library that a program loads, for measuring with that one and no other.
#pragma once

#include <string>
#include <vector>

#include "tool/launch/libraries.hpp"

namespace quadrille::tools {

struct ProgramMpi {
  std::string file;                // empty: it is linked to none, or the loader does not find it
  std::vector<std::string> rpath;  // where the loader looks first for what the library needs
};
// The MPI that a program is linked to.
ProgramMpi mpi_of_program(const std::string& program, const LoaderPaths& paths);

// Inside a started rank, before MPI: the library to load in the place of `program`, of that ABI (none: any). Empty if
// QUADRILLE_LIBMPI names one, or if nothing is known: then the loader decides. Starts this process anew where the
// library needs the DT_RPATH of the program to find others.
std::string library_in_place_of(const std::string& program, Abi abi);

}  // namespace quadrille::tools
