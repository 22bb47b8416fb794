// A neighbour collective inside a node; see node_neighbors.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace quadrille::run {

struct Call;
struct Group;

// What this rank and another exchange: blocks in the user's arrays, in the order in which they travel.
struct NeighborPair {
  int peer;
  std::vector<int> send_blocks, recv_blocks;
};

struct NodeEdges {
  std::vector<NeighborPair> pairs;        // the first is the next higher rank, so that not all meet at one
  std::vector<std::pair<int, int>> own;   // edges from this rank to itself: send block, recv block
};

// The edges of rank `me`: `destinations[i]` gets `send_block[i]`, and `recv_block[i]` comes from `sources[i]`. The
// k-th edge to a rank is the k-th that this rank has from us.
NodeEdges node_edges(int me, int ranks, std::span<const int> sources, std::span<const int> recv_block,
                     std::span<const int> destinations, std::span<const int> send_block);

// How far a pair has come. Kept between calls for its memory.
struct NeighborProgress {
  std::size_t sent = 0;       // blocks
  std::size_t sent_part = 0;  // bytes of the next one, its head included
  std::size_t first_packed = 0;  // if blocks have gaps: number of the first of this pair
  std::size_t taken = 0;
  std::size_t taken_part = 0;
  std::uint64_t coming = 0;  // bytes of the block that is coming
  std::byte* room = nullptr;  // where it goes
  bool offered = false;      // blocks of ours that the peer reads where they are, and has not yet
  bool owes = false;         // we have read such blocks of the peer, and not yet said so
};

// All ranks of the communicator share a node and have rings (memory/ring.hpp). Returns an MPI error code.
int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group);

}  // namespace quadrille::run
