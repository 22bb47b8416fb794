#include "memory/device.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

namespace quadrille::memory {

// The functions that are needed of a driver, in our own words: CUDA's and HIP's differ in types alone. Contexts are
// CUDA's; null for HIP.
struct DeviceDriver {
  bool is_cuda = false;
  int (*pointer_attribute)(void* result, int attribute, std::uintptr_t address) = nullptr;
  int (*push_context)(void* context) = nullptr;
  int (*pop_context)(void** context) = nullptr;
  int (*copy_cuda)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) = nullptr;
  int (*copy_hip)(void* to, const void* from, std::size_t bytes, int kind) = nullptr;
};

namespace {

constexpr int context_attribute = 1, memory_type_attribute = 2;  // of CUDA; HIP has the second one, too
constexpr unsigned host_memory = 1;                               // of CUDA
constexpr int hip_copy_default = 4;                               // the driver finds out the direction

int find_driver(dl_phdr_info* info, std::size_t, void* data) {
  const char* const name = info->dlpi_name;
  if (name == nullptr) return 0;
  const char* const slash = std::strrchr(name, '/');
  const char* const file = slash == nullptr ? name : slash + 1;
  if (std::strncmp(file, "libcuda.so", 10) != 0 && std::strncmp(file, "libamdhip64.so", 14) != 0) return 0;
  *static_cast<std::string*>(data) = name;
  return 1;
}

template <class Function>
bool load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool load_functions(void* library, DeviceDriver& driver) {
  driver.is_cuda = load(library, "cuPointerGetAttribute", driver.pointer_attribute);
  if (driver.is_cuda) {
    return load(library, "cuCtxPushCurrent_v2", driver.push_context) &&
           load(library, "cuCtxPopCurrent_v2", driver.pop_context) && load(library, "cuMemcpy", driver.copy_cuda);
  }
  return load(library, "hipPointerGetAttribute", driver.pointer_attribute) &&
         load(library, "hipMemcpy", driver.copy_hip);
}

}  // namespace

void note_loading() { detail::libraries_may_be_new.store(true, std::memory_order_release); }

namespace detail {

// A driver stays: programs do not unload it, and neither does its library.
const DeviceDriver* look_for_driver() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const DeviceDriver* known = driver.load(std::memory_order_acquire)) return known;
  libraries_may_be_new.store(false, std::memory_order_release);  // before looking: what comes meanwhile is seen later
  std::string path;
  if (dl_iterate_phdr(find_driver, &path) == 0) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library == nullptr) return nullptr;
  static DeviceDriver found;
  if (!load_functions(library, found)) return nullptr;
  driver.store(&found, std::memory_order_release);
  return &found;
}

}  // namespace detail

bool is_device(const DeviceDriver& driver, const void* address) {
  unsigned type = 0;
  const int error = driver.pointer_attribute(&type, memory_type_attribute, reinterpret_cast<std::uintptr_t>(address));
  // HIP's numbers have changed; what it knows at all may be copied by it.
  return error == 0 && (!driver.is_cuda || type != host_memory);
}

bool copy_device(const DeviceDriver& driver, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return true;
  if (!driver.is_cuda) return driver.copy_hip(to, from, bytes, hip_copy_default) == 0;
  // In the context of the memory; the caller's own comes back.
  void *context = nullptr, *before = nullptr;
  for (const void* side : {static_cast<const void*>(to), from}) {
    if (context == nullptr &&
        driver.pointer_attribute(&context, context_attribute, reinterpret_cast<std::uintptr_t>(side)) != 0) {
      context = nullptr;
    }
  }
  const bool pushed = context != nullptr && driver.push_context(context) == 0;
  const int error =
      driver.copy_cuda(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from), bytes);
  if (pushed) driver.pop_context(&before);
  return error == 0;
}

}  // namespace quadrille::memory
