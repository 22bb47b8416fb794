// The ways of blocks to neighbours: straightforward, torus, torus-direct, and basis; and direct, on any graph.
#include "plan/neighbor_paths.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>

#include "plan/additive_basis.hpp"

namespace quadrille::plan {
namespace {

using neighbors::Hop, neighbors::Paths;

// How a block moves in a dimension: hop by hop; so that others share no hop; at once.
enum class AxisSteps : std::uint8_t { hops, own_hops, whole };

// `order`: the dimensions as they are served.
Paths axis_paths(const Neighborhood& offsets, std::span<const int> order, AxisSteps way) {
  Paths paths(offsets);
  const bool whole = way == AxisSteps::whole;
  const auto d = static_cast<std::size_t>(paths.dimensions());
  std::vector<std::vector<int>> reached(d);  // [dimension] the coordinates that its steps lead to, in their order
  std::vector<int> first(d);
  // Upwards from the nearest, then downwards from the nearest.
  const auto before = [](int a, int b) { return std::pair(a < 0, std::abs(a)) < std::pair(b < 0, std::abs(b)); };
  for (const int dimension : order) {
    const auto j = static_cast<std::size_t>(dimension);
    std::vector<int>& coordinates = reached[j];
    int up = 0, down = 0;
    for (int i = 0; i < paths.blocks(); ++i) {
      const int c = paths.offsets.offset(i)[j];
      up = std::max(up, c), down = std::max(down, -c);
      if (whole && c != 0) coordinates.push_back(c);
    }
    for (int c = 1; c <= up && !whole; ++c) coordinates.push_back(c);
    for (int c = 1; c <= down && !whole; ++c) coordinates.push_back(-c);
    std::sort(coordinates.begin(), coordinates.end(), before);
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    first[j] = paths.steps.size();
    std::vector<int> step(d, 0);
    for (const int c : coordinates) {
      step[j] = whole ? c : c > 0 ? 1 : -1;
      paths.steps.add(step);
    }
  }
  for (int i = 0; i < paths.blocks(); ++i) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int dimension : order) {
      const auto j = static_cast<std::size_t>(dimension);
      const int c = paths.offsets.offset(i)[j];
      if (c == 0) continue;
      const auto begin = reached[j].begin(), end = reached[j].end();
      const auto last = std::lower_bound(begin, end, c, before) - begin;
      for (auto hop = whole ? last : last + 1 - std::abs(c); hop <= last; ++hop) {
        hops.push_back({first[j] + static_cast<int>(hop), way == AxisSteps::own_hops ? c : 0});
      }
    }
  }
  return paths;
}

std::vector<int> natural_order(int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Blocks travel along the axes: of an all-to-all in the order of the dimensions, of an allgather in trie_order().
Schedule along_axes(const NeighborProblem& problem, AxisSteps way, Pattern pattern) {
  const Neighborhood offsets = travelled(*problem.grid, *problem.neighborhood);
  const bool gathers = pattern == Pattern::allgather;
  const std::vector<int> order = gathers ? neighbors::trie_order(offsets) : natural_order(offsets.dimensions);
  return schedule_along(axis_paths(offsets, order, way), problem, pattern);
}

Paths straightforward_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  for (int i = 0; i < paths.blocks(); ++i) {
    const std::span<const int> offset = paths.offsets.offset(i);
    const bool zero = std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; });
    std::vector<Hop>& hops = paths.hops.emplace_back();
    if (zero) continue;
    hops.push_back({paths.steps.size()});
    paths.steps.add(offset);
  }
  return paths;
}

Paths basis_paths(const NeighborProblem& problem) {
  Paths paths(travelled(*problem.grid, *problem.neighborhood));
  const AdditiveBasis basis = problem.last_basis != nullptr ? problem.last_basis->of(*problem.grid, paths.offsets)
                                                            : additive_basis(*problem.grid, paths.offsets);
  paths.steps = basis.elements;
  for (const std::vector<int>& sum : basis.sums) {
    std::vector<Hop>& hops = paths.hops.emplace_back();
    for (const int e : sum) hops.push_back({e});
  }
  return paths;
}

}  // namespace

std::vector<int> neighbors::trie_order(const Neighborhood& neighborhood) {
  std::vector<int> most;  // [dimension] neighbours that share a coordinate
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::map<int, int> neighbors;  // [coordinate]
    int& largest = most.emplace_back(0);
    for (int i = 0; i < neighborhood.size(); ++i) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      largest = std::max(largest, ++neighbors[c]);
    }
  }
  std::vector<int> order = natural_order(neighborhood.dimensions);
  std::stable_sort(order.begin(), order.end(), [&most](int a, int b) {
    return most[static_cast<std::size_t>(a)] > most[static_cast<std::size_t>(b)];
  });
  return order;
}

