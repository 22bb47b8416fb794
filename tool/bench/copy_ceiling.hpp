// What this machine's memory moves at most: plain parallel copies, for comparison with a
// collective.
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille::tools {

enum class Copy {
  libc,      // memcpy, which for blocks larger than the caches may stream by itself
  ordinary,  // memcpy in small pieces: ordinary stores through the cache, whatever the size
  streaming  // the copy kernel past the cache
};

// The processors that this process may use, rising.
std::vector<int> usable_processors();

// Bytes a second that `threads` threads copy together, each byte counted once. Each thread copies a
// buffer of `bytes_per_thread` bytes of its own to another one, again and again, so the footprint
// is 2 * bytes_per_thread * threads. Thread i is pinned to the i-th processor that this process may
// use, beginning again if there are more threads. The best of a few trials of at least 10 ms each.
// 0 for no bytes or no threads. Throws std::bad_alloc or std::system_error if the system gives no
// memory or no threads.
double copy_ceiling(std::size_t bytes_per_thread, int threads, Copy by);

}  // namespace quadrille::tools
