// The functions of the process's unwinder, which the C++ library inside of a door calls. Linked statically they would
// be a second unwinder, which aborts where it meets an exception, or the end of a thread, that the first one unwinds.
//
// They are looked up when they are first called. If the door needed libgcc_s.so.1 by name, the system's would be loaded
// before a newer one that the program finds by its own paths, and the program's libraries may need the newer one.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Not <unwind.h>, which would export what is defined here.
struct _Unwind_Exception;
struct _Unwind_Context;

namespace {

void* find(const char* name) {
  if (void* const function = dlsym(RTLD_DEFAULT, name)) return function;
  void* const library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (void* const function = library != nullptr ? dlsym(library, name) : nullptr) return function;
  std::fprintf(stderr, "quadrille: libgcc_s.so.1 has no %s or is missing; install the runtime library of GCC\n", name);
  std::abort();
}

template <class Function>
Function* look_up(std::atomic<Function*>& known, const char* name) {
  if (Function* const function = known.load(std::memory_order_relaxed)) return function;
  auto* const function = reinterpret_cast<Function*>(find(name));
  known.store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace

#define QUADRILLE_UNWIND(Result, name, PARAMETERS, ...)                 \
  [[gnu::visibility("hidden")]] Result name PARAMETERS {                \
    static constinit std::atomic<Result(*) PARAMETERS> known = nullptr; \
    return look_up<Result PARAMETERS>(known, #name)(__VA_ARGS__);       \
  }

extern "C" {

using Trace = int (*)(_Unwind_Context*, void*);

QUADRILLE_UNWIND(int, _Unwind_RaiseException, (_Unwind_Exception * exception), exception)
QUADRILLE_UNWIND(int, _Unwind_Resume_or_Rethrow, (_Unwind_Exception * exception), exception)
QUADRILLE_UNWIND(void, _Unwind_DeleteException, (_Unwind_Exception * exception), exception)
QUADRILLE_UNWIND(int, _Unwind_Backtrace, (Trace trace, void* data), trace, data)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetIP, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetIPInfo, (_Unwind_Context * context, int* before), context, before)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetCFA, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetRegionStart, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetTextRelBase, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(std::uintptr_t, _Unwind_GetDataRelBase, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(void*, _Unwind_GetLanguageSpecificData, (_Unwind_Context * context), context)
QUADRILLE_UNWIND(void, _Unwind_SetIP, (_Unwind_Context * context, std::uintptr_t value), context, value)
QUADRILLE_UNWIND(void, _Unwind_SetGR, (_Unwind_Context * context, int index, std::uintptr_t value), context, index,
                 value)

[[noreturn, gnu::visibility("hidden")]] void _Unwind_Resume(_Unwind_Exception* exception) {
  static constinit std::atomic<void (*)(_Unwind_Exception*)> known = nullptr;
  look_up(known, "_Unwind_Resume")(exception);
  std::abort();  // it does not return
}

}  // extern "C"
