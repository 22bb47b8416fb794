#include "mpi/fault_tolerance.hpp"

#include <cstdlib>
#include <string_view>

#include "mpi/mpi.hpp"

namespace quadrille {
#if defined(QUADRILLE_ABI_OPENMPI)

// Set from mpi_ft_enable, wherever that comes from. Releases without fault tolerance do not have it.
bool tolerates_faults() { return mpi().ftmpi_enabled != nullptr && *mpi().ftmpi_enabled; }

#else

namespace {

bool wanted_in_the_environment() {
  for (const char* name : {"MPIR_CVAR_ENABLE_FT", "MPIR_PARAM_ENABLE_FT", "MPICH_ENABLE_FT", "I_MPI_FAULT_CONTINUE"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    for (const std::string_view yes : {"1", "on", "yes", "true", "enable", "t", "y"}) {
      if (yes == value) return true;
    }
  }
  return false;
}

}  // namespace

// MPICH and Intel MPI take this from the environment alone.
bool tolerates_faults() {
  static const bool tolerates = wanted_in_the_environment();
  return tolerates;
}

#endif
}  // namespace quadrille
