#include "memory.hpp"

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace quadrille::fuzz {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t fixed_bytes = 1 << 20;
constexpr std::size_t most_kept = 24;

std::size_t whole_pages(std::size_t bytes) { return (bytes / page + 1) * page; }

// Pieces of one area are handed out one behind the other until all are back.
struct Pieces {
  unsigned char* area = nullptr;
  std::size_t bytes = 0, used = 0, held = 0;
  unsigned char* take(std::size_t wanted) {
    if (area == nullptr || bytes - used < wanted) return nullptr;
    unsigned char* const piece = area + used;
    used += (wanted + 15) / 16 * 16, ++held;
    if (used > bytes) used = bytes;
    return piece;
  }
  void give() {
    if (--held == 0) used = 0;
  }
};

alignas(64) unsigned char fixed_area[fixed_bytes];
std::mutex guard;  // of what follows
Pieces fixed{fixed_area, fixed_bytes};
std::vector<Memory> kept;
std::string dropped_problem;
thread_local Pieces stack;

void* map(std::size_t bytes, int flags, int file) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return base == MAP_FAILED ? nullptr : base;
}

void* map_file(std::size_t bytes, int flags) {
  char name[] = "/tmp/quadrille-fuzz-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) return nullptr;
  unlink(name);
  void* const base = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? map(bytes, flags, file) : nullptr;
  close(file);
  return base;
}

// Mapped small, written, then made larger: the system moves it.
void* map_and_move(std::size_t bytes) {
  void* const small = map(page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (small == nullptr) return nullptr;
  std::memset(small, 7, page);
  void* const base = mremap(small, page, bytes, MREMAP_MAYMOVE);
  return base == MAP_FAILED ? nullptr : base;
}

// The whole pages inside of a block.
unsigned char* first_page(const Memory& m) {
  return reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(m.data) + page - 1) / page * page);
}
std::size_t inner_pages(const Memory& m) {
  const std::size_t skipped = static_cast<std::size_t>(first_page(m) - m.data);
  return m.bytes < skipped ? 0 : (m.bytes - skipped) / page;
}

