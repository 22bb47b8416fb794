// A library that the program loads may be a GPU's driver, and then buffers may be a device's memory: what is remembered
// of calls is forgotten, so that the next one looks. dlopen() finds out who calls it by the address it returns to, so
// the call must be the last thing here: this file is compiled so that it is a jump.
#include "abi/functions.hpp"
#include "api/next_function.hpp"
#include "memory/device.hpp"
#include "mpi/mpi.hpp"

namespace {

using DlopenFunction = void*(const char*, int);

[[gnu::noinline]] DlopenFunction* note_and_find(const char* file, int mode) {
  if (file != nullptr && (mode & RTLD_NOLOAD) == 0) {
    quadrille::memory::note_loading();
    quadrille::drop_cached_calls();
  }
  return quadrille::api::next_function<dlopen>("dlopen");
}

}  // namespace

extern "C" QUADRILLE_EXPORT void* dlopen(const char* file, int mode) { return note_and_find(file, mode)(file, mode); }
