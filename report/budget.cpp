#include "report/budget.hpp"

#include <algorithm>

namespace quadrille::tools {

double least_seconds_of_turns(const TurnCosts& costs) {
  constexpr double rounds = 3;
  // Else batches of growing length find out how long a call takes, and each batch follows a call that is not timed.
  return costs.call > slow_call ? (1 + rounds) * costs.call
                                : (2 + rounds) * std::max(costs.batch, costs.call) + rounds * costs.call;
}

std::size_t fitting(double seconds, const TurnCosts& costs) {
  return static_cast<std::size_t>(std::clamp(seconds / std::max(least_seconds_of_turns(costs), 1e-9), 0.0, 1e6));
}

std::size_t BudgetOfCase::fitting(const TurnCosts& costs, int times, std::size_t least) const {
  return std::max(tools::fitting(part.left() / times, costs), std::min(tools::fitting(all.left(), costs), least));
}

double Budget::left() const {
  double seconds = std::max(end_ - mpi().Wtime(), 0.0);
  mpi().Bcast(&seconds, 1, mpi().double_type, 0, world_);
  return seconds;
}

}  // namespace quadrille::tools
