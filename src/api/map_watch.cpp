// The drop-in door of mappings and forks: what a program does to addresses of the shared heap, and of memory that peers
// may have attached, by other ways than malloc; and of limits on addresses and on locked memory, for which what the
// heap only reserves must not count (memory/heap.hpp). Each call is forwarded to the next function in the
// loader's order, so that the MPI, which may watch these calls too, still sees them. Calls by syscall() go past this.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>

#include "abi/functions.hpp"
#include "api/next_function.hpp"
#include "memory/heap.hpp"
#include "memory/reach.hpp"
#include "sys/sys.hpp"

namespace memory = quadrille::memory;

namespace {

using quadrille::api::next_function;

// The program is about to change the mapping of these addresses.
void note(void* address, std::size_t bytes) {
  if (memory::heap_touches(address, bytes)) memory::heap_note_mapping(address, bytes);
  memory::note_unmapped(address, bytes);
}

using MmapFunction = void*(void*, std::size_t, int, int, int, off_t);
std::atomic<unsigned> maps_seen{0};

void* map(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  maps_seen.fetch_add(1, std::memory_order_relaxed);
  if ((flags & MAP_FIXED) != 0) note(address, bytes);
  return next_function<map>("mmap")(address, bytes, protection, flags, file, offset);
}

// ---- Dropping pages ----

int advise(void* address, std::size_t bytes, int advice) {
  return next_function<advise>("madvise")(address, bytes, advice);
}

#if !defined(MADV_DONTNEED_LOCKED)
#define MADV_DONTNEED_LOCKED 24
#endif

bool drops_pages(int advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_DONTNEED_LOCKED;
}

// As far as it went, and its error.
struct Dropping {
  int advice, error = 0;
  bool all_heap = true;
};

// Private memory may be dropped where it cannot be written, too. Who locks memory is to be told.
void drop_part(void* context, std::byte* begin, std::size_t bytes, bool is_heap) {
  auto& dropping = *static_cast<Dropping*>(context);
  dropping.all_heap = dropping.all_heap && is_heap;
  if (dropping.error != 0 && dropping.error != ENOMEM) return;  // goes on over holes, as the kernel does
  if (advise(begin, bytes, is_heap ? MADV_REMOVE : dropping.advice) == 0) return;
  const bool locked = errno == EINVAL && dropping.advice != MADV_DONTNEED_LOCKED;
  if (is_heap && !locked && memory::heap_drop(begin, bytes)) return;
  dropping.error = errno;
}

int drop(void* address, std::size_t bytes, int advice) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = (begin + bytes + page - 1) / page * page;
  if (begin % page != 0 || end < begin) return advise(address, bytes, advice);  // an error
  const int before = errno;
  Dropping dropping{advice};
  if (!memory::heap_for_each_part(static_cast<std::byte*>(address), end - begin, drop_part, &dropping)) {
    dropping.error = EAGAIN;
    dropping.all_heap = false;
  }
  // UCX has told of these pages as unmapped. They are the heap's still.
  if (dropping.all_heap) memory::heap_take_back_note(address, bytes);
  errno = dropping.error == 0 ? before : dropping.error;
  return dropping.error == 0 ? 0 : -1;
}

// ---- Watchers that come before us ----
//
// UCX, over which many MPIs send, overwrites the first instructions of mmap and the others, wherever their symbols
// lead: here. Its own functions then call the kernel, and ours never run. It tells others what it sees, so we ask it;
// where that fails, nothing is known of the mappings any more, and no memory of the program is shared.

constexpr const char* watched_names[] = {"mmap", "munmap", "mremap", "madvise"};
struct Watched {
  const void* at = nullptr;
  std::uint64_t code = 0;
};
std::uint64_t code_at(const void* at) {
  std::uint64_t code = 0;
  std::memcpy(&code, at, sizeof code);
  return code;
}
// constinit: initialised later it would forget what begin_watch() finds.
constinit Watched watched[std::size(watched_names)] = {};
std::atomic<memory::MappingWatch> watch{memory::MappingWatch::ours};

