// The drop-in door of memory: the allocation functions of the C library, found before its own by the
// loader (LD_PRELOAD). C++'s operator new and Fortran's allocate come through them.
//
// Large blocks come from the shared heap once it is started. All else goes to the next allocator in
// the loader's order: libc, or one that the program is linked to (tcmalloc, jemalloc); memory from its
// other doors then ends up where it came from. A program that defines malloc itself never comes here.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "abi/functions.hpp"
#include "memory/heap.hpp"

namespace memory = quadrille::memory;

extern "C" {
// glibc's own, by names that nobody replaces. They serve while the next allocator is looked up.
void* __libc_malloc(std::size_t bytes) noexcept;
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* address, std::size_t bytes) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;
void __libc_free(void* address) noexcept;
}

namespace {

struct NextAllocator {
  void* (*malloc)(std::size_t) noexcept = __libc_malloc;
  void* (*calloc)(std::size_t, std::size_t) noexcept = __libc_calloc;
  void* (*realloc)(void*, std::size_t) noexcept = __libc_realloc;
  void* (*memalign)(std::size_t, std::size_t) noexcept = __libc_memalign;
  void (*free)(void*) noexcept = __libc_free;
  int (*posix_memalign)(void**, std::size_t, std::size_t) noexcept = nullptr;
  void* (*aligned_alloc)(std::size_t, std::size_t) noexcept = nullptr;
  void* (*valloc)(std::size_t) noexcept = nullptr;
  void* (*pvalloc)(std::size_t) noexcept = nullptr;
  std::size_t (*malloc_usable_size)(void*) noexcept = nullptr;
  bool knows_sizes = false;  // malloc_usable_size is of the same library as malloc
  bool found = false;
};

constinit NextAllocator table;
constinit bool looking = false;

template <class Function>
void find(Function& function, const char* name) {
  if (void* symbol = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(symbol);
}

bool are_of_one_library(const void* one, const void* other) {
  Dl_info of_one{}, of_other{};
  return dladdr(one, &of_one) != 0 && dladdr(other, &of_other) != 0 && of_one.dli_fbase == of_other.dli_fbase;
}

// The loader allocates before any code of the program runs, so there is one thread only.
[[gnu::noinline]] void look_up() {
  if (looking) return;  // dlsym itself allocates
  looking = true;
  find(table.malloc, "malloc");
  find(table.calloc, "calloc");
  find(table.realloc, "realloc");
  find(table.memalign, "memalign");
  find(table.free, "free");
  find(table.posix_memalign, "posix_memalign");
  find(table.aligned_alloc, "aligned_alloc");
  find(table.valloc, "valloc");
  find(table.pvalloc, "pvalloc");
  find(table.malloc_usable_size, "malloc_usable_size");
  // Libraries that trace memory put a header before each block, and often have no function for its size: libc's would
  // take the header for its own.
  table.knows_sizes = are_of_one_library(reinterpret_cast<const void*>(table.malloc),
                                         reinterpret_cast<const void*>(table.malloc_usable_size));
  table.found = true;
}

inline const NextAllocator& next() {
  if (!table.found) [[unlikely]]
    look_up();
  return table;
}

// A block that is always of the heap's kind of alignment, as malloc's are.
constexpr std::size_t usual_alignment = alignof(std::max_align_t);
// Larger alignments would waste the segment.
constexpr std::size_t most_alignment = std::size_t{1} << 30;

// Null: the block is the next allocator's.
void* large_aligned(std::size_t alignment, std::size_t bytes) {
  if (!memory::heap_wants(bytes) || !std::has_single_bit(alignment) || alignment > most_alignment) return nullptr;
  return memory::heap_allocate(bytes, std::max(alignment, usual_alignment));
}

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t usable(void* address) {
  if (memory::heap_owns(address)) return memory::heap_usable(address);
  return next().malloc_usable_size(address);
}

// Of a block of the heap, and of the first of all; apart as unusual_malloc().
[[gnu::noinline]] void unusual_free(void* address) noexcept {
  if (!memory::heap_free(address)) next().free(address);
}

// Moves a block to the other allocator. Keeps the old one if there is no memory.
void* move_block(void* address, std::size_t bytes, void* target) {
  if (target == nullptr) return nullptr;
  std::memcpy(target, address, std::min(usable(address), bytes));
  unusual_free(address);
  return target;
}

void* reallocate_heap_block(void* address, std::size_t bytes) {
  if (bytes == 0) {
    memory::heap_free(address);
    return nullptr;
  }
  if (void* same = memory::heap_resize(address, bytes)) return same;
  return move_block(address, bytes, next().malloc(bytes));
}

// Large blocks, blocks of the heap, and the first of all. Apart, so that the usual way has no frame of its own and ends
// in a jump: programs and MPIs allocate for each call.
[[gnu::noinline]] void* unusual_malloc(std::size_t bytes) noexcept {
  if (memory::heap_wants(bytes)) {
    if (void* block = memory::heap_allocate(bytes, usual_alignment)) return block;
  }
  return next().malloc(bytes);
}

[[gnu::noinline]] void* unusual_calloc(std::size_t count, std::size_t bytes) noexcept {
  if (memory::heap_wants(count * bytes)) {
    if (void* block = memory::heap_allocate(count * bytes, usual_alignment, true)) return block;
  }
  return next().calloc(count, bytes);
}

[[gnu::noinline]] void* unusual_realloc(void* address, std::size_t bytes) noexcept {
  if (memory::heap_owns(address)) return reallocate_heap_block(address, bytes);
  if (memory::heap_wants(bytes) && (address == nullptr || next().knows_sizes)) {
    if (void* block = memory::heap_allocate(bytes, usual_alignment))
      return address == nullptr ? block : move_block(address, bytes, block);
  }
  return next().realloc(address, bytes);
}

// Reads the environment once libc is ready; earlier allocations are libc's.
[[gnu::constructor]] void begin() { memory::heap_prepare_early(); }

}  // namespace

extern "C" {

QUADRILLE_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (memory::heap_wants(bytes) || !table.found) [[unlikely]]
    return unusual_malloc(bytes);
  return table.malloc(bytes);
}

QUADRILLE_EXPORT void free(void* address) noexcept {
  if (memory::heap_owns(address) || !table.found) [[unlikely]]
    return unusual_free(address);
  table.free(address);
}

QUADRILLE_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t total;
  // The next allocator refuses an overflow.
  if (__builtin_mul_overflow(count, bytes, &total)) [[unlikely]]
    return next().calloc(count, bytes);
  if (memory::heap_wants(total) || !table.found) [[unlikely]]
    return unusual_calloc(count, bytes);
  return table.calloc(count, bytes);
}

