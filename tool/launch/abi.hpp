// The MPI ABIs, and the names of the libraries that carry them.
#pragma once

#include <cstdint>
#include <string_view>

namespace quadrille::tools {

enum class Abi : std::uint8_t {
  none,      // no MPI at all
  openmpi,   // Open MPI 3 to 5: libmpi.so.40
  mpich,     // MPICH and all that share its ABI (Intel MPI, MVAPICH, Cray): libmpi.so.12
  standard,  // the MPI standard's own, of MPICH 5 and of MPIs made from it: libmpi_abi.so.1
  other,     // an MPI of another ABI; not served
};

// "openmpi", "mpich", ...
std::string_view name_of(Abi abi);
// "Open MPI", "MPICH", ...: for messages.
std::string_view title_of(Abi abi);
// False when `name` is that of no ABI that is served.
bool abi_from_name(std::string_view name, Abi& abi);

// The ABI that a program uses when it needs the shared library `soname`, for example
// "libmpi_usempif08.so.40"; `none` when the library is not part of an MPI.
Abi abi_of_library(std::string_view soname);

// The ABI this binary was built for first.
Abi own_abi();
// Whether the libraries that were built with it serve this ABI.
bool knows(Abi abi);

}  // namespace quadrille::tools
