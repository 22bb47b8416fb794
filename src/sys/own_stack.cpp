#include "sys/own_stack.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sys/sys.hpp"

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

}  // namespace

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

}  // namespace quadrille::sys
