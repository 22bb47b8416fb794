// A neighbour collective inside a node; see node_neighbor_exchange.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "memory/pool.hpp"
#include "run/call.hpp"

namespace quadrille::run {

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
  std::size_t least_offered = 0;  // bytes of a block that stays where it is
  std::size_t first_packed = 0;  // if blocks have gaps: number of the first of this pair
  std::size_t taken = 0;
  std::size_t taken_part = 0;
  std::uint64_t coming = 0;  // bytes of the block that is coming
  std::byte* room = nullptr;  // where it goes
  bool offered = false;      // blocks of ours that the peer reads where they are, and has not yet
  bool owes = false;         // we have read such blocks of the peer, and not yet said so
  std::size_t refused = 0;   // such blocks that we could not read, and that shall come through the ring
};

// Memory of a call. Not shared by calls that are under way together.
struct NodePools {
  memory::Pool& send;
  memory::Pool& recv;
  std::vector<NeighborProgress>& progress;
};

// All ranks of the communicator share a node and have rings (memory/ring.hpp). Returns an MPI error code.
int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group);

class NodeNeighbors;

// The same as a call that can be started, advanced, and started again. All ranks start those of a communicator in
// the same order, and in that order they are done: they share the rings.
class NodeNeighborRun {
 public:
  // The edges and the group must outlive it; the arrays of the call, of so many blocks, need not.
  NodeNeighborRun(const Call& call, const NodeEdges& edges, int send_blocks, int recv_blocks, Group& group);
  ~NodeNeighborRun();
  NodeNeighborRun(const NodeNeighborRun&) = delete;
  NodeNeighborRun& operator=(const NodeNeighborRun&) = delete;

  // Neither waits. Both return an MPI error code.
  int start();
  int advance();
  // Does not look at the group, which may be gone when it is done.
  bool done() const { return !under_way_; }

 private:
  friend void finish_started(Group& group);
  // These under the lock of what was started.
  int advance_all();
  bool go_on();  // true when it is done

  const StoredCall call_;
  const NodeEdges& edges_;
  Group& group_;
  memory::Pool packed_send_, packed_recv_;
  std::vector<NeighborProgress> progress_;
  std::unique_ptr<NodeNeighbors> neighbors_;  // while it is under way
  int error_ = MPI_SUCCESS;
  std::atomic<bool> under_way_ = false;
};

// Waits for all that was started on a group: before the rings may serve a blocking call.
void finish_started(Group& group);

}  // namespace quadrille::run
