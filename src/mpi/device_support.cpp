// MPI 4.1 names the kinds of memory that it takes in an info key of MPI_COMM_WORLD (section 12.5.4); older ones have a
// function of their own, which Open MPI began.
#include "mpi/device_support.hpp"

#include <string>

#include "mpi/mpi.hpp"

namespace quadrille {
namespace {

constexpr const char* kinds_key = "mpi_memory_alloc_kinds";

// "system,mpi,cuda:device,..." has `kind`.
bool has_kind(std::string_view kinds, std::string_view kind) {
  while (!kinds.empty()) {
    const std::string_view one = kinds.substr(0, kinds.find(','));
    if (one.substr(0, one.find(':')) == kind) return true;
    kinds = one.size() == kinds.size() ? std::string_view() : kinds.substr(one.size() + 1);
  }
  return false;
}

bool kinds_have_devices() {
  MPI_Info info = mpi().info_null;
  if (mpi().Comm_get_info(mpi().comm_world, &info) != MPI_SUCCESS || info == mpi().info_null) return false;
  char kinds[MPI_MAX_INFO_VAL + 1] = {};
  int found = 0;
  mpi().Info_get(info, kinds_key, MPI_MAX_INFO_VAL, kinds, &found);
  mpi().Info_free(&info);
  return found != 0 && names_devices(kinds);
}

}  // namespace

bool names_devices(std::string_view kinds) { return has_kind(kinds, "cuda") || has_kind(kinds, "rocm"); }

DeviceSupport device_support() {
  if (kinds_have_devices()) return {true, kinds_key};
  if (mpi().Query_cuda_support != nullptr && mpi().Query_cuda_support() == 1) return {true, "MPIX_Query_cuda_support"};
  if (mpi().Query_rocm_support != nullptr && mpi().Query_rocm_support() == 1) return {true, "MPIX_Query_rocm_support"};
  return {};
}

}  // namespace quadrille
