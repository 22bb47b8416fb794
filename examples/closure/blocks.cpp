#include "blocks.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace closure {

std::vector<std::int64_t> sizes_of(const Blocks& blocks) {
  std::vector<std::int64_t> sizes;
  for (const auto& block : blocks) sizes.push_back(static_cast<std::int64_t>(block.size()));
  return sizes;
}

std::vector<Pair> joined(Blocks blocks) {
  std::size_t total = 0;
  for (const auto& block : blocks) total += block.size();
  std::vector<Pair> all;
  all.reserve(total);
  for (auto& block : blocks) {
    all.insert(all.end(), block.begin(), block.end());
    block = {};
  }
  return all;
}

Layout layout_of(std::span<const std::int64_t> counts) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  Layout layout;
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    if (count > kMost - total) {
      throw std::length_error("more than " + std::to_string(kMost) +
                              " tuples in one exchange, the most that MPI_Alltoallv can count; use "
                              "more ranks");
    }
    layout.counts.push_back(static_cast<int>(count));
    layout.displacements.push_back(static_cast<int>(total));
    total += count;
  }
  layout.total = static_cast<std::size_t>(total);
  return layout;
}

}  // namespace closure