// By the symbol, as a program calls it.
void* map_by_name(void* address, int flags) {
  auto* function = reinterpret_cast<MmapFunction*>(dlsym(RTLD_DEFAULT, "mmap"));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return function(address, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}
void unmap_by_name(void* address) {
  auto* function = reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(RTLD_DEFAULT, "munmap"));
  function(address, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

constinit bool bypassed_from_start = false;  // overwritten before the code could be remembered

bool is_overwritten() {
  const auto has_changed = [](const Watched& one) { return one.at != nullptr && code_at(one.at) != one.code; };
  return bypassed_from_start || std::any_of(std::begin(watched), std::end(watched), has_changed);
}

// What UCX's ucm_event_t begins with for an address range that is about to be unmapped, and for a call of madvise.
struct UnmappedRange {
  void* address;
  std::size_t bytes;
};
struct Advised {
  int result;  // -1: UCX calls the kernel
  void* address;
  std::size_t bytes;
  int advice;
};
constexpr int ucm_madvise = 1 << 6, ucm_vm_unmapped = 1 << 17;
constexpr int ucm_before_the_call = -1;
std::atomic<void*> last_seen{nullptr};
void on_unmapped(int, void* event, void*) {
  const auto& range = *static_cast<const UnmappedRange*>(event);
  last_seen.store(range.address, std::memory_order_relaxed);
  note(range.address, range.bytes);
}
void on_madvise(int, void* event, void*) {
  auto& call = *static_cast<Advised*>(event);
  if (drops_pages(call.advice) && memory::heap_touches(call.address, call.bytes)) {
    call.result = drop(call.address, call.bytes, call.advice);
  }
}

// Asks UCX, and tries whether it tells.
bool follow_ucx() {
  using SetHandler = signed char(int, int, void (*)(int, void*, void*), void*);
  void* library = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  auto* set = reinterpret_cast<SetHandler*>(dlsym(library, "ucm_set_event_handler"));
  if (set == nullptr || set(ucm_vm_unmapped, 0, on_unmapped, nullptr) != 0) return false;
  set(ucm_madvise, ucm_before_the_call, on_madvise,
      nullptr);  // an old one without it: dropped pages keep their content
  void* place = map_by_name(nullptr, 0);
  if (place == MAP_FAILED) return false;
  const bool mapped = map_by_name(place, MAP_FIXED) == place;
  const bool told_of_mapping = last_seen.exchange(nullptr) == place;
  unmap_by_name(place);
  return mapped && told_of_mapping && last_seen.exchange(nullptr) == place;
}

memory::MappingWatch find_watch(bool at_start) {
  using memory::MappingWatch;
  MappingWatch now = watch.load(std::memory_order_acquire);
  if (now == MappingWatch::ours && is_overwritten()) {
    now = at_start && follow_ucx() ? MappingWatch::through_ucx : MappingWatch::lost;
    watch.store(now, std::memory_order_release);
  }
  return now;
}

__attribute__((constructor)) void begin_watch() {
  for (std::size_t i = 0; i < std::size(watched); ++i) {
    if (const void* const at = dlsym(RTLD_DEFAULT, watched_names[i])) watched[i] = {at, code_at(at)};
  }
  const unsigned before = maps_seen.load();
  if (void* place = map_by_name(nullptr, 0); place != MAP_FAILED) {
    bypassed_from_start = maps_seen.load() == before;
    unmap_by_name(place);
  }
  memory::set_mapping_watch(find_watch);
}

// ---- Limits ----

int next_prlimit(pid_t process, int resource, const rlimit* asked, rlimit* before) {
  return next_function<next_prlimit>("prlimit")(process, resource, asked, before);
}

static_assert(sizeof(rlimit) == sizeof(rlimit64));

// What the program set, and what the system was asked for instead.
struct AddressLimit {
  std::mutex mutex;
  bool raised = false;
  rlimit asked{}, set{};
};
constinit AddressLimit address_limit;

// The program finds what it set.
void show_as_asked(rlimit& limit) {
  const std::lock_guard lock(address_limit.mutex);
  const bool is_set = limit.rlim_cur == address_limit.set.rlim_cur && limit.rlim_max == address_limit.set.rlim_max;
  if (address_limit.raised && is_set) limit = address_limit.asked;
}

int limit_addresses(const rlimit& asked) {
  const std::size_t idle = memory::heap_idle_addresses();
  if (idle == 0) return next_prlimit(0, RLIMIT_AS, &asked, nullptr);
  rlimit now{};
  if (next_prlimit(0, RLIMIT_AS, nullptr, &now) != 0) return -1;
  const rlimit set = quadrille::sys::raised_limit(asked, idle, now.rlim_max);
  if (const int result = next_prlimit(0, RLIMIT_AS, &set, nullptr); result != 0) return result;
  if (asked.rlim_cur != RLIM_INFINITY) memory::heap_take_no_more();
  const std::lock_guard lock(address_limit.mutex);
  address_limit.raised = true;
  address_limit.asked = asked;
  address_limit.set = set;
  return 0;
}

int limit(pid_t process, int resource, const rlimit* asked, rlimit* before) {
  const bool is_ours = resource == RLIMIT_AS && (process == 0 || process == getpid());
  if (!is_ours) return next_prlimit(process, resource, asked, before);
  // Both at once may be the same place.
  const std::optional<rlimit> wanted = asked != nullptr ? std::optional(*asked) : std::nullopt;
  if (before != nullptr) {
    if (next_prlimit(0, RLIMIT_AS, nullptr, before) != 0) return -1;
    show_as_asked(*before);
  }
  return wanted ? limit_addresses(*wanted) : 0;
}

int lock_all(int flags) {
  auto* const next = next_function<lock_all>("mlockall");
  // Without pages (MCL_ONFAULT) locking costs nothing; and wrong flags are the system's business.
  const bool with_pages = (flags & ~(MCL_CURRENT | MCL_FUTURE)) == 0 && (flags & MCL_CURRENT) != 0;
  if (memory::heap_idle_addresses() == 0 || !with_pages) {
    const int result = next(flags);
    if (result == 0) memory::heap_lock_future((flags & MCL_FUTURE) != 0 && (flags & MCL_ONFAULT) == 0);
    return result;
  }
  if (memory::heap_lock_current() != 0) return -1;
  if ((flags & MCL_FUTURE) == 0) return 0;
  memory::heap_lock_future(true);
  return next(MCL_FUTURE);
}

}  // namespace

// The types of `resource` differ between C and C++, and between versions of libc: so the names are given as symbols.
#define QUADRILLE_LIMIT_DOOR(name, PARAMETERS, ...)                \
  QUADRILLE_EXPORT int quadrille_##name PARAMETERS __asm__(#name); \
  int quadrille_##name PARAMETERS { return limit(__VA_ARGS__); }
#define QUADRILLE_PRLIMIT_PARAMETERS (pid_t process, int resource, const rlimit* asked, rlimit* before)

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
  note(address, bytes);
  return next_function<munmap>("munmap")(address, bytes);
}

