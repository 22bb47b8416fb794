// What comes after a function of ours in the loader's order: what a program would call without this library.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace quadrille::api {

// The function `name`, kept in `known`; null if there is none in the global scope. Looking it up again does no harm, so
// threads may race here.
template <class Function>
Function* next_function(std::atomic<Function*>& known, const char* name) {
  Function* next = known.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  known.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace quadrille::api
