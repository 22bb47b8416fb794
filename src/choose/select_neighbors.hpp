// Which algorithm serves a call of a neighbour collective. As in select.hpp, only what all ranks know to be
// equal may count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "choose/select.hpp"
#include "choose/tuning.hpp"
#include "plan/cost.hpp"

namespace quadrille::choose {

// What an algorithm costs a process of a torus that lacks no neighbour: messages that it waits for one after
// the other (D of the paper), and blocks that it sends (V).
struct CombiningCost {
  const Algorithm* algorithm;
  std::int64_t rounds;
  std::int64_t volume;
};
struct CombiningCosts {
  std::int64_t neighbors = 0;  // s of the paper: those that are other processes
  std::vector<CombiningCost> algorithms;
};

struct NeighborKey {
  Collective collective;
  bool by_ourselves;            // the MPI may be wrong on this communicator
  bool rounds_are_cheap;        // beside messages: the ranks live on several nodes and have a processor each
  bool in_node;                 // all ranks share a node and have rings
  bool load_store;              // and every rank reaches every rank's buffers by load and store
  bool isomorphic;              // all ranks know the neighbours of all ranks
  bool sizes_known;             // block i has one size on all ranks, and all ranks know it
  std::size_t bytes;            // of the largest block, if the sizes are known
  const CombiningCosts* costs;  // null unless isomorphic, and combining may pay or something was measured in the node
  plan::Machine machine = {};   // fitted to messages between these ranks; all zero: nothing was
  std::span<const NeighborEntry> measured = {};  // likewise, by kinds of neighbourhoods
  std::span<const InsideEntry> inside = {};      // what was measured in the node that they share
  bool mpi_collects_devices = false;             // its collectives take a device's memory, on all ranks
  bool mpi_sends_devices = false;                // its messages do, with gaps, too
  bool tries = false;                            // what nothing is known of may be tried, with a device's memory
};

// By the algorithm with the fewest messages, and of those the fewest blocks. False if none has `saved` messages fewer
// than there are neighbours: between nodes one; inside a node, where nothing is combined, none.
bool kind_of(const CombiningCosts& costs, NeighborhoodKind& kind, std::int64_t saved = 1);

// Of the entries for this collective (for v and w forms: the uniform one) the one whose kind is the nearest, by the
// ratios of its three numbers. Null if there is none.
template <class Entry>
const Entry* nearest_kind(std::span<const Entry> measured, Collective collective, const NeighborhoodKind& kind) {
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(std::max(a, b)) / static_cast<double>(std::max<std::int64_t>(std::min(a, b), 1));
  };
  constexpr double most_ratio = 2;  // what was measured says nothing of neighbourhoods that differ more
  const Entry* found = nullptr;
  double least = 0;
  for (const Entry& e : measured) {
    if (e.collective != regular_of(collective)) continue;
    const double neighbors = ratio(e.kind.neighbors, kind.neighbors), rounds = ratio(e.kind.rounds, kind.rounds),
                 blocks = ratio(e.kind.blocks, kind.blocks);
    if (std::max({neighbors, rounds, blocks}) > most_ratio) continue;
    const double distance = neighbors * rounds * blocks;
    if (found == nullptr || distance < least) found = &e, least = distance;
  }
  return found;
}

// None if this algorithm can serve the call, else why not.
Reason why_not(const Algorithm& algorithm, const NeighborKey& key);

// Is `forced` an algorithm, and one that can serve it? Then the costs do not count.
bool is_obeyed(const NeighborKey& key, const Choice& forced);

// `forced` may be without algorithm. The result always has one.
Selection select_neighbors(const NeighborKey& key, const Choice& forced);

// Where some ranks' buffers are in a device's memory, as in select.hpp. `host` is what serves such calls on the host.
Selection select_for_devices(const NeighborKey& key, const Choice& host);

}  // namespace quadrille::choose
