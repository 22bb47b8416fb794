#include "api/memory_doors.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "abi/functions.hpp"
#include "memory/heap.hpp"
#include "mpi/phase.hpp"
#include "mpi/thrown.hpp"
#include "sys/sys.hpp"

namespace quadrille::api {
namespace {

// As raise() of the other doors; here the MPI may not have begun.
int raise_anywhere(int error) {
  if (mpi().usable && may_call_mpi()) mpi().Comm_call_errhandler(mpi().comm_world, error);
  return error;
}

// What alloc_mem() has given from the heap. Also the MPI's own memory may lie there, as the MPI calls malloc: but in
// the middle of a block, behind what MPICH keeps of it.
class Given {
 public:
  bool note(void* block) {
    const std::lock_guard lock(mutex_);
    return thrown_by([&] { blocks_.insert(block); }) == mpi_success;
  }
  bool take(void* block) {
    const std::lock_guard lock(mutex_);
    return blocks_.erase(block) > 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*> blocks_;
};
Given& given() { return sys::immortal<Given>(); }  // also for who frees memory at the end of the program

}  // namespace

int alloc_mem(MpiAint bytes, MpiInfo info, void* base, decltype(Mpi::Alloc_mem) next) {
  // What is wrong with an argument, and what the hints mean, the MPI says.
  if (bytes > 0 && base != nullptr && info == mpi().info_null) {
    void* const block = memory::heap_allocate(static_cast<std::size_t>(bytes), sys::cache_line);
    if (block != nullptr && given().note(block)) {
      std::memcpy(base, &block, sizeof block);
      return mpi_success;
    }
    memory::heap_free(block);
  }
  return next(bytes, info, base);
}

int free_mem(void* base, decltype(Mpi::Free_mem) next) {
  if (!given().take(base)) return next(base);
  memory::heap_free(base);
  return mpi_success;
}

}  // namespace quadrille::api

using namespace quadrille;

int Quadrille_Alloc(MpiAint bytes, void** base) {
  if (bytes < 0 || base == nullptr) return api::raise_anywhere(mpi().err_arg);
  *base = nullptr;
  if (bytes == 0) return mpi_success;
  const auto size = static_cast<std::size_t>(bytes);
  if (memory::heap_start()) *base = memory::heap_allocate(size, sys::cache_line);
  if (*base == nullptr && posix_memalign(base, sys::cache_line, size) != 0) {
    *base = nullptr;
    return api::raise_anywhere(mpi().err_no_mem);
  }
  return mpi_success;
}

int Quadrille_Free(void* base) {
  if (!memory::heap_free(base)) std::free(base);
  return mpi_success;
}
