// What a tuning table says of neighbour collectives between nodes (choose/tuning.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "choose/registry.hpp"

namespace quadrille::choose {

// What decides whether combining pays, as the paper's cut-off has it: neighbours that are other processes (s), and of
// the algorithm with the fewest messages these (D) and the blocks it sends (V).
struct NeighborhoodKind {
  std::int64_t neighbors = 0;
  std::int64_t rounds = 0;
  std::int64_t blocks = 0;
  bool operator==(const NeighborhoodKind&) const = default;
};

// Between nodes. Plain: it is broadcast as it is.
struct NeighborEntry {
  Collective collective{};
  int ranks = 0;
  int ranks_on_node = 1;  // of the fullest node
  bool crowded = false;
  NeighborhoodKind kind;
  std::size_t largest_combined = 0;  // bytes of a block
  bool operator==(const NeighborEntry&) const = default;
};

}  // namespace quadrille::choose
