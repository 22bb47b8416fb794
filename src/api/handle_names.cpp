// The drop-in door of names that a program takes from the handle of its MPI library, as ctypes and Julia do. dlsym() of
// a handle searches that library, past what is preloaded; here it gives the function that a linked program would call.
//
// Lookups by RTLD_NEXT and RTLD_DEFAULT depend on the caller, which the next dlsym() knows by its return address: that
// call is a jump, as in load_watch.cpp.
#include <dlfcn.h>

// With musl, dlsym() has no version by which it could be found.
#if defined(__GLIBC__)
#include <link.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "mpi/mpi.hpp"

namespace {

#if defined(__x86_64__)
constexpr const char* oldest_glibc = "GLIBC_2.2.5";
#else
constexpr const char* oldest_glibc = "GLIBC_2.17";
#endif

using Lookup = void*(void*, const char*) noexcept;
constinit std::atomic<Lookup*> next_lookup{nullptr};

[[gnu::noinline]] Lookup* next() noexcept {
  Lookup* function = next_lookup.load(std::memory_order_relaxed);
  if (function == nullptr) [[unlikely]] {
    auto* const of_glibc = reinterpret_cast<Lookup*>(dlvsym(RTLD_NEXT, "dlsym", oldest_glibc));
    function = reinterpret_cast<Lookup*>(of_glibc(RTLD_NEXT, "dlsym"));  // a tool may be between
    next_lookup.store(function, std::memory_order_relaxed);
  }
  return function;
}

link_map* object_of(const void* address) {
  Dl_info info;
  void* object = nullptr;
  if (address == nullptr || dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<link_map*>(object);
}

// The object's own function. glibc can look into an object alone only once it has been opened.
void* look_up_in(link_map* object, const char* name) {
  void* const handle = object != nullptr ? dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (handle == nullptr) return nullptr;
  void* const found = next()(handle, name);
  dlclose(handle);
  return object_of(found) == object ? found : nullptr;
}

// By a function of the library. Calls of another MPI are not ours to make, even if its ABI is known, and an MPI in a
// namespace of its own is hidden from us.
bool can_be_served(link_map* library, const void* function) {
  const std::string_view name = library != nullptr ? quadrille::abi::soname_of(*library) : "";
  Lmid_t space = LM_ID_NEWLM;
  return quadrille::abi::is_known(name) && dlinfo(library, RTLD_DI_LMID, &space) == 0 && space == LM_ID_BASE &&
         quadrille::is_of_the_mpi(function);
}

// Our function of this name, also of the libraries that `quadrille run` adds; null if there is none.
void* door_of(const char* name) {
  if (void* const door = look_up_in(object_of(&next_lookup), name)) return door;
  void* const added = next()(RTLD_DEFAULT, name);
  const link_map* const object = object_of(added);
  return object != nullptr && quadrille::abi::soname_of(*object).starts_with("libquadrille_mpi") ? added : nullptr;
}

// A tool's function stays, and a tool that looks for what comes after its own function gets the MPI's.
[[gnu::noinline]] void* look_up_mpi(void* handle, const char* name, const void* caller) noexcept {
  const void* const own = next()(handle, "PMPI_Comm_rank");
  link_map* const library = object_of(own);
  const bool is_served = can_be_served(library, own) && look_up_in(object_of(caller), name) == nullptr;
  void* const door = is_served ? door_of(name) : nullptr;
  void* const found = next()(handle, name);  // the last lookup: dlerror() tells of it
  return door != nullptr && object_of(found) == library ? door : found;
}

}  // namespace

extern "C" QUADRILLE_EXPORT void* dlsym(void* handle, const char* name) noexcept {
  const bool is_any = handle == RTLD_NEXT || handle == RTLD_DEFAULT;
  if (!is_any && std::strncmp(name, "MPI", 3) == 0) [[unlikely]]
    return look_up_mpi(handle, name, __builtin_return_address(0));
  return next()(handle, name);
}

#endif
