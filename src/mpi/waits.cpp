#include "mpi/waits.hpp"

#include <cstdlib>
#include <string>

#include "mpi/mpi.hpp"

namespace quadrille {
namespace {

// MPICH sleeps once after so many looks in vain. Its own default, 4096, keeps the processor for a good part of
// a time slice; from 20 to 400 it makes no difference that can be measured.
constexpr int looks_before_sleep = 100;

bool chosen_by_user(const std::string& variable) {
  for (const char* prefix : {"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"}) {
    if (std::getenv((prefix + variable).c_str()) != nullptr) return true;
  }
  return false;
}

// Writes a variable of type int. False if the MPI has no such variable, or not now.
bool write_variable(const std::string& name, int value) {
  const Mpi& t = mpi();
  int index = 0, count = 0;
  if (t.T_cvar_get_index(name.c_str(), &index) != mpi_success) return false;
  void* handle = nullptr;
  if (t.T_cvar_handle_alloc(index, nullptr, &handle, &count) != mpi_success) return false;
  const bool written = count == 1 && t.T_cvar_write(handle, &value) == mpi_success;
  t.T_cvar_handle_free(&handle);
  return written;
}

}  // namespace

// Open MPI gives way by itself where its launcher sees more ranks than processors.
bool let_waits_give_way() {
  const Mpi& t = mpi();
  if (t.is_openmpi()) return false;
  if (chosen_by_user("CH4_PROGRESS_THROTTLE") || chosen_by_user("CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT")) {
    return false;
  }
  int provided = 0;
  if (t.T_init_thread(mpi().thread_single, &provided) != mpi_success) return false;
  const bool asked = write_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", looks_before_sleep) &&
                     write_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE", 1);
  t.T_finalize();
  return asked;
}

}  // namespace quadrille
