// What one rank sends to the others: a block for each of them. No MPI here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "relation.hpp"

namespace closure {

using Blocks = std::vector<std::vector<Pair>>;

// How many tuples each has.
std::vector<std::int64_t> sizes_of(const Blocks& blocks);

// All in one piece. Takes the blocks, to free each as soon as it is copied.
std::vector<Pair> joined(Blocks blocks);

// What MPI_Alltoallv wants to know of one side of an exchange, in tuples.
struct Layout {
  std::vector<int> counts;
  std::vector<int> displacements;
  std::size_t total = 0;
};

// The blocks one after the other. Throws std::length_error if that needs a number above INT_MAX.
Layout layout_of(std::span<const std::int64_t> counts);

}  // namespace closure
