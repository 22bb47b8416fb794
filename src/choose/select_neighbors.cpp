#include "choose/select_neighbors.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/neighborhood.hpp"

namespace quadrille::choose {
namespace {

// Where nothing was fitted: the start of a message costs as much as sending so many bytes (alpha / beta of the paper).
// Rather small: the messages of the direct exchange are under way together, those of the rounds are not.
constexpr plan::Machine unknown_machine = {1024, 1, 0};

// Larger blocks are not combined unless the model says so, not even if that sends no more of them: the MPI would pack
// what lies scattered.
constexpr double most_combined = 8192;

// Empty if this algorithm can serve the call, else why not.
std::string why_not(const Algorithm& algorithm, const NeighborKey& key) {
  if (algorithm.needs.one_node && !key.in_node) return "the ranks do not share the memory of a node";
  if (algorithm.needs.load_store && !key.load_store) return "not every rank reaches every rank's shared heap";
  if (algorithm.needs.isomorphic && !key.isomorphic) {
    return "the communicator is neither Cartesian nor isomorphic";
  }
  if (algorithm.needs.equal_sizes && !key.sizes_known) {
    return "not all ranks know the sizes of the blocks";
  }
  return {};
}

bool is_fitted(const NeighborKey& key) { return key.machine != plan::Machine{}; }

// Blocks of fewer bytes are better combined by this algorithm than sent directly.
double combined_below(const NeighborKey& key, const CombiningCost& one) {
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  const double below = plan::cut_off(machine, key.costs->neighbors, one.rounds, one.volume);
  return is_fitted(key) && std::isfinite(below) ? below : std::min(below, most_combined);
}

double cost_of(const NeighborKey& key, const CombiningCost& one) {
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  return static_cast<double>(one.rounds) * (machine.alpha + machine.rho) +
         static_cast<double>(one.volume) * static_cast<double>(key.bytes) * machine.beta;
}

struct Best {
  const CombiningCost* algorithm = nullptr;
  double below = 0;  // for blocks of fewer bytes
};

Best best_combining(const NeighborKey& key) {
  Best best;
  for (const CombiningCost& one : key.costs->algorithms) {
    const double below = combined_below(key, one);
    if (static_cast<double>(key.bytes) >= below) continue;
    if (best.algorithm == nullptr || cost_of(key, one) < cost_of(key, *best.algorithm)) best = {&one, below};
  }
  return best;
}

// Without a model nothing is known of waiting: in a node, or for ranks that share processors, it costs more than the
// messages that are saved.
bool combining_may_pay(const NeighborKey& key) {
  return key.costs != nullptr && key.sizes_known && key.bytes > 0 && (key.rounds_are_cheap || is_fitted(key));
}

Selection select_by_cost(const NeighborKey& key) {
  if (key.in_node) return {plain(key.collective, "rings"), "the ranks share a node"};
  const Best best = combining_may_pay(key) ? best_combining(key) : Best();
  if (best.algorithm != nullptr) {
    return {plain(key.collective, best.algorithm->algorithm->name),
            fmt::format("{} messages instead of {}: better for blocks below {:.0f} bytes{}", best.algorithm->rounds,
                        key.costs->neighbors, best.below, is_fitted(key) ? " by the cost model" : "")};
  }
  if (key.by_ourselves) {
    return {plain(key.collective, "direct"), "some MPIs mix up several edges between two processes"};
  }
  return {plain(key.collective, "mpi"), "combining messages would not pay"};
}

}  // namespace

Selection select_neighbors(const NeighborKey& key, const Choice& forced) {
  if (forced.algorithm == nullptr) return select_by_cost(key);
  const std::string obstacle = why_not(*forced.algorithm, key);
  if (obstacle.empty()) return {forced, "forced"};
  Selection other = select_by_cost(key);
  other.why = fmt::format("the forced {} cannot serve it: {}", forced.algorithm->name, obstacle);
  return other;
}

}  // namespace quadrille::choose
