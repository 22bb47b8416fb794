#include "choose/select_neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "plan/neighborhood.hpp"

namespace quadrille::choose {
namespace {

// Without a fit: the start of a message costs as much as sending this number of bytes (alpha / beta of the paper).
// Rather small, because the messages of the direct exchange are in flight together, those of the rounds are not.
constexpr plan::Machine unknown_machine = {1024, 1, 0};

// Larger blocks are not combined unless the model says so, not even if that sends no more of them: the MPI would pack
// what lies scattered.
constexpr double most_combined = 8192;

bool is_fitted(const NeighborKey& key) { return key.machine != plan::Machine{}; }

// Blocks of fewer bytes are better combined by this algorithm than sent directly.
double combined_below(const NeighborKey& key, const CombiningCost& one) {
  // The paper's cut-off is for one message at a time. But those of the direct exchange are in flight together, and
  // rounds wait for each other, which only a fitted model knows: 3 rounds for the 4 nearest neighbours on a torus are
  // no gain.
  if (!is_fitted(key) && 2 * one.rounds > key.costs->neighbors) return 0;
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  const double below = plan::cut_off(machine, key.costs->neighbors, one.rounds, one.volume);
  return is_fitted(key) && std::isfinite(below) ? below : std::min(below, most_combined);
}

double cost_of(const NeighborKey& key, const CombiningCost& one) {
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  return static_cast<double>(one.rounds) * (machine.alpha + machine.rho) +
         static_cast<double>(one.volume) * static_cast<double>(key.bytes) * machine.beta;
}

// What was measured of neighbourhoods like this one; null if nothing was.
const NeighborEntry* measured_for(const NeighborKey& key) {
  NeighborhoodKind kind;
  return kind_of(*key.costs, kind) ? nearest_kind(key.measured, key.collective, kind) : nullptr;
}

// By the best algorithm that combines blocks of this size. If none does, the result has no algorithm.
Selection select_combining(const NeighborKey& key, const NeighborEntry* measured) {
  const CombiningCost* best = nullptr;
  double best_below = 0;  // for blocks of fewer bytes
  for (const CombiningCost& one : key.costs->algorithms) {
    if (one.rounds >= key.costs->neighbors) continue;
    const double below =
        measured != nullptr ? static_cast<double>(measured->largest_combined) + 1 : combined_below(key, one);
    if (static_cast<double>(key.bytes) >= below) continue;
    if (best == nullptr || cost_of(key, one) < cost_of(key, *best)) best = &one, best_below = below;
  }
  if (best == nullptr) return {};
  const Reason below = is_fitted(key) ? Reason::combining_modelled : Reason::combining_small;
  Why when = measured != nullptr
                 ? Why{.reason = Reason::combining_measured, .number = static_cast<double>(measured->largest_combined)}
                 : Why{.reason = below, .number = best_below};
  return {plain(key.collective, best->algorithm->name),
          {.reason = Reason::fewer_messages,
           .number = static_cast<double>(best->rounds),
           .limit = static_cast<double>(key.costs->neighbors),
           .then = {std::move(when)}}};
}

// What was measured to be faster than the default exchange inside a node; null if nothing was.
const Algorithm* measured_order(const NeighborKey& key) {
  NeighborhoodKind kind;
  if (key.costs == nullptr || !key.sizes_known || key.bytes == 0 || !kind_of(*key.costs, kind, 0)) return nullptr;
  const InsideEntry* entry = nearest_kind(key.inside, key.collective, kind);
  const SizedChoice* found = entry == nullptr ? nullptr : choice_for(entry->choices, key.bytes);
  const Algorithm* order = found == nullptr ? nullptr : found->choice.algorithm;
  return order != nullptr && serves(*order, key.collective) && why_not(*order, key) == Reason::none ? order : nullptr;
}

Selection select_in_node(const NeighborKey& key) {
  if (const Algorithm* order = measured_order(key)) {
    return {plain(key.collective, order->name), {Reason::measured_in_a_node}};
  }
  return {plain(key.collective, "rings"), {Reason::shared_node}};
}

Selection select_by_cost(const NeighborKey& key) {
  if (key.in_node) return select_in_node(key);
  if (key.costs != nullptr && key.sizes_known && key.bytes > 0) {
    const NeighborEntry* measured = measured_for(key);
    // Else nothing is known of waiting: for ranks that share processors it costs more than the messages that are saved.
    const bool may_pay = key.rounds_are_cheap || is_fitted(key) || measured != nullptr;
    Selection combining = may_pay ? select_combining(key, measured) : Selection();
    if (combining.choice.algorithm != nullptr) return combining;
  }
  if (key.by_ourselves) return {plain(key.collective, "direct"), {Reason::mpis_mix_edges}};
  return {plain(key.collective, "mpi"), {Reason::no_gain_by_combining}};
}

}  // namespace

Reason why_not(const Algorithm& algorithm, const NeighborKey& key) {
  if (algorithm.needs.device_mpi && !key.mpi_collects_devices) return Reason::no_device_mpi;
  if (algorithm.needs.one_node && !key.in_node) return Reason::no_node_memory;
  if (algorithm.needs.load_store && !key.load_store) return Reason::no_load_store;
  if (algorithm.needs.isomorphic && !key.isomorphic) return Reason::not_isomorphic;
  return algorithm.needs.equal_sizes && !key.sizes_known ? Reason::sizes_unknown : Reason::none;
}

bool kind_of(const CombiningCosts& costs, NeighborhoodKind& kind, std::int64_t saved) {
  const CombiningCost* fewest = nullptr;
  for (const CombiningCost& one : costs.algorithms) {
    if (one.rounds + saved > costs.neighbors) continue;
    const bool better =
        fewest == nullptr || std::tie(one.rounds, one.volume) < std::tie(fewest->rounds, fewest->volume);
    if (better) fewest = &one;
  }
  if (fewest == nullptr || fewest->rounds == 0) return false;
  kind = {costs.neighbors, fewest->rounds, fewest->volume};
  return true;
}

bool is_obeyed(const NeighborKey& key, const Choice& forced) {
  return forced.algorithm != nullptr && why_not(*forced.algorithm, key) == Reason::none;
}

Selection select_neighbors(const NeighborKey& key, const Choice& forced) {
  if (forced.algorithm == nullptr) return select_by_cost(key);
  const Reason obstacle = why_not(*forced.algorithm, key);
  if (obstacle == Reason::none) return {forced, {Reason::forced}};
  Selection other = select_by_cost(key);
  other.why = cannot(Reason::forced_cannot, *forced.algorithm, {obstacle});
  return other;
}

}  // namespace quadrille::choose
