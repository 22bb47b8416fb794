// For the libraries of names that not every MPI has: what comes after them.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace quadrille::api {

// The function `name` that a program would call without this library; null if there is none in the global scope.
template <class Function>
Function* next_added(std::atomic<Function*>& known, const char* name) {
  Function* next = known.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  known.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace quadrille::api

#define QUADRILLE_NEXT_ADDED(name, ...)                               \
  ([]() -> int (*)(__VA_ARGS__) {                                     \
    static std::atomic<int (*)(__VA_ARGS__)> known = nullptr;         \
    return quadrille::api::next_added<int(__VA_ARGS__)>(known, name); \
  }())
