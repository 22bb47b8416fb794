// A fork() on a stack of its own.
#pragma once

#include <sys/types.h>

namespace quadrille::sys {

// Calls `fork` on a stack that is mapped for that, while the stack of the caller stays as it is; then parent and child
// go on where they were called. -1 with errno ENOMEM if there is no memory.
pid_t fork_on_own_stack(pid_t (*fork)());

}  // namespace quadrille::sys
