// What comes after a door of ours: the function that the program would have called without us. Of a name that begins
// with MPI_ that is another library's where one is loaded behind us: a tool that counts what the program calls, and
// then calls the PMPI_ names, which are the MPI's.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <type_traits>

#include "api/serve.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::api {

template <class Function>
Function* look_up_next(const char* name, Function* of_the_mpi) {
  void* const next = mpi().usable ? dlsym(RTLD_NEXT, name) : nullptr;  // none where the MPI is not in the global scope
  return next != nullptr ? reinterpret_cast<Function*>(next) : of_the_mpi;
}

// What comes after the door `name` of a function of the MPI; looked up at its first call.
template <auto function>
auto next_of(const char* name) {
  static constinit std::atomic<std::remove_cvref_t<decltype(mpi().*function)>> known = nullptr;
  auto* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) known.store(next = look_up_next(name, mpi().*function));
  return next;
}

// A call by a PMPI_ name that is not for us: a tool behind us makes it within a call that we forward, and have counted;
// or the MPI's own library, for files and windows, where it may hold a lock of the MPI, under which we must not wait.
inline bool goes_straight(const void* site) { return is_serving() || mpi().holds(site); }

// A call that we forward. A tool calls the PMPI_ name: that call goes straight to the MPI.
template <class Function, class... Arguments>
int forward(Function* next, Function* of_the_mpi, Arguments... arguments) {
  if (next == of_the_mpi) [[likely]]
    return next(arguments...);
  const Serving guard;
  return next(arguments...);
}

}  // namespace quadrille::api

// next_Name: holds the function itself from the first call on, in which it is look_up_Name, so that a call costs one
// jump.
#define QUADRILLE_NEXT(Name)                                                                                         \
  template <class... Arguments>                                                                                      \
  int look_up_##Name(Arguments...);                                                                                  \
  constinit std::atomic<decltype(quadrille::Mpi::Name)> next_##Name{&look_up_##Name};                                \
  template <class... Arguments>                                                                                      \
  int look_up_##Name(Arguments... arguments) {                                                                       \
    next_##Name.store(quadrille::api::look_up_next("MPI_" #Name, quadrille::mpi().Name), std::memory_order_relaxed); \
    return next_##Name.load(std::memory_order_relaxed)(arguments...);                                                \
  }

// What comes after a door, by its prefix.
#define QUADRILLE_NEXT_MPI(Name) quadrille::api::next_of<&quadrille::Mpi::Name>("MPI_" #Name)
#define QUADRILLE_NEXT_PMPI(Name) quadrille::mpi().Name
// The same of a name that QUADRILLE_NEXT has declared.
#define QUADRILLE_JUMP_MPI(Name) next_##Name.load(std::memory_order_relaxed)
#define QUADRILLE_JUMP_PMPI(Name) quadrille::mpi().Name
// In a door: whether its call goes straight to the MPI.
#define QUADRILLE_IS_STRAIGHT_MPI false
#define QUADRILLE_IS_STRAIGHT_PMPI quadrille::api::goes_straight(__builtin_return_address(0))