// Straightforward neighbourhood all-to-all and allgather.
//
// Idea    In round i every process sends block i to its i-th target and receives block i from its
//         i-th source. Because all have the same offsets in the same order, the two belong together
//         and nothing can deadlock.
// Source  Träff et al., 2016, listing 4.
// Cost    s rounds, s blocks (without the offsets that lead to the process itself: local copies).
//         No scratch. `ports` puts that many offsets into a round.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   send[0] to (1,2) = 6     recv[0] from (1,0) = 4
//   round 1   send[1] to (2,2) = 10    recv[1] from (0,0) = 0
//   round 2   send[2] to (0,0) = 0     recv[2] from (2,2) = 10
//
// The allgather.
//
// Idea    As the straightforward all-to-all, but every process has one block, for all its
//         neighbours.
// Source  Träff et al., 2016, listing 4.
// Cost    s rounds, s blocks (without the offsets that lead to the process itself). No scratch.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   send[0] to (1,2) = 6     recv[0] from (1,0) = 4
//   round 1   send[0] to (2,2) = 10    recv[1] from (0,0) = 0
//   round 2   send[0] to (0,0) = 0     recv[2] from (2,2) = 10
Schedule neighbor_straightforward(const NeighborProblem& problem) {
  return schedule_along(straightforward_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_straightforward(const NeighborProblem& problem) {
  return schedule_along(straightforward_paths(problem), problem, Pattern::allgather);
}

// Torus neighbourhood all-to-all and allgather: message combining over nearest neighbours.
//
// Idea    Blocks hop from process to process, first in dimension 0, then in dimension 1, and so on.
//         All blocks that hop the same way travel in one message. A block alternates between the
//         receive buffer and scratch, so that the last hop ends in the receive buffer and the block
//         that leaves is never where the next one arrives: nothing is copied.
// Source  Träff et al., 2016, sections 3.1 and 3.3, algorithm 1. Ours: the border of a mesh.
// Cost    D rounds: for each dimension the largest coordinate upwards and the largest downwards.
//         V blocks: the sum of all coordinates' sizes. Scratch: s blocks; near the border of a mesh
//         2 s. Computed in O(s D). With two ports, upwards and downwards share rounds.
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (-1,-1), rank 5 = (1,1):
//   round 0   down: send[1] to (2,1) = 9; from (0,1) = 1 into scratch[1], as a hop is left
//   round 1   up: send[2] to (0,1) = 1; from (2,1) = 9 into scratch[2]
//   round 2   right: send[0] and scratch[1] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
//   round 3   left: scratch[2] to (1,0) = 4; from (1,2) = 6 into recv[2]
//
// The allgather.
//
// Idea    As the torus all-to-all, but a block that goes to several neighbours is sent only once as
//         far as their ways are the same. The ways form a trie; the dimension in which most
//         neighbours have the same coordinate comes first, so that the ways part late.
// Source  Träff et al., 2016, section 3.2.
// Cost    D rounds, as the all-to-all. W blocks: the hops of all edges of the trie, an edge being a
//         coordinate. The paper counts the hops of each edge for itself: offsets 1, 2 and 3 make 6.
//         But a block on its way to 3 passes 1 and 2, where it can stay behind: 3 hops, and only
//         that is the optimum that the paper's proposition 2 speaks of. So we share hops of edges
//         that begin at one node; the parameter `share` = 0 does as the paper counts.
//         Scratch: the blocks that only pass through, at one time. Computed in O(s D).
//
// Example, torus of 4 x 4, offsets (0,1) (1,1) (1,0), rank 5 = (1,1). Dimension 0 first: two
// neighbours have its coordinate 1; so it is in dimension 1, and the lower one goes first.
//   round 0   down: send[0] to (2,1) = 9; from (0,1) = 1 into recv[2]
//   round 1   right: send[0] and recv[2] to (1,2) = 6; from (1,0) = 4 into recv[0..1]
Schedule neighbor_torus(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::hops, Pattern::alltoall);
}

Schedule neighbor_allgather_torus(const NeighborProblem& problem) {
  const bool shared = value_of(problem.parameters, "share", 1) != 0;
  return along_axes(problem, shared ? AxisSteps::hops : AxisSteps::own_hops, Pattern::allgather);
}

// Torus-direct neighbourhood all-to-all and allgather: message combining over the axes.
//
// Idea    As the torus algorithm, but a block moves its whole way in a dimension at once, together
//         with all blocks that have the same coordinate there.
// Source  Träff et al., 2016, section 5 (the additive basis of all projected vectors).
// Cost    Rounds: for each dimension the number of different coordinates but zero. Blocks: one for
//         each coordinate but zero. Scratch as the torus algorithm. Computed in O(s d), up to the
//         sorting of the coordinates. `ports` puts that many coordinates of a dimension into a
//         round.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1):
//   round 0   down by 2: send[1..2] to (3,1) = 16; from (4,1) = 21 into scratch[1..2]
//   round 1   right by 2: send[0] and scratch[1] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[2] to (1,0) = 5; from (1,2) = 7 into recv[2]
//
// The allgather.
//
// Idea    The trie of the torus allgather, with the steps of the torus-direct all-to-all: an edge
//         of the trie is one message's block.
// Source  Träff et al., 2016, sections 3.2 and 5.
// Cost    Rounds of the torus-direct all-to-all. W blocks: the edges of the trie but those of
//         coordinate zero. Scratch: the blocks that only pass through, at one time.
//
// Example, torus of 5 x 5, offsets (0,2) (2,2) (2,-1), rank 6 = (1,1). Dimension 0 first, as two
// neighbours share its coordinate 2; in dimension 1 two share 2 as well.
//   round 0   down by 2: send[0] to (3,1) = 16; from (4,1) = 21 into scratch[0]
//   round 1   right by 2: send[0] and scratch[0] to (1,3) = 8; from (1,4) = 9 into recv[0..1]
//   round 2   left by 1: scratch[0] to (1,0) = 5; from (1,2) = 7 into recv[2]
Schedule neighbor_torus_direct(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::whole, Pattern::alltoall);
}

