// The MPI library that a program loads, for measuring with that one and no other.
#pragma once

#include <string>
#include <vector>

#include "tool/launch/libraries.hpp"

namespace quadrille::tools {

struct ProgramMpi {
  std::string file;                // empty: unknown
  bool linked = false;             // whether the program needs it; else it is the first that the program may find
  std::vector<std::string> rpath;  // where the loader looks first for what the library needs
};
// As far as files and the environment say.
ProgramMpi mpi_of_program(const std::string& program, Abi abi, const LoaderPaths& paths);

// Inside a started rank, before MPI: the library to load in the place of `program`. Empty if QUADRILLE_LIBMPI names
// one, or if nothing is known: then the loader decides. Starts this process anew where the library needs the DT_RPATH
// of the program to find others.
std::string library_in_place_of(const std::string& program, Abi abi);

}  // namespace quadrille::tools
