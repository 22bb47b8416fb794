// The ABIs of MPIs. What each looks like is compiled with its own mpi.h (abi/constants.cpp), once for each that the
// build has a header of; which one a program's MPI has is found out when it runs. The rest of the library knows the
// table alone (mpi/mpi.hpp).
#pragma once

#include <link.h>

#include <string>
#include <string_view>
#include <vector>

#include "mpi/mpi.hpp"

namespace quadrille::abi {

// Handles, constants and layouts of the MPI in `library`. What is wrong is in `table.problem` then: no header of its
// ABI was there when this was built, or `library` has another version of the MPI standard's ABI.
void load_constants(void* library, Mpi& table);

// File names of the MPIs whose ABI this build knows, in the order in which they are tried.
std::vector<std::string> usual_names();
// The name by which programs are linked to a library, "libmpi.so.40", wherever it was loaded from. Whether it is that
// of an MPI whose ABI this build knows.
std::string_view soname_of(const link_map& object);
bool is_known(std::string_view soname);

// That of quadrille.h: as a number, and "0.1.0".
int version();
std::string version_text();

// ---- One for each ABI ----

namespace openmpi {
void load(void* library, Mpi& table);
}
namespace mpich {
void load(void* library, Mpi& table);
}
namespace standard {
void load(void* library, Mpi& table);
}

}  // namespace quadrille::abi
