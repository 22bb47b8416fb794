#include "memory/copy_threshold.hpp"

#include <algorithm>

#include "sys/sys.hpp"

namespace quadrille::memory {

std::size_t first_threshold(std::size_t l2_bytes, int ranks) {
  if (l2_bytes == 0) l2_bytes = std::size_t{1} << 20;
  const std::size_t share = l2_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::max(share / sys::cache_line, std::size_t{1}) * sys::cache_line;
}

}  // namespace quadrille::memory
