// Whether tests of errors, and of handles as integers, make sense with this MPI.
#pragma once

#include <mpi.h>

#include <cstring>

namespace quadrille::test {

// Intel MPI 2021.18 by the standard ABI has defects of its own.
inline bool is_intel_by_standard_abi() {
#if defined(MPI_ABI_VERSION)
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  return std::strstr(library, "Intel") != nullptr;
#else
  return false;
#endif
}

// With it MPI_ERRORS_RETURN changes nothing: an error ends the program.
inline bool errors_are_returned() { return !is_intel_by_standard_abi(); }

}  // namespace quadrille::test
