#include <bit>
#include <cstdio>

#include "memory/heap_parts.hpp"

#if defined(QUADRILLE_HAVE_HEAP)
// jemalloc 5.3 under our prefix: its documented interface, and what it reads its settings with.
extern "C" {
struct quadrille_je_hooks;
using AllocHook = void*(quadrille_je_hooks*, void*, std::size_t, std::size_t, bool*, bool*, unsigned);
using RangeHook = bool(quadrille_je_hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned);
struct quadrille_je_hooks {  // extent_hooks_t
  AllocHook* alloc;
  bool (*dalloc)(quadrille_je_hooks*, void*, std::size_t, bool, unsigned);
  void (*destroy)(quadrille_je_hooks*, void*, std::size_t, bool, unsigned);
  RangeHook* commit;
  RangeHook* decommit;
  RangeHook* purge_lazy;
  RangeHook* purge_forced;
  bool (*split)(quadrille_je_hooks*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned);
  bool (*merge)(quadrille_je_hooks*, void*, std::size_t, void*, std::size_t, bool, unsigned);
};
void* quadrille_je_jemk_mallocx(std::size_t size, int flags);
void* quadrille_je_jemk_rallocx(void* address, std::size_t size, int flags);
std::size_t quadrille_je_jemk_xallocx(void* address, std::size_t size, std::size_t extra, int flags);
std::size_t quadrille_je_jemk_sallocx(const void* address, int flags);
void quadrille_je_jemk_dallocx(void* address, int flags);
int quadrille_je_jemk_mallctl(const char* name, void* old, std::size_t* old_bytes, void* set, std::size_t set_bytes);

// Freed pages go back to the system after a second, without a stage in between. A thread keeps a few
// freed blocks of each size up to 128 KiB for itself: without that a malloc and free of 16 KiB costs
// twenty times what it costs in libc.
extern const char* quadrille_je_jemk_malloc_conf;
const char* quadrille_je_jemk_malloc_conf =
    "tcache:true,lg_tcache_max:17,tcache_nslots_large:4,narenas:1,dirty_decay_ms:1000,"
    "muzzy_decay_ms:0,retain:true,dss:disabled,background_thread:false";

char* quadrille_je_secure_getenv(const char*);
char* quadrille_je_secure_getenv(const char*) { return nullptr; }
long quadrille_je_readlink(const char*, char*, std::size_t);
long quadrille_je_readlink(const char*, char*, std::size_t) { return -1; }
}

namespace quadrille::memory {
namespace {

struct ArenaConfig {  // arena_config_t of jemalloc 5.3
  quadrille_je_hooks* hooks;
  bool records_in_range;
};

std::atomic<std::size_t> reach{0};
int arena_flags = 0;                 // of the mallocx family. No other arena is used, so the caches hold nothing else
char decay_name[32], trim_name[32];  // of jemalloc's controls

void* take_pages(quadrille_je_hooks*, void* wanted, std::size_t bytes, std::size_t alignment, bool* zero, bool* commit,
                 unsigned) {
  const HeapSegment& range = heap_state().segment;
  std::size_t begin = reach.load(std::memory_order_relaxed);
  std::size_t at;
  do {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(range.base) + begin;
    at = begin + (alignment - address % alignment) % alignment;
    if (at > range.bytes || bytes > range.bytes - at) return nullptr;
    if (wanted != nullptr && wanted != range.base + at) return nullptr;
  } while (!reach.compare_exchange_weak(begin, at + bytes, std::memory_order_relaxed));
  // From `begin`, so that the pages in use stay one mapping.
  if (!open_heap_pages(range.base + begin, at + bytes - begin)) return nullptr;
  *zero = true;
  *commit = true;
  return range.base + at;
}

// The arena keeps its addresses for ever; only pages go back. In these hooks true means "no".
bool keep_addresses(quadrille_je_hooks*, void*, std::size_t, bool, unsigned) { return true; }
bool already_usable(quadrille_je_hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned) { return false; }
bool cannot(quadrille_je_hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned) { return true; }
bool purge(quadrille_je_hooks*, void* address, std::size_t, std::size_t offset, std::size_t bytes, unsigned) {
  return !drop_heap_pages(static_cast<std::byte*>(address) + offset, bytes);
}
bool may_split(quadrille_je_hooks*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; }
bool may_merge(quadrille_je_hooks*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; }

quadrille_je_hooks hooks = {take_pages, keep_addresses, nullptr,   already_usable, cannot,
                            cannot,     purge,          may_split, may_merge};

// mallocx flags, as jemalloc's manual defines them.
constexpr int zero_flag = 0x40;
// Every block of 16 bytes or more is aligned to 16. To ask for that would go past the thread's cache.
int flag_of_alignment(std::size_t bytes, std::size_t alignment) {
  return alignment <= 16 && bytes >= 16 ? 0 : std::countr_zero(alignment);
}

}  // namespace

Reason arena_start() {
  reach.store(heap_state().first, std::memory_order_relaxed);
  ArenaConfig config{&hooks, false};
  unsigned arena = 0;
  std::size_t bytes = sizeof arena;
  if (quadrille_je_jemk_mallctl("experimental.arenas_create_ext", &arena, &bytes, &config, sizeof config) != 0) {
    return Reason::no_arena;
  }
  std::snprintf(decay_name, sizeof decay_name, "arena.%u.decay", arena);
  std::snprintf(trim_name, sizeof trim_name, "arena.%u.purge", arena);
  arena_flags = static_cast<int>((arena + 1) << 20);
  return Reason::none;
}

std::size_t arena_reach() { return reach.load(std::memory_order_relaxed); }

void* arena_allocate(std::size_t bytes, std::size_t alignment, bool zero) {
  return quadrille_je_jemk_mallocx(bytes, arena_flags | flag_of_alignment(bytes, alignment) | (zero ? zero_flag : 0));
}

void arena_free(void* address) { quadrille_je_jemk_dallocx(address, 0); }

void* arena_resize(void* address, std::size_t bytes) { return quadrille_je_jemk_rallocx(address, bytes, arena_flags); }

void arena_resize_in_place(void* address, std::size_t bytes) {
  quadrille_je_jemk_xallocx(address, bytes, 0, arena_flags);
}

std::size_t arena_usable(const void* address) { return quadrille_je_jemk_sallocx(address, 0); }

void arena_decay() { quadrille_je_jemk_mallctl(decay_name, nullptr, nullptr, nullptr, 0); }

void arena_trim() { quadrille_je_jemk_mallctl(trim_name, nullptr, nullptr, nullptr, 0); }

}  // namespace quadrille::memory

#else

// Built without an allocator: the heap never starts, so nothing but arena_start() is ever called.
namespace quadrille::memory {
Reason arena_start() { return Reason::built_without_heap; }
std::size_t arena_reach() { return 0; }
void* arena_allocate(std::size_t, std::size_t, bool) { return nullptr; }
void arena_free(void*) {}
void* arena_resize(void*, std::size_t) { return nullptr; }
void arena_resize_in_place(void*, std::size_t) {}
std::size_t arena_usable(const void*) { return 0; }
void arena_decay() {}
void arena_trim() {}
}  // namespace quadrille::memory

#endif
