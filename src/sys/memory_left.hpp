// How much memory the system and the control groups of this process have left.
#pragma once

#include <cstddef>

namespace quadrille::sys {

// Bytes that can be written to before somebody is ended for want of memory, what the kernel can take back or swap out
// included; SIZE_MAX if unknown. Without malloc: it serves inside fork(). `root`: of other files than the kernel's, for
// tests.
std::size_t memory_left(const char* root = "");

}  // namespace quadrille::sys
