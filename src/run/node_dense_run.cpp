#include "run/node_dense_run.hpp"

#include <numeric>

#include "mpi/thrown.hpp"
#include "run/blocks.hpp"
#include "run/group.hpp"

namespace quadrille::run {

NodeEdges edges_among_all(int me, int ranks, bool own) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  NodeEdges edges = node_edges(me, ranks, all, all, all, all);
  if (!own) edges.own.clear();
  return edges;
}

NodeDenseRun::Staged::Staged(const Call& call, const Group& group) {
  if (!call.in_place || is_allgather(call.collective)) return;
  const Blocks blocks(call.recv);
  MPI_Aint total = 0;
  for (int rank = 0; rank < group.ranks; ++rank) {
    const std::size_t bytes = rank == group.me ? 0 : blocks.bytes_of(rank);
    counts.push_back(static_cast<MPI_Count>(bytes));
    displacements.push_back(total);
    total += static_cast<MPI_Aint>(bytes);
  }
  is_there = thrown_by([&] { base = memory.take(static_cast<std::size_t>(total)); }) == MPI_SUCCESS;
}

int NodeDenseRun::Staged::pack(const Call& call, const Group& group) {
  int error = MPI_SUCCESS;
  const Blocks blocks(call.recv);
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == 0) continue;
    const Block block = blocks[static_cast<int>(rank)];
    keep(error, quadrille::pack(block.address, block.count, block.type, block.info, base + displacements[rank],
                                group.messages().quiet));
  }
  return error;
}

Call NodeDenseRun::Staged::sent_by(Call call, const Group& group) const {
  if (!call.in_place) return call;
  call.in_place = false;
  call.send = {};
  if (is_allgather(call.collective)) {
    const Block mine = block_of(call.recv, group.me);
    call.send.base = mine.address;
    call.send.count = mine.count;
    call.send.type = mine.type;
    return call;
  }
  call.send.base = base;
  call.send.type = mpi().byte;
  call.send.counts_large = counts.data();
  call.send.displacements_large = displacements.data();
  return call;
}

NodeDenseRun::NodeDenseRun(const Call& call, const NodeEdges& edges, Group& group, std::span<PairRings> rings)
    : group_(group),
      call_(call, is_allgather(call.collective) ? 1 : group.ranks, group.ranks),
      staged_(call_.call(), group),
      run_(staged_.sent_by(call_.call(), group), edges, is_allgather(call.collective) ? 1 : group.ranks, group.ranks,
           group, rings) {}

int NodeDenseRun::start() {
  if (!staged_.is_there) return run_.start(true);
  const int error = staged_.pack(call_.call(), group_);
  return error != MPI_SUCCESS ? error : run_.start();
}

}  // namespace quadrille::run
