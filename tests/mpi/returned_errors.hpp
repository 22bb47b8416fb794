// Whether tests of errors make sense with this MPI.
#pragma once

#include <mpi.h>

#include <cstring>

namespace quadrille::test {

// By the standard ABI of Intel MPI 2021.18 MPI_ERRORS_RETURN changes nothing: an error ends the program.
inline bool errors_are_returned() {
#if defined(MPI_ABI_VERSION)
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  return std::strstr(library, "Intel") == nullptr;
#else
  return true;
#endif
}

}  // namespace quadrille::test
