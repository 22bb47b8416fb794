#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "door.hpp"

namespace quadrille::test {

namespace {

void* open_mpi_library() {
  // The ABI of the MPI standard; Open MPI; MPICH and everything with its ABI; Debian's MPICH.
  for (const char* name : {"libmpi_abi.so.1", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"}) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  std::fprintf(stderr, "the tests do not find the MPI library that they are linked to\n");
  std::abort();
}

template <class Function>
void find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(native_symbol(name));
}

Door find_all() {
  Door door;
#define QUADRILLE_FIND(collective, Name, ...) find("PMPI_" #Name, door.collective);
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_FIND)
  return door;
}

}  // namespace

void* native_symbol(const char* name) {
  static void* const library = open_mpi_library();
  // A lookup of a PMPI_ name by handle searches that library alone, not what is preloaded.
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "the MPI library has no %s\n", name);
    std::abort();
  }
  return symbol;
}

const Door& native() {
  static const Door door = find_all();
  return door;
}

}  // namespace quadrille::test
