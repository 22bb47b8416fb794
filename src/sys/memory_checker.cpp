#include "sys/memory_checker.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace quadrille::sys {
namespace {

// Valgrind loads a library of this name into each process that it runs.
int is_of_valgrind(dl_phdr_info* info, std::size_t, void*) {
  return info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "/vgpreload_") != nullptr ? 1 : 0;
}

const char* look() {
// Where Quadrille itself is built with a sanitizer, its tests share memory all the same.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Of all sanitizers that have an allocator of their own.
  if (dlsym(RTLD_DEFAULT, "__sanitizer_get_ownership") != nullptr) return "a sanitizer";
#endif
  return dl_iterate_phdr(is_of_valgrind, nullptr) != 0 ? "valgrind" : nullptr;
}

}  // namespace

const char* memory_checker() {
  static const char* const found = look();
  return found;
}

}  // namespace quadrille::sys
