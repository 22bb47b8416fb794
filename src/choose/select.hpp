// Which algorithm serves a call, and which may be the fastest.
//
// A choice may read only what all ranks know to be equal: that is what GlobalKey holds. Facts of one
// rank (addresses, its counts, its datatypes) are deliberately not in it, so that ranks cannot choose
// differently.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "choose/model.hpp"
#include "choose/registry.hpp"
#include "choose/tuning.hpp"
#include "plan/cost.hpp"
#include "text/reason.hpp"

namespace quadrille::choose {

struct GlobalKey {
  Collective collective;
  int ranks;
  int nodes;
  // Bytes of the largest block where all ranks know it (is_sized()); 0 where ranks know different counts.
  std::size_t bytes;
  bool inbox;                              // the ranks share a node and have inboxes
  std::size_t inbox_limit;                 // largest block that should go through them
  std::size_t slot_limit;                  // largest block that can
  bool load_store = false;                 // every rank reaches the buffers of all ranks of its node by load and store
  bool direct = false;                     // large blocks can be exchanged inside the node, too
  const Model* model = nullptr;            // of the network, the same on all ranks; null: none
  bool tries = false;                      // what nothing is known of may be tried (choose/trial.hpp)
  bool tries_between = false;              // likewise between nodes
  int ranks_on_node = 1;                   // of the fullest node
  const SizedChoices* measured = nullptr;  // what was best at which size, the same on all ranks; null: not measured
  bool mpi_collects_devices = false;       // its collectives take a device's memory, on all ranks
  bool mpi_sends_devices = false;          // its messages do
  Costs* costs = nullptr;                  // of the collective on the map of all ranks, for `model`; null: none
  const DeviceModel* device_model = nullptr;  // of calls with a device's memory, beside `model`; null: none
};

struct Selection {
  Choice choice;
  Why why;  // for QUADRILLE_EXPLAIN
  // The ranks agree on the load of each call, and the model chooses (choose/model.hpp); `choice` is the MPI's at first.
  bool by_load = false;
  // To be tried against `choice` by the first calls (choose/trial.hpp). They stay when a trial has decided.
  std::vector<Choice> rivals = {};
};

// None if this algorithm can serve the call, else why not.
Reason why_not(const Algorithm& algorithm, const GlobalKey& key);

// The same of a choice with its parameters, and of what it has exchange its data; with numbers and names.
Why why_not(const Choice& choice, const GlobalKey& key);
// An algorithm that is wanted by `reason`, one of those "cannot", and why not.
Why cannot(Reason reason, const Algorithm& algorithm, Why obstacle);

// What the model of `key`, which must have one, likes best for such a load of what can serve.
Priced fastest(const GlobalKey& key, const Load& load);

// By what is forced, then by what was measured, then by the model, then by the first of the default rules (select.cpp)
// whose algorithm can serve it. `forced` may be without algorithm. The result always has one.
Selection select(const GlobalKey& key, const Choice& forced);

// Where some ranks' buffers are in a device's memory: the MPI's own collective, if that takes it, else the way over the
// host. Between nodes the model for such memory, if there is one and all ranks know the size, names what is faster,
// which counts where nothing may be tried, and else is tried first. The other of the two is tried, and so are the
// algorithms whose messages go straight from and to the device, if the MPI takes them, and, on one node, what copies
// between the ranks' memory. `host` is what serves such calls on the host; `measured` what was measured to be best for
// such calls, which counts if it can serve (where all ranks know the size: the trials see to the others). May be null.
Selection select_for_devices(const GlobalKey& key, const Choice& host, const SizedChoices* measured = nullptr);

// ---- Calls of neighbour collectives ----

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

// Where some ranks' buffers are in a device's memory, as above. `host` is what serves such calls on the host.
Selection select_for_devices(const NeighborKey& key, const Choice& host);

// ---- Which algorithms may be the fastest for a call: read from the registry, so a new entry is one by itself ----
//
// Two ask. `quadrille tune --algorithms` has time for all that its engine says is worth measuring. The first calls of a
// program have not, so they leave out entries that are marked as untried.

// An algorithm with the values of its parameters that are worth trying. The standard values come first. `has_time`:
// also those that the first calls leave out.
std::vector<Choice> variants(const Algorithm& algorithm, int ranks, int ranks_on_node, bool has_time = false);

// False if another of the variants, with a standard value, does the same with blocks of so many bytes.
bool makes_a_difference(const Choice& choice, std::size_t bytes);

// What `quadrille tune --algorithms` measures on so many nodes. Which sizes each of them serves shows when it is
// selected.
std::vector<Choice> measured_candidates(Collective collective, int ranks, int nodes, int ranks_on_node);

// An algorithm with the values of its parameters that are worth measuring with data in a device's memory.
std::vector<Choice> variants_on_devices(const Algorithm& algorithm, bool in_one_node);

// What the first calls try. All of them can serve the call.
std::vector<Choice> tried_candidates(const GlobalKey& key);

}  // namespace quadrille::choose
