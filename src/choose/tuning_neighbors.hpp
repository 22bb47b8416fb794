// What a tuning table says of neighbour collectives: its section "neighbors" (choose/tuning.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// ---- Inside a node ----

// What serves blocks of up to so many bytes: an order of copies by load and store, or the default exchange.
struct UpTo {
  std::size_t bytes = 0;
  int algorithm = -1;  // its number in algorithms(); -1: the default
  bool operator==(const UpTo&) const = default;
};
inline constexpr int most_ranges = 16;

// Plain: it is broadcast as it is.
struct InsideEntry {
  Collective collective{};
  int ranks = 0;
  bool crowded = false;
  NeighborhoodKind kind;
  int count = 0;  // of `ranges`, whose sizes ascend; larger blocks take the default
  std::array<UpTo, most_ranges> ranges{};
  bool operator==(const InsideEntry&) const = default;
};

// The orders that may replace the default exchange for this collective, in the order of the registry.
std::vector<const Algorithm*> inside_orders(Collective collective);

// Adds a range: `name` is that of an order, or "default". Returns an empty string, or what is wrong; then the entry is
// as it was.
std::string add_range(InsideEntry& entry, std::size_t bytes, const std::string& name);

// The order for blocks of so many bytes; null: the default.
const Algorithm* order_for(const InsideEntry& entry, std::size_t bytes);

// As the table has it: [{"up_to": 1000, "take": "default"}, ...]
std::string ranges_text(const InsideEntry& entry);

}  // namespace quadrille::choose
