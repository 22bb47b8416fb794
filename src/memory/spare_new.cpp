// The library's own operator new, which takes what the system refuses from the reserve (memory/spare.hpp). It is in a
// library of its own, so that it is hidden in the doors: programs keep theirs.
#include <cstdlib>
#include <new>

#include "memory/spare.hpp"

namespace {

void* allocate(std::size_t bytes) noexcept {
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) [[likely]]
    return memory;
  return quadrille::memory::take_spare(bytes);
}

void release(void* memory) noexcept {
  if (!quadrille::memory::give_spare_back(memory)) std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* memory = allocate(bytes)) [[likely]]
    return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
