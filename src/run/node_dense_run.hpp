// A dense collective inside a node as a call that can be started: the exchange of neighbours
// (node_neighbor_exchange.hpp) among all ranks, through rings of its own.
//
// An in-place all-to-all receives over what it sends, so that is copied first, in each start. In place an allgather
// sends its block of the receive buffer, which nobody writes to.
#pragma once

#include <span>
#include <vector>

#include "memory/pool.hpp"
#include "run/node_neighbors.hpp"

namespace quadrille::run {

// The edges between all ranks of a node; `own`: each rank's to itself, too.
NodeEdges edges_among_all(int me, int ranks, bool own);

class NodeDenseRun {
 public:
  // `edges` are those of edges_among_all(), without the rank's own if the call is in place. They, the group and the
  // rings must outlive it; the arrays of the call need not.
  NodeDenseRun(const Call& call, const NodeEdges& edges, Group& group, std::span<PairRings> rings);
  NodeDenseRun(const NodeDenseRun&) = delete;
  NodeDenseRun& operator=(const NodeDenseRun&) = delete;

  // As NodeNeighborRun.
  int start();
  int advance() { return run_.advance(); }
  bool done() const { return run_.done(); }
  bool calls_mpi() const { return run_.calls_mpi(); }

 private:
  // What an in-place call sends, as bytes.
  struct Staged {
    Staged(const Call& call, const Group& group);
    int pack(const Call& call, const Group& group);
    Call sent_by(Call call, const Group& group) const;
    memory::Pool memory;
    std::byte* base = nullptr;
    bool is_there = true;  // the memory; without it the call sends nothing
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displacements;
  };

  Group& group_;
  const StoredCall call_;  // as the user made it
  Staged staged_;
  NodeNeighborRun run_;
};

}  // namespace quadrille::run
