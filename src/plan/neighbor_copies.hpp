// Schedules of a neighbour collective inside a node, on any graph; see neighbor_copies.cpp.
#pragma once

#include <span>

#include "plan/order_edges.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

struct EdgeProblem {
  int ranks, me;
  std::span<const EdgeCopy> edges;  // of all ranks; in an allgather send block 0 goes along all of them
  std::span<const int> domains;     // NUMA domain of each rank; empty: one
};

using BuildEdges = Schedule (*)(const EdgeProblem&);

Schedule neighbor_sh_naive(const EdgeProblem& problem);
Schedule neighbor_sh_co(const EdgeProblem& problem);
Schedule neighbor_sh_numa_co(const EdgeProblem& problem);

}  // namespace quadrille::plan
