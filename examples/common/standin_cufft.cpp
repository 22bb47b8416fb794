// A stand-in for cuFFT over the stand-in for CUDA's driver (tests/device/standin.hpp), for tests: FFTW transforms the
// data in the order of the NULL stream. It has only what the examples use: one dimension, in place. Data that are not
// within one allocation are an error.
#include <dlfcn.h>
#include <fftw3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "driver_calls.hpp"

#define EXAMPLES_DECLARE(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__);
EXAMPLES_CUFFT_CALLS(EXAMPLES_DECLARE)
#undef EXAMPLES_DECLARE

namespace {

using namespace examples;

struct Driver {
  void* (*host)(std::uintptr_t address, std::size_t bytes) = nullptr;
  int (*launch)(void* stream, void (*function)(void*), void* data) = nullptr;
  int (*context)(void** context) = nullptr;

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    load(library, "quadrille_standin_host", host);
    load(library, "cuLaunchHostFunc", launch);
    load(library, "cuCtxGetCurrent", context);
  }
  template <typename Function>
  static void load(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
  }
  bool is_there() const {
    void* current = nullptr;
    return host != nullptr && launch != nullptr && context != nullptr && context(&current) == 0 && current != nullptr;
  }
};

const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

struct Plan {
  fftw_plan forward, inverse;
  std::size_t bytes;  // from the first number to behind the last one
};

std::map<int, Plan>& plans() {
  static std::map<int, Plan> made;
  return made;
}

struct Work {
  fftw_plan plan;
  fftw_complex* data;
};

void execute(void* data) {
  const std::unique_ptr<Work> work(static_cast<Work*>(data));
  fftw_execute_dft(work->plan, work->data, work->data);
}

}  // namespace

int cufftPlanMany(int* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                  int odist, int type, int batch) {
  if (!driver().is_there()) return cufft_exec_failed;
  if (rank != 1 || inembed == nullptr || onembed == nullptr || istride != ostride || idist != odist ||
      type != cufft_double_to_double || batch < 1) {
    return cufft_invalid_value;
  }
  // Nothing is written with FFTW_ESTIMATE, nor is the address kept.
  static fftw_complex nowhere;
  const auto plan = [&](int sign) {
    return fftw_plan_many_dft(1, n, batch, &nowhere, nullptr, istride, idist, &nowhere, nullptr, ostride, odist, sign,
                              FFTW_ESTIMATE | FFTW_UNALIGNED);
  };
  const std::size_t last = static_cast<std::size_t>(*n - 1) * static_cast<std::size_t>(istride) +
                           static_cast<std::size_t>(batch - 1) * static_cast<std::size_t>(idist);
  static int last_handle = 0;
  *handle = ++last_handle;
  plans()[*handle] = {plan(FFTW_FORWARD), plan(FFTW_BACKWARD), (last + 1) * sizeof(fftw_complex)};
  return 0;
}

int cufftExecZ2Z(int handle, void* from, void* to, int direction) {
  const auto found = plans().find(handle);
  if (found == plans().end()) return cufft_invalid_plan;
  if (from != to || (direction != cufft_forward && direction != cufft_inverse)) return cufft_invalid_value;
  void* const data = driver().host(reinterpret_cast<std::uintptr_t>(from), found->second.bytes);
  if (data == nullptr) return cufft_exec_failed;
  auto work = std::make_unique<Work>();
  work->plan = direction == cufft_forward ? found->second.forward : found->second.inverse;
  work->data = static_cast<fftw_complex*>(data);
  return driver().launch(nullptr, execute, work.release()) == 0 ? 0 : cufft_exec_failed;
}

int cufftDestroy(int handle) {
  const auto found = plans().find(handle);
  if (found == plans().end()) return cufft_invalid_plan;
  fftw_destroy_plan(found->second.forward);
  fftw_destroy_plan(found->second.inverse);
  plans().erase(found);
  return 0;
}