Schedule neighbor_allgather_torus_direct(const NeighborProblem& problem) {
  return along_axes(problem, AxisSteps::whole, Pattern::allgather);
}

// Basis neighbourhood all-to-all and allgather: message combining over an additive basis.
//
// Idea    Every offset is written as a sum of different vectors of a small set, the basis. In the
//         round of a vector all blocks that have it in their sum travel by it, in one message. On a
//         ring with all others as neighbours this is Bruck's algorithm.
// Source  Träff et al., 2016, section 5; how a basis is found is ours: see additive_basis.hpp.
// Cost    A round for each vector of the basis, a block for each vector of each sum. No more rounds
//         than torus-direct; radius 3 in d dimensions: 3 d rounds on a torus, 4 d on a mesh,
//         instead of 6 d. Scratch as the torus algorithm. The search for a basis takes longer than
//         other plans: up to some milliseconds a dimension.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] and send[2] to 1; from 8 into recv[0] and scratch[2]
//   round 1   send[1] and scratch[2] to 2; from 7 into recv[1..2]
//   round 2   send[3] to 4; from 5 into recv[3]
//
// The allgather.
//
// Idea    The vectors of the basis in a fixed order, those that serve most offsets first. Offsets
//         whose sums begin alike share these hops, as in the torus allgather.
// Source  Träff et al., 2016, sections 3.2 and 5; the basis as the basis all-to-all.
// Cost    Rounds of the basis all-to-all, and no more blocks: one for each different beginning of a
//         sum.
//
// Example, ring of 9, offsets 1 2 3 4, rank 0. Basis 1, 2, 4, for 3 = 1 + 2:
//   round 0   send[0] to 1; from 8 into recv[0]
//   round 1   send[0] and recv[0] to 2; from 7 into recv[1..2]
//   round 2   send[0] to 4; from 5 into recv[3]
Schedule neighbor_basis(const NeighborProblem& problem) {
  return schedule_along(basis_paths(problem), problem, Pattern::alltoall);
}

Schedule neighbor_allgather_basis(const NeighborProblem& problem) {
  return schedule_along(basis_paths(problem), problem, Pattern::allgather);
}

// Direct exchange with the neighbours in any directed graph.
//
// Idea    All messages at once. Without knowledge of the whole graph there is nothing to combine;
//         the k-th edge from one rank to another meets its receive because messages between two
//         ranks keep their order. Edges to the rank itself are local copies, the k-th out with the
//         k-th in.
// Source  What MPI says of its neighbourhood collectives on distributed graphs.
// Cost    1 round, a message and a block for each destination, no scratch. In an allgather every
//         destination gets send[0].
//
// Example, rank 0, sources 1 0 1, destinations 2 0:
//   copy  send[1] -> recv[1]
//   send  to 2: send[0]
//   recv  from 1: recv[0]    from 1: recv[2]
Schedule neighbor_direct(int me, std::span<const int> sources, std::span<const int> destinations, Pattern pattern) {
  const auto block = [pattern](std::size_t k) { return pattern == Pattern::allgather ? 0 : static_cast<int>(k); };
  Builder builder(me);
  builder.begin_round();
  std::size_t own = 0;  // sources looked at for the edges to the rank itself
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] != me) continue;
    while (own < sources.size() && sources[own] != me) ++own;
    if (own == sources.size()) break;
    builder.copy(Buffer::send, block(k), Buffer::recv, static_cast<int>(own++));
  }
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    if (destinations[k] < 0 || destinations[k] == me) continue;
    builder.send(destinations[k], Buffer::send, block(k));
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (sources[k] < 0 || sources[k] == me) continue;
    builder.receive(sources[k], Buffer::recv, static_cast<int>(k));
  }
  return builder.take();
}

}  // namespace quadrille::plan
