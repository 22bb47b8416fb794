// A neighbour collective inside a node, by rings (node_neighbors.cpp), or by copies between the buffers of its ranks
// (copies.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "memory/node_copy.hpp"
#include "memory/pairs.hpp"
#include "memory/pool.hpp"
#include "memory/ring.hpp"
#include "plan/order_edges.hpp"
#include "plan/schedule.hpp"
#include "run/call.hpp"
#include "run/op.hpp"

namespace quadrille::run {

struct Group;

// ---- By rings ----

// What this rank and another exchange: blocks in the user's arrays, in the order in which they travel.
struct NeighborPair {
  int peer;
  std::vector<int> send_blocks, recv_blocks;
};

struct NodeEdges {
  std::vector<NeighborPair> pairs;       // the first is the next higher rank, so that not all meet at one
  std::vector<std::pair<int, int>> own;  // edges from this rank to itself: send block, recv block
};

// The edges of rank `me`, whose ends these are. The k-th edge to a rank is the k-th that this rank has from us.
NodeEdges node_edges(int me, int ranks, const plan::EdgeEnds& sources, const plan::EdgeEnds& destinations);

// How far a pair has come. Kept between calls for its memory.
struct NeighborProgress {
  std::size_t sent = 0;           // blocks
  std::size_t sent_part = 0;      // bytes of the next one, its head included
  std::size_t least_offered = 0;  // bytes of a block that stays where it is
  std::size_t first_packed = 0;   // if blocks have gaps: number of the first of this pair
  std::size_t taken = 0;
  std::size_t taken_part = 0;
  std::uint64_t coming = 0;   // bytes of the block that is coming
  std::byte* room = nullptr;  // where it goes
  bool offered = false;       // blocks of ours that the peer reads where they are, and has not yet
  bool owes = false;          // we have read such blocks of the peer, and not yet said so
};

// The rings between this rank and a peer.
struct PairRings {
  memory::Ring to, from;
  std::uint64_t seen = 0;  // see memory::Ring::Writer
};
// Those of `pairs`: [distance - 1 to any rank].
std::vector<PairRings> rings_of(const memory::Pairs& pairs, int me, int ranks);

// All ranks of the communicator share a node and have rings (memory/ring.hpp). Returns an MPI error code.
int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group);

// The same as a call that can be started, advanced, and started again. A ring is read in the order in which it was
// written, but ranks may start several such calls in different orders, and make blocking calls between them or not.
// So each has rings of its own: its own starts are in the same order on all ranks. Nonblocking calls, which are started
// in one order, may have common ones, if each begins when the one before has ended.
//
// The edges, the group, the rings and the arrays of the call must outlive it. There is a ring for each pair, or for
// each rank of the communicator.
std::unique_ptr<Op> neighbor_op(const Call& call, const NodeEdges& edges, Group& group, std::span<PairRings> rings);

// ---- By copies ----

// The edges that end at a rank, as it has to know them for a call. The same for all orders.
struct EdgesHere {
  int send_blocks = 0, recv_blocks = 0;        // of the user's arrays, those without a neighbour included
  std::vector<plan::EdgeCopy> sent, received;  // the edges that begin at the rank, and those that end there
};
EdgesHere edges_here(int me, int send_blocks, int recv_blocks, const std::vector<plan::EdgeCopy>& edges);

// All ranks of the communicator share a node and reach each other's memory by load and store. False if not all blocks
// can be reached after all, on all ranks; then the call is still to be done. `error` is an MPI error code.
bool run_neighbor_copies(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, Group& group,
                         int& error);

}  // namespace quadrille::run
