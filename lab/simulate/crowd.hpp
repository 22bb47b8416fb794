// The programs of all ranks for an algorithm, or of one node's where these stand for all.
//
// Idea    Each rank's schedule is built, reduced and dropped. In many algorithms rank (n, k), number k on node n, does
//         what rank (0, k) does with nodes renumbered: node m + n, or m xor n, for node m. Then all nodes are at the
//         same place at the same time, what node 0 sends to node m at a moment is what it receives from node -m (or m)
//         at that moment, and simulating node 0 alone gives the times of all. Some ranks of some nodes are looked at to
//         find that out; lab/simulate/tests holds that wherever these are alike all are, and that times are the same.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "choose/registry.hpp"
#include "lab/simulate/engine.hpp"
#include "plan/neighborhood.hpp"

namespace quadrille::simulate {

// Of a neighbour collective: who a neighbour is. Its ranks lie in the grid row by row.
struct Around {
  plan::Grid grid;
  plan::Neighborhood neighborhood;
};

struct Asked {
  Collective collective{};
  choose::Choice choice;
  plan::NodeMap map;
  bool every_rank = false;         // even if one node could stand for all
  double most_bytes = 6e9;         // of memory
  bool agrees = false;             // all ranks learn the largest block first, as those that pad do
  std::optional<Around> around{};  // of neighbour collectives
};

// Why an algorithm cannot be simulated on a map; empty if it can.
std::string why_not(const choose::Choice& choice, const plan::NodeMap& map);

// Blocks of different sizes are padded to the largest.
bool pads(const choose::Choice& choice);

Program program_of(const Asked& asked, int rank);

// How nodes are alike as far as ranks (n, k) tell, for all n and k that are given.
Alike alike_at(const std::function<Program(int)>& program_of, const plan::NodeMap& map, const std::vector<int>& nodes,
               const std::vector<int>& numbers);
// That of a few ranks of a few nodes.
Alike alike_of(const Asked& asked);

// Called with how many of the programs are there. Returns false to stop.
using Building = std::function<bool(int done, int all)>;

// Returns an empty string, or one line that says what is wrong.
std::string gather(const Asked& asked, Crowd& crowd, const Building& watch = {});

}  // namespace quadrille::simulate
