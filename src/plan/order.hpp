// In which order the ranks of a node copy blocks, and which rank copies which: of collectives among all ranks, and of
// neighbour collectives.
//
// An all-to-all turns a square of blocks: block (source, destination) lies in the send buffer of
// `source` and must come into the recv buffer of `destination`. If all buffers can be reached by
// load and store, any rank can copy any block. An order says who copies what, and when: it is a
// curve through the square, cut into one part a rank. All parts together hold each ordered pair
// once, source == destination too. An allgather has the same square; its rows of send blocks are
// one block.
//
//   row          a rank fills its own recv buffer, sources in the order of their ranks
//   column       a rank empties its own send buffer, destinations in the order of their ranks
//   morton       the Z curve, cut into equal pieces
//   hilbert      the Hilbert curve; a rank copies a box of the square, in the order of the curve; an equal piece of the
//                curve if P is no power of two
//   square_...   the Hilbert curve through the largest square whose side is a power of two, a box for each of its
//                ranks; the rest by rows, by columns, or along a Z curve (order.cpp)
//   row_numa     as row, but a rank begins with the sources of its own domain, then those of the
//                next, and so on round; in each domain the readers begin at different ranks, in its own with
//                themselves, so that they do not all read from one
//   morton_numa  in step i the ranks of domain d copy all that domain d + i sends to d, along one
//                Z curve cut into equal pieces
//
// Sources. row, morton, row_numa and morton_numa: Li, Zhang and Hoefler, "Cache-oblivious MPI
// all-to-all communications based on Morton order", sections 2.1, 2.2, 2.4 and 4. row, column and
// hilbert: Ramesh et al., "HINT", section V.A, figure 5 and algorithm 1; square_...: section V.F.
//
// The paper has two readings of the rows of its grid, and so have the Hilbert orders (Rows): figure 5 (a) and algorithm
// 2 have rows of sources; algorithm 1, with the text around it, and figure 5 (b) and (c) have rows of recv buffers.
// Boxes of consecutive ranks lie side by side in a row.
//
// Every rank has exactly P pairs in every order. A part costs O(P) memory, and O(P log P) time or
// less, but hilbert for a P that is not a power of two may need a little more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/schedule.hpp"

namespace quadrille::plan {

struct Pair {
  int source;
  int destination;
  friend bool operator==(const Pair&, const Pair&) = default;
};

enum class Order : std::uint8_t {
  row,
  column,
  morton,
  hilbert,
  row_numa,
  morton_numa,
  square_and_row,
  square_and_column,
  square_and_morton,
};

// What the rows of the grid are in the Hilbert orders. By destinations curve and boxes are transposed: (d, s) in place
// of (s, d); of the orders square_... only the square. The numbers are those of the parameter `rows`.
enum class Rows : std::uint8_t {
  // Boxes: the reading with more copies into the domain of the rank that copies; `sources` if both have as many, for
  // example with one domain. Pieces of the curve: `sources`, by which the first half of the curve fills the first half
  // of the recv buffers.
  by_domains,
  sources,       // boxes of consecutive ranks share send buffers
  destinations,  // boxes of consecutive ranks share recv buffers, and these ranks own them
};

// What rank `me` copies, in this order. `ranks` >= 1 is at most 32,768, 0 <= me < ranks. `domains`
// has the NUMA domain of each rank as any label, or is empty: then there is one domain. Domains may
// differ in size, and their ranks need not be consecutive. Only the orders for NUMA look at them, and
// the Hilbert orders, if `rows` is `by_domains`. Other orders ignore `rows`.
std::vector<Pair> part_of_order(Order order, int ranks, int me, std::span<const int> domains = {},
                                Rows rows = Rows::by_domains);

// ---- Blocks of neighbour collectives ----
//
// The edges of a graph are crosses in the square of blocks: sources by destinations. Its curves, with the pairs
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

Schedule copies_in_order(const EdgeProblem& problem, Order order);

template <Order order>
Schedule neighbor_copies(const EdgeProblem& problem) {
  return copies_in_order(problem, order);
}

}  // namespace quadrille::plan