QUADRILLE_EXPORT void* realloc(void* address, std::size_t bytes) noexcept {
  if (memory::heap_owns(address) || memory::heap_wants(bytes) || !table.found) [[unlikely]] {
    return unusual_realloc(address, bytes);
  }
  return table.realloc(address, bytes);
}

QUADRILLE_EXPORT void* reallocarray(void* address, std::size_t count, std::size_t bytes) noexcept {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(address, total);
}

QUADRILLE_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (void* block = large_aligned(alignment, bytes)) return block;
  return next().memalign(alignment, bytes);
}

QUADRILLE_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (void* block = alignment >= sizeof(void*) ? large_aligned(alignment, bytes) : nullptr) {
    *result = block;
    return 0;
  }
  return next().posix_memalign(result, alignment, bytes);
}

QUADRILLE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (void* block = large_aligned(alignment, bytes)) return block;
  return next().aligned_alloc(alignment, bytes);
}

QUADRILLE_EXPORT void* valloc(std::size_t bytes) noexcept {
  if (void* block = large_aligned(page(), bytes)) return block;
  return next().valloc(bytes);
}

QUADRILLE_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + page() - 1) / page() * page();
  if (void* block = whole >= bytes ? large_aligned(page(), whole) : nullptr) return block;
  return next().pvalloc(bytes);
}

QUADRILLE_EXPORT std::size_t malloc_usable_size(void* address) noexcept { return usable(address); }

// AddressSanitizer ends a program in which a preloaded library comes before it, because that library might take memory
// past it. The functions above forward to the next allocator, which is the sanitizer's. The sanitizer calls this
// function for its options.
QUADRILLE_EXPORT const char* __asan_default_options() noexcept { return "verify_asan_link_order=0"; }

}  // extern "C"