QUADRILLE_EXPORT void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    target = va_arg(rest, void*);
    va_end(rest);
    note(target, bytes);
  }
  note(address, old_bytes);
  return next_function<mremap>("mremap")(address, old_bytes, bytes, flags, target);
}

// System V shared memory may be put in the place of what is there, too.
QUADRILLE_EXPORT void* shmat(int segment, const void* address, int flags) noexcept {
  if ((flags & SHM_REMAP) != 0 && address != nullptr) {
    shmid_ds status{};
    // Of unknown size: all that follows.
    const std::size_t bytes =
        shmctl(segment, IPC_STAT, &status) == 0 ? status.shm_segsz : ~reinterpret_cast<std::uintptr_t>(address);
    note(const_cast<void*>(address), bytes);
  }
  return next_function<shmat>("shmat")(segment, address, flags);
}

// How much goes is not said: nothing that peers may have attached beyond this address counts any more.
QUADRILLE_EXPORT int shmdt(const void* address) noexcept {
  memory::note_unmapped(address, ~reinterpret_cast<std::uintptr_t>(address));
  return next_function<shmdt>("shmdt")(address);
}

// Private memory reads as zeros after MADV_DONTNEED; shared memory would keep its content. The heap
// behaves as the private memory that the program takes it for.
QUADRILLE_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
  const bool drops = drops_pages(advice);
  if (drops || advice == MADV_REMOVE) memory::note_unmapped(address, bytes);
  return drops && memory::heap_touches(address, bytes) ? drop(address, bytes, advice) : advise(address, bytes, advice);
}

// Our own handlers come before those of anybody else, see memory/heap_fork.cpp.
QUADRILLE_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* object) noexcept {
  memory::heap_watch_forks();
  return next_function<__register_atfork>("__register_atfork")(prepare, parent, child, object);
}

QUADRILLE_EXPORT pid_t fork() noexcept { return memory::heap_fork(next_function<fork>("fork")); }

// A fork that runs no handlers.
QUADRILLE_EXPORT pid_t _Fork() noexcept {
  auto* fork_only = next_function<_Fork>("_Fork");
  if (fork_only == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return memory::heap_fork_without_handlers(fork_only);
}

QUADRILLE_LIMIT_DOOR(setrlimit, (int resource, const rlimit* asked), 0, resource, asked, nullptr)
QUADRILLE_LIMIT_DOOR(setrlimit64, (int resource, const rlimit* asked), 0, resource, asked, nullptr)
QUADRILLE_LIMIT_DOOR(getrlimit, (int resource, rlimit* found), 0, resource, nullptr, found)
QUADRILLE_LIMIT_DOOR(getrlimit64, (int resource, rlimit* found), 0, resource, nullptr, found)
QUADRILLE_LIMIT_DOOR(prlimit, QUADRILLE_PRLIMIT_PARAMETERS, process, resource, asked, before)
QUADRILLE_LIMIT_DOOR(prlimit64, QUADRILLE_PRLIMIT_PARAMETERS, process, resource, asked, before)

QUADRILLE_EXPORT int mlockall(int flags) noexcept { return lock_all(flags); }

QUADRILLE_EXPORT int munlockall() noexcept {
  memory::heap_lock_future(false);
  return next_function<munlockall>("munlockall")();
}

}  // extern "C"
