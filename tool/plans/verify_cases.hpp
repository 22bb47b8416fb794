// The cases for which an algorithm is proved: one list for `quadrille verify` and for the tests.
#pragma once

#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/verify.hpp"

namespace quadrille::tools {

plan::Goal goal_of(Collective collective);
// What the schedule of an algorithm is for: between padded blocks it is one for blocks of one size.
plan::Goal goal_of(const choose::Algorithm& algorithm, Collective collective);

// Node maps of all kinds for `ranks` ranks, each once: one node, one rank a node, blocked,
// round-robin, ragged, permuted.
std::vector<plan::NodeMap> node_maps(int ranks);

// Where the ranks live.
struct Placement {
  plan::NodeMap nodes;
  std::vector<int> domains;  // as in plan::Problem
};

// All node maps; with `domains`, all maps of ranks to the NUMA domains of one node, too.
std::vector<Placement> placements(int ranks, bool domains);

// Values of all parameters of an algorithm: the least, small ones, the standard, and those around
// the number of ranks, the first two in all
// combinations.
std::vector<plan::Parameters> parameter_cases(const choose::Algorithm& algorithm, int ranks);

// Proves one algorithm for one number of ranks, all its parameters and placements. Adds the number
// of cases to `cases`. The report of a failure names the case.
plan::Report prove(const choose::Algorithm& algorithm, Collective collective, int ranks, int orders, long& cases);

// The same for an algorithm of the neighbour collectives: all grids of so many ranks
// (verify_neighbor_cases.cpp).
plan::Report prove_neighbors(const choose::Algorithm& algorithm, Collective collective, int ranks, int orders,
                             long& cases);

// Does it have schedules for neighbours?
bool is_for_neighbors(const choose::Algorithm& algorithm);
// Is there a schedule to prove or show?
bool has_schedule(const choose::Algorithm& algorithm);

}  // namespace quadrille::tools
