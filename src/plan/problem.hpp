// What an algorithm is given: ranks, who I am, where the ranks live, and its parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/schedule.hpp"

namespace quadrille::plan {

// What the ranks want.
//   alltoall   P blocks in send; recv block s of rank d must be block d of rank s
//   allgather  1 block in send; recv block s must be the block of rank s, everywhere
enum class Pattern : std::uint8_t { alltoall, allgather };

// Which node each rank lives on. Nodes are numbered 0.. in order of their first rank.
struct NodeMap {
  std::vector<int> node_of;  // [rank]
  int nodes = 0;

  int ranks() const { return static_cast<int>(node_of.size()); }
  bool share_a_node(int one, int other) const {
    return node_of[static_cast<std::size_t>(one)] == node_of[static_cast<std::size_t>(other)];
  }
  int ranks_on_fullest_node() const;
  std::vector<std::vector<int>> members() const;  // [node] its ranks, ascending
  friend bool operator==(const NodeMap&, const NodeMap&) = default;
};

// One node for all ranks.
NodeMap one_node(int ranks);
// Renumbers arbitrary node labels, one a rank, to 0.. in order of first appearance.
NodeMap node_map_from_labels(const std::vector<int>& labels);
// The nodes of some of the ranks of a map, in the order that they are given in.
NodeMap nodes_of(const NodeMap& all, std::span<const int> ranks);
// Reads "blocked:2", "roundrobin:3", "even:2", "ragged:1,3,4" or "permuted:SEED" for `ranks` ranks:
//   blocked:K      K consecutive ranks a node
//   roundrobin:N   rank r lives on node r mod N
//   even:N         N nodes of consecutive ranks, whose numbers differ by one at most
//   ragged:A,B,..  A ranks on node 0, B on node 1, ...; the list repeats until all are placed
//   permuted:SEED  nodes of random sizes with randomly permuted ranks, the same for one seed everywhere
// Returns an empty string and fills `map`, or returns one line that says what is wrong.
std::string parse_node_map(std::string_view text, int ranks, NodeMap& map);

struct Problem;
struct NeighborProblem;  // neighborhood.hpp
struct EdgeProblem;      // order.hpp
// An algorithm, among all ranks, neighbours, or the ranks of a node: a pure function. Same problem, same schedule, on
// every rank and machine.
using Build = Schedule (*)(const Problem&);
using BuildNeighbors = Schedule (*)(const NeighborProblem&);
using BuildEdges = Schedule (*)(const EdgeProblem&);

// A named integer parameter of an algorithm, for example radix = 4.
struct Parameter {
  std::string name;
  std::int64_t value;
  Build build = nullptr;  // where the value names an algorithm: that
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;

// Value of `name`, or `otherwise` when it is not given.
std::int64_t value_of(const Parameters& parameters, std::string_view name, std::int64_t otherwise);
// The algorithm that `name` names, or `otherwise`.
Build build_of(const Parameters& parameters, std::string_view name, Build otherwise);

// Pairs of messages between nodes that are in flight at a time, where blocks inside a node go through its memory.
inline constexpr int standard_away_steps = 32;

struct Problem {
  int ranks;             // P >= 1
  int me;                // 0 <= me < ranks
  const NodeMap* nodes;  // never null
  Parameters parameters;
  // NUMA domain of each rank, as any label; empty: one domain. Equal on all ranks.
  std::span<const int> domains = {};
  int away_steps = standard_away_steps;  // equal on all ranks
};

// `value` modulo `ranks`, for -ranks <= value < 2 * ranks. Cheaper than a division.
constexpr int cyclic(int value, int ranks) {
  if (value < 0) return value + ranks;
  return value < ranks ? value : value - ranks;
}

}  // namespace quadrille::plan
