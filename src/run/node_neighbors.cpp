// Calls of a neighbour collective inside a node, blocking and started; the exchange itself is in
// node_neighbor_exchange.hpp.
#include "run/node_neighbors.hpp"

#include <algorithm>

#include "run/node_neighbor_exchange.hpp"

namespace quadrille::run {

NodeEdges node_edges(int me, int ranks, std::span<const int> sources, std::span<const int> recv_block,
                     std::span<const int> destinations, std::span<const int> send_block) {
  std::vector<NeighborPair> of(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    of[static_cast<std::size_t>(destinations[i])].send_blocks.push_back(send_block[i]);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    of[static_cast<std::size_t>(sources[i])].recv_blocks.push_back(recv_block[i]);
  }
  NodeEdges edges;
  const NeighborPair& own = of[static_cast<std::size_t>(me)];
  for (std::size_t k = 0; k < std::min(own.send_blocks.size(), own.recv_blocks.size()); ++k) {
    edges.own.emplace_back(own.send_blocks[k], own.recv_blocks[k]);
  }
  for (int step = 1; step < ranks; ++step) {
    const int peer = (me + step) % ranks;
    NeighborPair& pair = of[static_cast<std::size_t>(peer)];
    if (pair.send_blocks.empty() && pair.recv_blocks.empty()) continue;
    pair.peer = peer;
    edges.pairs.push_back(std::move(pair));
  }
  return edges;
}

namespace {

// To look means to look at all neighbours. Where ranks share a core, that is done once before the core is given away.
sys::Waiter impatient(sys::Waiter waiter) {
  if (waiter.crowded()) waiter.spins = 1;
  return waiter;
}

}  // namespace

int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group) {
  finish_started(group);
  NodeNeighbors neighbors(call, edges, group, {group.packed_send, group.packed_recv, group.neighbor_progress});
  neighbors.begin();
  const sys::Waiter waiter = impatient(group.waiter);
  while (!neighbors.done()) {
    waiter.until([&] {
      const bool moved = neighbors.advance();
      // What else there is comes when others have run.
      return waiter.crowded() ? neighbors.done() : moved;
    });
  }
  return neighbors.end();
}

NodeNeighborRun::NodeNeighborRun(const Call& call, const NodeEdges& edges, int send_blocks, int recv_blocks,
                                 Group& group)
    : call_(call, is_allgather(call.collective) ? 1 : send_blocks, recv_blocks), edges_(edges), group_(group) {}

NodeNeighborRun::~NodeNeighborRun() = default;

int NodeNeighborRun::start() {
  if (!done()) return MPI_ERR_REQUEST;
  const std::lock_guard lock(group_.started_mutex);
  error_ = MPI_SUCCESS;
  under_way_ = true;
  group_.started.push_back(this);
  return advance_all();
}

int NodeNeighborRun::advance() {
  if (done()) return error_;
  const std::lock_guard lock(group_.started_mutex);
  return advance_all();
}

// What was started before goes first: the blocks of all lie in the same rings.
int NodeNeighborRun::advance_all() {
  while (under_way_) {
    NodeNeighborRun& first = *group_.started.front();
    if (!first.go_on()) return MPI_SUCCESS;
    group_.started.erase(group_.started.begin());
    first.under_way_ = false;
  }
  return error_;
}

bool NodeNeighborRun::go_on() {
  if (!neighbors_) {
    neighbors_ = std::make_unique<NodeNeighbors>(call_.call(), edges_, group_,
                                                 NodePools{packed_send_, packed_recv_, progress_});
    neighbors_->begin();
  }
  while (!neighbors_->done()) {
    if (!neighbors_->advance()) return false;
  }
  error_ = neighbors_->end();
  neighbors_.reset();
  return true;
}

void finish_started(Group& group) {
  const auto none = [&group] {
    const std::lock_guard lock(group.started_mutex);
    if (!group.started.empty()) group.started.back()->advance_all();
    return group.started.empty();
  };
  if (!none()) group.waiter.until(none);
}

}  // namespace quadrille::run
