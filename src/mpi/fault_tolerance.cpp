#include "mpi/fault_tolerance.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "mpi/mpi.hpp"

namespace quadrille {
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

// Open MPI sets a variable from mpi_ft_enable, wherever that comes from; releases without fault tolerance do not have
// it. MPICH and Intel MPI take this from the environment alone.
bool tolerates_faults() {
  if (mpi().is_openmpi()) return mpi().ftmpi_enabled != nullptr && *mpi().ftmpi_enabled;
  static const bool tolerates = wanted_in_the_environment();
  return tolerates;
}

bool has_failed_rank(MpiComm comm, const std::vector<int>& among) {
  MpiGroup failed;
  if (mpi().Comm_get_failed(comm, &failed) != mpi_success) return false;
  int count = 0;
  mpi().Group_size(failed, &count);
  if (count > 0 && !among.empty()) {
    MpiGroup all;
    mpi().Comm_group(comm, &all);
    std::vector<int> there(among.size());
    mpi().Group_translate_ranks(all, static_cast<int>(among.size()), among.data(), failed, there.data());
    mpi().Group_free(&all);
    count = static_cast<int>(there.size() - static_cast<std::size_t>(std::ranges::count(there, mpi().undefined)));
  }
  mpi().Group_free(&failed);
  return count > 0;
}

}  // namespace quadrille
