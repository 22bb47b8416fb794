// A neighbour collective inside a node by copies between the buffers of its ranks; see neighbor_copies.cpp.
#pragma once

#include <utility>
#include <vector>

#include "plan/order_edges.hpp"
#include "plan/schedule.hpp"

namespace quadrille::run {

struct Call;
struct Group;

// The edges that end at a rank, as it has to know them for a call. The same for all orders.
struct EdgesHere {
  int send_blocks = 0, recv_blocks = 0;      // of the user's arrays, those without a neighbour included
  std::vector<int> sent, received;           // numbers of the blocks that have a neighbour
  std::vector<std::pair<int, int>> origins;  // [as received] whose send block, and which, comes there
};
EdgesHere edges_here(int me, int send_blocks, int recv_blocks, const std::vector<plan::EdgeCopy>& edges);

// All ranks of the communicator share a node and reach each other's memory by load and store. False if not all blocks
// can be reached after all, on all ranks; then the call is still to be done. `error` is an MPI error code.
bool run_neighbor_copies(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, Group& group,
                         int& error);

}  // namespace quadrille::run
