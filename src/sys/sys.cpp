#include "sys/sys.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "sys/kernel_files.hpp"

#if !defined(MFD_NOEXEC_SEAL)
#define MFD_NOEXEC_SEAL 8U
#endif

namespace quadrille::sys {
namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 20;  // programs do what they like in handlers of fork()

struct Forking {
  pid_t (*fork)();
  pid_t child = -1;
  int error = ENOMEM;
  ucontext_t caller = {}, own = {};
};

// makecontext() passes arguments of type int alone.
void begin(unsigned high, unsigned low) {
  auto* const forking = reinterpret_cast<Forking*>(std::uintptr_t{high} << 32 | low);
  const pid_t child = forking->fork();
  const int error = errno;
  forking->child = child;
  forking->error = error;
}

// Valgrind loads a library of this name into each process that it runs.
int is_of_valgrind(dl_phdr_info* info, std::size_t, void*) {
  return info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "/vgpreload_") != nullptr ? 1 : 0;
}

const char* look() {
// Where Quadrille itself is built with a sanitizer, its tests share memory all the same.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Of all sanitizers that have an allocator of their own.
  if (dlsym(RTLD_DEFAULT, "__sanitizer_get_ownership") != nullptr) return "a sanitizer";
#endif
  return dl_iterate_phdr(is_of_valgrind, nullptr) != 0 ? "valgrind" : nullptr;
}

}  // namespace

void sleep_us(unsigned microseconds) { ::usleep(microseconds); }

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned microseconds) {
  const timespec most = {microseconds / 1000000, static_cast<long>(microseconds % 1000000) * 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
}

void wake_sleepers(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void become_a_helper(const char* name) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), name);
  prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; the usual 50 us would be much of each sleep
}

int thread_number() { return static_cast<int>(syscall(SYS_gettid)); }

pid_t fork_on_own_stack(pid_t (*fork)()) {
  Forking here{fork};
  const int before = errno;
  if (std::byte* const stack = map_private(stack_bytes)) {
    mprotect(stack, page_size(), PROT_NONE);  // where it ends
    const auto address = reinterpret_cast<std::uintptr_t>(&here);
    getcontext(&here.own);
    here.own.uc_stack.ss_sp = stack;
    here.own.uc_stack.ss_size = stack_bytes;
    here.own.uc_link = &here.caller;
    makecontext(&here.own, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
    errno = before;
    swapcontext(&here.caller, &here.own);
    unmap_raw(stack, stack_bytes);
  }
  errno = here.error;
  return here.child;
}

const char* memory_checker() {
  static const char* const found = look();
  return found;
}

// The kernel reads the set of signals before it finds out that there is no such change.
bool is_readable(const void* address) {
  constexpr int no_change = -1;
  constexpr std::uintptr_t set_bytes = 8;
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) / set_bytes * set_bytes;
  return syscall(SYS_rt_sigprocmask, no_change, at, nullptr, set_bytes) == 0 || errno != EFAULT;
}

bool holds(int descriptor, std::size_t bytes) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0 &&
         static_cast<std::uint64_t>(status.st_size) >= bytes;
}

std::size_t address_space_left() {
  const std::size_t limit = limit_of(RLIMIT_AS);
  if (limit == SIZE_MAX) return limit;
  // Begins with the pages of all addresses in use.
  const std::size_t used = KernelFile{"/proc/self/statm"}.number(0) * page_size();
  return limit > used ? limit - used : 0;
}

int create_segment(std::size_t bytes, bool may_reserve, const char* name) {
  // Growing a file past this limit raises a signal.
  if (limit_of(RLIMIT_FSIZE) < bytes) return -1;
  // Some systems refuse what could be executed (vm.memfd_noexec); older ones do not know the flag.
  int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (descriptor < 0 && errno == EINVAL) descriptor = memfd_create(name, MFD_CLOEXEC);
  const bool in_file_system = descriptor < 0;
  if (in_file_system) {
    if (!may_reserve) return -1;
    // Older systems: a file of the shared-memory file system that never has a name.
    descriptor = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  if (descriptor < 0) return -1;
  const auto size = static_cast<off_t>(bytes);
  // That file system may be small, and what it has no room for would be a bus error when it is touched.
  const bool made = ftruncate(descriptor, size) == 0 && (!in_file_system || posix_fallocate(descriptor, 0, size) == 0);
  if (made) return descriptor;
  close(descriptor);
  return -1;
}

std::byte* map_segment(int descriptor, std::size_t bytes) {
  if (!holds(descriptor, bytes)) return nullptr;
  void* base = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) return nullptr;
  munlock(base, bytes);  // after mlockall(MCL_FUTURE) all pages would come with the access
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0) return static_cast<std::byte*>(base);
  munmap(base, bytes);
  return nullptr;
}

void unmap_segment(std::byte* base, std::size_t bytes) { munmap(base, bytes); }

void close_descriptor(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}

ProcessorSet allowed_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ProcessorSet set;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return set;
  for (std::size_t p = 0; p < CPU_SETSIZE && p < set.size(); ++p) set[p] = CPU_ISSET(p, &mask);
  return set;
}

bool run_on(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processor, &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

}  // namespace quadrille::sys
