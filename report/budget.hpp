// The time that making calls again may take, and how much fits into it.
#pragma once

#include <cstddef>

#include "mpi/mpi.hpp"

namespace quadrille::tools {

// Of an implementation that is timed by turns (tool/bench/by_turns.hpp), in seconds.
struct TurnCosts {
  double call = 0;   // the slowest implementation that is timed in any case
  double batch = 0;  // at least
};

// A call that lasts longer needs no other call to warm up.
inline constexpr double slow_call = 0.01;

// Seconds for one implementation at least: the warm-up, and three rounds.
double least_seconds_of_turns(const TurnCosts& costs);

// How many implementations fit into so many seconds.
std::size_t fitting(double seconds, const TurnCosts& costs);

// Rank 0's clock counts, so that all ranks decide alike.
class Budget {
 public:
  Budget(double seconds, MpiComm world) : end_(mpi().Wtime() + seconds), world_(world) {}
  // Collective. Not below 0.
  double left() const;
  // By rank 0's clock.
  double end() const { return end_; }
  // Collective: a share of what is left.
  Budget part(double share) const { return {share * left(), world_}; }

 private:
  double end_;
  MpiComm world_;
};

// Of one case: its part, and what it may take where that is too little.
struct BudgetOfCase {
  Budget all, part;

  // Collective: how many implementations can be timed so often. The `least` once, if there is time for that at all.
  std::size_t fitting(const TurnCosts& costs, int times, std::size_t least) const;
};

}  // namespace quadrille::tools
