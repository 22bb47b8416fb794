// The MPI ABIs, and the names of the libraries that carry them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quadrille::tools {

enum class Abi : std::uint8_t {
  none,      // no MPI at all
  openmpi,   // Open MPI 3 to 5: libmpi.so.40
  mpich,     // MPICH and all that share its ABI (Intel MPI, MVAPICH, Cray): libmpi.so.12
  standard,  // the MPI standard's own, of MPICH 5, MPIs made from it, and Open MPI 6: libmpi_abi.so.1
  other,     // an MPI of another ABI; not served
};

// Those that can be served.
inline constexpr Abi all_abis[] = {Abi::openmpi, Abi::mpich, Abi::standard};

// "openmpi", "mpich", ...
std::string_view name_of(Abi abi);
// "Open MPI", "MPICH", ...: for messages.
std::string_view title_of(Abi abi);
// False when `name` is that of no ABI that is served.
bool abi_from_name(std::string_view name, Abi& abi);

// The ABI that a program uses when it needs the shared library `soname`, for example
// "libmpi_usempif08.so.40"; `none` when the library is not part of an MPI.
Abi abi_of_library(std::string_view soname);

// File names of an MPI library of this ABI; the second is Debian's.
std::vector<const char*> libraries_of(Abi abi);

// Whether the launcher of an MPI starts programs of this ABI. Abi::none is a launcher that serves every MPI.
// `of_openmpi`: the library that a program of the MPI standard's ABI loads is Open MPI's; else MPICH's, or of an MPI
// made from it.
bool starts(Abi launcher, Abi program, bool of_openmpi);

// Whether the libraries that were built with this tool serve this ABI.
bool knows(Abi abi);

}  // namespace quadrille::tools
