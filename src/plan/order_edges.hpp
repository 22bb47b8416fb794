// In which order the ranks of a node copy the blocks of a neighbour collective, and which rank copies which.
//
// The edges of a graph are crosses in the square of order.hpp: sources by destinations. Its curves, with the pairs
// left out that no edge joins, give compact curves; these are cut into equal pieces of edges, one a rank. After Li,
// Zhang and Hoefler, "Cache-oblivious MPI all-to-all communications based on Morton order", section 3.
//
//   row_numa     a rank copies the edges that end at it, sources of its own domain first, then of the next
//   morton       the Z curve through all edges, cut into equal pieces
//   morton_numa  in step i the ranks of domain d copy the edges from domain d + i to d, along one Z curve cut into
//                equal pieces, so that only recv buffers of the own domain are written
//
// Example, a ring of 4, each rank sends block 0 down and block 1 up; morton. Edges source->destination:
//   rank 0: 1->0 0->1   rank 1: 3->0 2->1   rank 2: 1->2 0->3   rank 3: 3->2 2->3
#pragma once

#include <span>
#include <vector>

#include "plan/order.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

// The paper's 4-tuple (Rs, Rr, Bs, Br): which block of whose send buffer goes to which block of whose recv buffer.
struct EdgeCopy {
  int source, destination;
  int send_block, recv_block;
  friend bool operator==(const EdgeCopy&, const EdgeCopy&) = default;
};

// What rank `me` copies. `edges` are those of all ranks, the same in the same order on all; `domains` as in
// part_of_order(). All parts together hold each edge once. O(E log P).
std::vector<EdgeCopy> part_of_edges(Order order, int ranks, int me, std::span<const EdgeCopy> edges,
                                    std::span<const int> domains = {});

// Joins the two ends of the edges: [rank] the destinations and the sources, as MPI's distributed graphs list them.
// The k-th edge to a rank is the k-th that this rank has from there. An end without another is left out. By source,
// each one's in their order.
struct EdgeEnds {
  std::vector<int> peers;   // ranks; a negative one is no neighbour
  std::vector<int> blocks;  // of the buffer
  void add(int peer, int block) { peers.push_back(peer), blocks.push_back(block); }
  friend bool operator==(const EdgeEnds&, const EdgeEnds&) = default;
};
std::vector<EdgeCopy> join_edges(std::span<const EdgeEnds> destinations, std::span<const EdgeEnds> sources);

// ---- Schedules of these copies, on any graph inside a node ----

struct EdgeProblem {
  int ranks, me;
  std::span<const EdgeCopy> edges;  // of all ranks; in an allgather send block 0 goes along all of them
  std::span<const int> domains;     // NUMA domain of each rank; empty: one
};

using BuildEdges = Schedule (*)(const EdgeProblem&);

Schedule copies_in_order(const EdgeProblem& problem, Order order);

template <Order order>
Schedule neighbor_copies(const EdgeProblem& problem) {
  return copies_in_order(problem, order);
}

}  // namespace quadrille::plan
