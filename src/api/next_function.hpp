// What comes after a function of ours in the loader's order: what a program would call without this library.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace quadrille::api {

// The function `name`, which has the type of `like`; null if there is none in the global scope. It is kept for each
// `like`, so each `like` goes with one name. Looking it up again does no harm, so threads may race here.
template <auto like>
auto next_function(const char* name) {
  static constinit std::atomic<decltype(like)> known = nullptr;
  auto next = known.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  next = reinterpret_cast<decltype(like)>(dlsym(RTLD_NEXT, name));
  known.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace quadrille::api
