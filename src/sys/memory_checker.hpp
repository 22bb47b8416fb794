// A tool that watches all memory of this process: valgrind, or a sanitizer that the program is built with.
#pragma once

namespace quadrille::sys {

// Its name; null if there is none. Such a tool tracks each byte that the process maps, and does not see what other
// processes write: memory is not shared with them, and no other process may write to this one.
const char* memory_checker();

}  // namespace quadrille::sys
