// The blocks that one rank sends, one for each rank. Without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "relation.hpp"

namespace closure {

using Blocks = std::vector<std::vector<Pair>>;

// The number of tuples in each block.
std::vector<std::int64_t> sizes_of(const Blocks& blocks);

// Joins the blocks. Takes them by value, to free each as soon as it is copied.
std::vector<Pair> joined(Blocks blocks);

// The arguments of MPI_Alltoallv for one side, in tuples.
struct Layout {
  std::vector<int> counts;
  std::vector<int> displacements;
  std::size_t total = 0;
};

// The layout of contiguous blocks. Throws std::length_error if a displacement exceeds INT_MAX.
Layout layout_of(std::span<const std::int64_t> counts);

}  // namespace closure
