// The drop-in door of limits: on the address space, and locked memory. What the heap only reserves must not count, see
// memory/heap_limits.hpp. Calls by syscall() go past this.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>

#include "abi/functions.hpp"
#include "api/next_function.hpp"
#include "memory/heap_limits.hpp"

namespace memory = quadrille::memory;

namespace {

int next_prlimit(pid_t process, int resource, const rlimit* asked, rlimit* before) {
  static std::atomic<int (*)(pid_t, int, const rlimit*, rlimit*)> known;
  return quadrille::api::next_function(known, "prlimit")(process, resource, asked, before);
}

static_assert(RLIM_INFINITY == memory::no_limit && sizeof(rlimit) == sizeof(rlimit64));

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
  const memory::Limit raised = memory::raised_limit({asked.rlim_cur, asked.rlim_max}, idle, now.rlim_max);
  const rlimit set{raised.soft, raised.hard};
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
  static std::atomic<int (*)(int)> known;
  auto* const next = quadrille::api::next_function(known, "mlockall");
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

QUADRILLE_LIMIT_DOOR(setrlimit, (int resource, const rlimit* asked), 0, resource, asked, nullptr)
QUADRILLE_LIMIT_DOOR(setrlimit64, (int resource, const rlimit* asked), 0, resource, asked, nullptr)
QUADRILLE_LIMIT_DOOR(getrlimit, (int resource, rlimit* found), 0, resource, nullptr, found)
QUADRILLE_LIMIT_DOOR(getrlimit64, (int resource, rlimit* found), 0, resource, nullptr, found)
QUADRILLE_LIMIT_DOOR(prlimit, QUADRILLE_PRLIMIT_PARAMETERS, process, resource, asked, before)
QUADRILLE_LIMIT_DOOR(prlimit64, QUADRILLE_PRLIMIT_PARAMETERS, process, resource, asked, before)

QUADRILLE_EXPORT int mlockall(int flags) noexcept { return lock_all(flags); }

QUADRILLE_EXPORT int munlockall() noexcept {
  static std::atomic<int (*)()> known;
  memory::heap_lock_future(false);
  return quadrille::api::next_function(known, "munlockall")();
}

}  // extern "C"
