#include "api/memory_doors.hpp"

#include <cstdlib>
#include <cstring>

#include "memory/heap.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"

namespace quadrille::api {
namespace {

// As raise() of the other doors; here the MPI may not have begun.
int raise_anywhere(int error) {
  int begun = 0, ended = 0;
  mpi().Initialized(&begun);
  mpi().Finalized(&ended);
  if (begun != 0 && ended == 0 && mpi().usable) {
    mpi().Comm_call_errhandler(mpi().comm_world, error);
  }
  return error;
}

}  // namespace

int allocate(MPI_Aint bytes, void** base) {
  if (bytes < 0 || base == nullptr) return raise_anywhere(MPI_ERR_ARG);
  *base = nullptr;
  if (bytes == 0) return MPI_SUCCESS;
  const auto size = static_cast<std::size_t>(bytes);
  if (memory::heap_start()) *base = memory::heap_allocate(size, sys::cache_line);
  if (*base == nullptr && posix_memalign(base, sys::cache_line, size) != 0) {
    *base = nullptr;
    return raise_anywhere(MPI_ERR_NO_MEM);
  }
  return MPI_SUCCESS;
}

int release(void* base) {
  if (!memory::heap_free(base)) std::free(base);
  return MPI_SUCCESS;
}

int alloc_mem(MPI_Aint bytes, MPI_Info info, void* base) {
  // What is wrong with an argument, and what the hints mean, the MPI says.
  if (bytes > 0 && base != nullptr && info == mpi().info_null) {
    if (void* block = memory::heap_allocate(static_cast<std::size_t>(bytes), sys::cache_line)) {
      std::memcpy(base, &block, sizeof block);
      return MPI_SUCCESS;
    }
  }
  return mpi().Alloc_mem(bytes, info, base);
}

int free_mem(void* base) {
  return memory::heap_free(base) ? MPI_SUCCESS : mpi().Free_mem(base);
}

}  // namespace quadrille::api
