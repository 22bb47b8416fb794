// A driver's library as a program finds it: all functions of CUDA's and HIP's drivers that it has, and what a stand-in
// offers to tests.
#pragma once

#include <dlfcn.h>

#include "hip_calls.hpp"

namespace quadrille::standin {

// Null is what the library lacks: a stand-in has one driver's functions, and a real driver has nothing for tests.
struct Table {
#define QUADRILLE_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  QUADRILLE_CUDA_CALLS(QUADRILLE_MEMBER)
  QUADRILLE_HIP_CALLS(QUADRILLE_MEMBER)
#undef QUADRILLE_MEMBER
  quadrille_standin_count_t* count = nullptr;
  quadrille_standin_set_t* set = nullptr;
  quadrille_standin_host_t* host = nullptr;
  quadrille_standin_kernel_t* kernel = nullptr;

  bool is_cuda() const { return cuInit != nullptr; }

  // False if there is no such library; dlerror() says why.
  bool load(const char* path) {
    void* const library = dlopen(path, RTLD_NOW);
    if (library == nullptr) return false;
#define QUADRILLE_FIND(name, ...) find(library, #name, name);
    QUADRILLE_CUDA_CALLS(QUADRILLE_FIND)
    QUADRILLE_HIP_CALLS(QUADRILLE_FIND)
#undef QUADRILLE_FIND
    find(library, "quadrille_standin_count", count);
    find(library, "quadrille_standin_set", set);
    find(library, "quadrille_standin_host", host);
    find(library, "quadrille_standin_kernel", kernel);
    return true;
  }

 private:
  template <class Function>
  static void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
  }
};

}  // namespace quadrille::standin
