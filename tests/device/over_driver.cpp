// What tests ask of the stand-in of CUDA's driver, over a real one, so that they run where a GPU is. A program that is
// given this library finds the driver's own functions through it: dlsym looks at what a library is linked to.
//
// It counts nothing: what a test says of numbers of calls holds of itself. The processor sees a copy of a device's
// memory, as it is when it asks. Managed memory is pinned memory instead: a program that asks for more of it than there
// is can hang a GPU. There are no settings, and no kernel is replaced.
#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "driver.hpp"
#include "standin.hpp"

namespace {

using quadrille::standin::Address;

std::mutex mutex;
std::map<Address, std::unique_ptr<unsigned char[]>> copies;
std::set<Address> pinned;

template <class... Arguments>
int call_driver(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_NEXT, name));
  return function != nullptr ? function(arguments...) : quadrille::standin::not_supported;
}

}  // namespace

// By which it is known. In the tests of the library itself the driver is the stand-in.
QUADRILLE_EXPORT void quadrille_over_driver() {}
QUADRILLE_EXPORT unsigned long quadrille_standin_count(const char*, const char*) { return 0; }

QUADRILLE_EXPORT void* quadrille_standin_host(Address address, std::size_t bytes) {
  auto copy = std::make_unique<unsigned char[]>(bytes + 1);
  if (bytes != 0 && call_driver("cuMemcpyDtoH_v2", static_cast<void*>(copy.get()), address, bytes) != 0) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  return (copies[address] = std::move(copy)).get();
}

QUADRILLE_EXPORT int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
  const int error = call_driver("cuMemAllocHost_v2", reinterpret_cast<void**>(address), bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  if (error == 0) pinned.insert(*address);
  return error;
}

QUADRILLE_EXPORT int cuMemFree_v2(Address address) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    copies.erase(address);
    if (pinned.erase(address) == 0) return call_driver("cuMemFree_v2", address);
  }
  return call_driver("cuMemFreeHost", reinterpret_cast<void*>(address));
}
