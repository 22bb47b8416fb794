// MPI 4.1 names the kinds of memory that it takes in an info key of MPI_COMM_WORLD (section 12.5.4); older ones have
// functions of their own, which Open MPI began. MPICH and Cray MPICH name AMD's kind HIP.
#include "mpi/device_support.hpp"

#include <string>

#include "mpi/mpi.hpp"

namespace quadrille {
namespace {

constexpr const char* kinds_key = "mpi_memory_alloc_kinds";

// "system,mpi,cuda:device,..." has `kind`.
bool has_kind(std::string_view kinds, const std::string& kind) {
  const std::string all = "," + std::string(kinds) + ",";
  return all.find("," + kind + ",") != std::string::npos || all.find("," + kind + ":") != std::string::npos;
}

bool kinds_have_devices() {
  MpiInfo info = mpi().info_null;
  if (mpi().Comm_get_info(mpi().comm_world, &info) != mpi_success || info == mpi().info_null) return false;
  char kinds[most_mpi_text + 1] = {};
  int found = 0;
  mpi().Info_get(info, kinds_key, mpi().max_info_val, kinds, &found);
  mpi().Info_free(&info);
  return found != 0 && names_devices(kinds);
}

bool says_yes(int (*query)()) { return query != nullptr && query() == 1; }

bool supports(int kind) {
  if (mpi().GPU_query_support == nullptr) return false;
  int supported = 0;
  return mpi().GPU_query_support(kind, &supported) == mpi_success && supported != 0;
}

}  // namespace

bool names_devices(std::string_view kinds) { return has_kind(kinds, "cuda") || has_kind(kinds, "rocm"); }

DeviceSupport device_support() {
  if (kinds_have_devices()) return {true, kinds_key};
  if (says_yes(mpi().Query_cuda_support)) return {true, "MPIX_Query_cuda_support"};
  if (says_yes(mpi().Query_rocm_support)) return {true, "MPIX_Query_rocm_support"};
  if (says_yes(mpi().Query_hip_support)) return {true, "MPIX_Query_hip_support"};
  constexpr int cuda = 0, hip = 2;  // of MPICH's header
  if (supports(cuda) || supports(hip)) return {true, "MPIX_GPU_query_support"};
  return {};
}

}  // namespace quadrille
