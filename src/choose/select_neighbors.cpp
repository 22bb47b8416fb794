#include "choose/select_neighbors.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "plan/cost.hpp"
#include "plan/neighborhood.hpp"

namespace quadrille::choose {
namespace {

// The start of a message costs as much as sending so many bytes (alpha / beta of the paper). Rather small: the
// messages of the direct exchange are under way together, those of the rounds are not.
constexpr plan::Machine machine = {1024, 1, 0};

// Larger blocks are not combined, even if that sends no more of them: the MPI would pack what lies scattered.
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

struct Best {
  const CombiningCost* algorithm = nullptr;
  double below = 0;  // for blocks of fewer bytes
};

Best best_combining(const NeighborKey& key) {
  Best best;
  double least = 0;
  const auto bytes = static_cast<double>(key.bytes);
  for (const CombiningCost& one : key.costs->algorithms) {
    const double below = std::min(
        plan::cut_off(machine, key.costs->neighbors, one.rounds, one.volume), most_combined);
    const double cost = static_cast<double>(one.rounds) * machine.alpha +
                        static_cast<double>(one.volume) * bytes * machine.beta;
    if (bytes >= below || (best.algorithm != nullptr && cost >= least)) continue;
    best = {&one, below};
    least = cost;
  }
  return best;
}

Selection select_by_cost(const NeighborKey& key) {
  if (key.in_node) return {plain(key.collective, "rings"), "the ranks share a node"};
  // Inside a node the start of a message costs next to nothing, but each round waits for another process.
  const bool may_pay = key.costs != nullptr && key.sizes_known && key.bytes > 0 && key.rounds_are_cheap;
  if (const Best best = may_pay ? best_combining(key) : Best(); best.algorithm != nullptr) {
    return {plain(key.collective, best.algorithm->algorithm->name),
            fmt::format("{} messages instead of {}: better for blocks below {:.0f} bytes",
                        best.algorithm->rounds, key.costs->neighbors, best.below)};
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