void map_over(Draw& draw, const Memory& m, int sharing) {
  const std::size_t pages = inner_pages(m);
  if (pages == 0) return;
  const std::size_t from = draw.below(pages), count = draw.between(1, pages - from);
  mmap(first_page(m) + from * page, count * page, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

// Programs rely on zeros in what they have told the system to drop.
void drop(Draw& draw, const Memory& m) {
  const std::size_t pages = inner_pages(m);
  if (pages == 0) return;
  std::memset(m.data, 0x5a, m.bytes);
  const std::size_t from = draw.below(pages), count = draw.between(1, pages - from);
  unsigned char* const base = first_page(m) + from * page;
  if (madvise(base, count * page, MADV_DONTNEED) != 0) return;
  for (std::size_t i = 0; i < count * page; ++i) {
    if (base[i] == 0) continue;
    const std::lock_guard lock(guard);
    dropped_problem = "MADV_DONTNEED left byte " + std::to_string(i) + " of " + std::to_string(count) +
                      " pages of a malloc block of " + std::to_string(m.bytes) + " B as it was";
    return;
  }
}

void* allocate(Draw& draw, Origin origin, std::size_t bytes) {
  constexpr int own = MAP_PRIVATE | MAP_ANONYMOUS;
  switch (origin) {
    case Origin::calloc:
      return std::calloc(bytes / 8 + 1, 8);
    case Origin::grown: {
      void* const small = std::malloc(bytes / draw.between(2, 9) + 1);
      std::memset(small, 3, 1);
      return std::realloc(small, bytes);
    }
    case Origin::aligned:
      return std::aligned_alloc(page, whole_pages(bytes));
    case Origin::mpi: {
      void* base = nullptr;
      return MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &base) == MPI_SUCCESS ? base : nullptr;
    }
    case Origin::mapped:
      return map(whole_pages(bytes), own, -1);
    case Origin::shared:
      return map(whole_pages(bytes), MAP_SHARED | MAP_ANONYMOUS, -1);
    case Origin::file:
      return map_file(whole_pages(bytes), MAP_PRIVATE);
    case Origin::shared_file:
      return map_file(whole_pages(bytes), MAP_SHARED);
    case Origin::moved:
      return map_and_move(whole_pages(bytes));
    case Origin::stack:
      return stack.take(bytes);
    case Origin::fixed: {
      const std::lock_guard lock(guard);
      return fixed.take(bytes);
    }
    default:
      return std::malloc(bytes);
  }
}

bool take_kept(Draw& draw, std::size_t bytes, Memory& memory) {
  const std::lock_guard lock(guard);
  if (kept.empty()) return false;
  const std::size_t at = draw.below(kept.size());
  if (kept[at].bytes < bytes) return false;
  memory = kept[at];
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

// What is freed must be ordinary memory again: another block there would be shared with children.
void make_private(const Memory& m) {
  if (inner_pages(m) == 0) return;
  mmap(first_page(m), inner_pages(m) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void release(const Memory& m) {
  if (m.origin == Origin::mapped_over_shared) make_private(m);
  switch (m.origin) {
    case Origin::mapped:
    case Origin::shared:
    case Origin::file:
    case Origin::shared_file:
    case Origin::moved:
      munmap(m.data, whole_pages(m.bytes));
      return;
    case Origin::mpi:
      MPI_Free_mem(m.data);
      return;
    case Origin::stack:
      stack.give();
      return;
    case Origin::fixed: {
      const std::lock_guard lock(guard);
      fixed.give();
      return;
    }
    default:
      std::free(m.data);
  }
}

}  // namespace

Memory take_memory(Draw& draw, std::size_t bytes) {
  using enum Origin;
  Memory m;
  bytes += 16;
  m.origin = draw.pick({malloc, malloc, malloc, malloc, calloc,      grown,       aligned,
                        mpi,    mapped, shared, file,   shared_file, moved,       kept,
                        kept,   kept,   stack,  stack,  fixed,       mapped_over, mapped_over_shared,
                        dropped});
  Draw shape(draw.next());  // as many numbers for each origin, whatever is at hand
  if (m.origin == kept) {
    if (take_kept(shape, bytes, m)) return m;
    m.origin = malloc;
  }
  m.bytes = bytes;
  m.data = static_cast<unsigned char*>(allocate(shape, m.origin, bytes));
  if (m.data == nullptr) {
    m.origin = malloc;
    m.data = static_cast<unsigned char*>(std::malloc(bytes));
  }
  m.writable_by_choice = m.origin == mapped || m.origin == shared || m.origin == file || m.origin == moved;
  m.shared = m.origin == shared || m.origin == shared_file || m.origin == mapped_over_shared;
  if (m.origin == mapped_over) map_over(shape, m, MAP_PRIVATE);
  if (m.origin == mapped_over_shared) map_over(shape, m, MAP_SHARED);
  if (m.origin == dropped) drop(shape, m);
  return m;
}

void give_back(Memory& memory) {
  if (memory.data == nullptr) return;
  const bool heap = memory.origin != Origin::stack && memory.origin != Origin::fixed;
  if (heap && memory.bytes % 3 == 0) {
    const std::lock_guard lock(guard);
    if (kept.size() < most_kept && memory.bytes < (4 << 20)) {
      kept.push_back(memory);
      memory.data = nullptr;
      return;
    }
  }
  release(memory);
  memory.data = nullptr;
}

void free_kept_memory() {
  for (const Memory& memory : kept) release(memory);
  kept.clear();
}

void set_writable(const Memory& memory, bool writable) {
  if (!memory.writable_by_choice) return;
  mprotect(memory.data, whole_pages(memory.bytes), writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

const char* name_of(Origin origin) {
  constexpr const char* names[] = {"malloc", "calloc",      "realloc", "aligned_alloc", "MPI_Alloc_mem",
                                   "mmap",   "shared mmap", "file",    "shared file",   "mremap",
                                   "kept",   "stack",       "static",  "mapped over",   "mapped over (shared)",
                                   "madvise"};
  return names[static_cast<int>(origin)];
}

StackArea::StackArea() { stack = {area_, sizeof(area_)}; }
StackArea::~StackArea() { stack = {}; }

std::string not_dropped() {
  const std::lock_guard lock(guard);
  return dropped_problem;
}

}  // namespace quadrille::fuzz
