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

std::vector<PairRings> rings_of(const memory::Pairs& pairs, int me, int ranks) {
  std::vector<PairRings> rings;
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (me + distance) % ranks;
    rings.push_back({pairs.ring(peer, me), pairs.ring(me, peer)});
  }
  return rings;
}

int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group) {
  Scratch& scratch = group.scratch;
  if (scratch.rings.empty()) scratch.rings = rings_of(group.pairs, group.me, group.ranks);
  NodeNeighbors neighbors(call, edges, group,
                          {scratch.packing, scratch.neighbor_progress, group.copying, scratch.rings});
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
                                 Group& group, std::span<PairRings> rings)
    : call_(call, is_allgather(call.collective) ? 1 : send_blocks, recv_blocks),
      edges_(edges),
      group_(group),
      rings_(rings),
      copying_(group.copying),
      now_(std::make_unique<std::optional<NodeNeighbors>>()) {}

NodeNeighborRun::~NodeNeighborRun() = default;

int NodeNeighborRun::start() {
  if (!done()) return mpi().err_request;
  now_->emplace(call_.call(), edges_, group_, NodeMeans{packing_, progress_, copying_, rings_});
  under_way_ = true;
  (*now_)->begin();
  return advance();
}

int NodeNeighborRun::advance() {
  if (done()) return mpi_success;
  NodeNeighbors& neighbors = **now_;
  while (!neighbors.done()) {
    if (!neighbors.advance()) return mpi_success;
  }
  under_way_ = false;
  return neighbors.end();
}

}  // namespace quadrille::run
