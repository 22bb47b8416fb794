// The drop-in door of mappings and forks: what a program does to addresses of the shared heap, and of
// memory that peers may have attached, by other ways than malloc. Each call is passed on to the next
// function in the loader's order, so that the MPI, which may watch these calls too, still sees them.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "memory/heap.hpp"
#include "memory/xpmem.hpp"
#include "quadrille.h"

namespace memory = quadrille::memory;

namespace {

// The next definition of a function. Looking it up again does no harm, so threads may race here.
template <class Function>
Function* next(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

// The program is about to change the mapping of these addresses.
void note(void* address, std::size_t bytes) {
  if (memory::heap_touches(address, bytes)) memory::heap_note_mapping(address, bytes);
  memory::note_unmapped(address, bytes);
}

using MmapFunction = void*(void*, std::size_t, int, int, int, off_t);
std::atomic<MmapFunction*> next_mmap;

void* map(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_FIXED) != 0) note(address, bytes);
  return next(next_mmap, "mmap")(address, bytes, protection, flags, file, offset);
}

// Whether a whole range is memory of the heap that can be shared, so no mapping of the program's own.
bool is_heap_memory(void* address, std::size_t bytes) {
  return bytes != 0 && memory::heap_shareable(address, bytes);
}

}  // namespace

extern "C" {

QUADRILLE_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) noexcept {
  return map(address, bytes, protection, flags, file, offset);
}

QUADRILLE_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                              off64_t offset) noexcept {
  return map(address, bytes, protection, flags, file, offset);
}

QUADRILLE_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  static std::atomic<int (*)(void*, std::size_t)> known;
  note(address, bytes);
  return next<int(void*, std::size_t)>(known, "munmap")(address, bytes);
}

QUADRILLE_EXPORT void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags,
                              ...) noexcept {
  using Function = void*(void*, std::size_t, std::size_t, int, ...);
  static std::atomic<Function*> known;
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    target = va_arg(rest, void*);
    va_end(rest);
    note(target, bytes);
  }
  note(address, old_bytes);
  return next<Function>(known, "mremap")(address, old_bytes, bytes, flags, target);
}

// Private memory reads as zeros after MADV_DONTNEED; shared memory would keep its content. The heap
// behaves as the private memory that the program takes it for.
QUADRILLE_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
  static std::atomic<int (*)(void*, std::size_t, int)> known;
  if ((advice == MADV_DONTNEED || advice == MADV_FREE) && is_heap_memory(address, bytes)) {
    advice = MADV_REMOVE;
  }
  if (advice == MADV_DONTNEED || advice == MADV_REMOVE) memory::note_unmapped(address, bytes);
  return next<int(void*, std::size_t, int)>(known, "madvise")(address, bytes, advice);
}

// Our own handlers come before those of anybody else, see memory/heap_fork.cpp.
QUADRILLE_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                       void* object) noexcept {
  using Function = int(void (*)(), void (*)(), void (*)(), void*);
  static std::atomic<Function*> known;
  memory::heap_watch_forks();
  return next<Function>(known, "__register_atfork")(prepare, parent, child, object);
}

// A fork that runs no handlers.
QUADRILLE_EXPORT pid_t _Fork() noexcept {
  static std::atomic<pid_t (*)()> known;
  auto* fork_only = next<pid_t()>(known, "_Fork");
  if (fork_only == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return memory::heap_fork_without_handlers(fork_only);
}

}  // extern "C"
