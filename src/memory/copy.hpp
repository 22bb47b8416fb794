// Copies of blocks. Small blocks are copied inline: for a few bytes a call of memcpy costs more than
// the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quadrille::memory {

// Copies `bytes` bytes between memory that does not overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    // The first and the last eight bytes; they may overlap.
    std::uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace quadrille::memory
