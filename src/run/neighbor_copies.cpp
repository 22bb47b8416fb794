// Runs a schedule of copies between neighbours inside a node (copies.hpp).
//
// A rank may have more blocks than there are ranks, so its places are in memory of its own, and the control memory
// says only where (memory/meeting.hpp). The size of a block stands beside its place: one look for both, also where all
// blocks differ in size. Two tables in turn, because a peer may still read those of the call before.
#include "run/neighbor_copies.hpp"

#include "mpi/thrown.hpp"
#include "run/copies.hpp"

namespace quadrille::run {
namespace {

class Sparse {
 public:
  Sparse(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, SharedBlocks& shared, Group& group)
      : schedule_(schedule), edges_(edges), shared_(shared), group_(group), gather_(is_allgather(call.collective)) {}
  int sends() const {
    const int blocks = static_cast<int>(edges_.sent.size());
    return gather_ ? std::min(blocks, 1) : blocks;
  }
  int recvs() const { return static_cast<int>(edges_.received.size()); }
  int send_block(int i) const { return gather_ ? 0 : edges_.sent[static_cast<std::size_t>(i)]; }
  int recv_block(int i) const { return edges_.received[static_cast<std::size_t>(i)]; }
  std::pair<int, int> origin(int i) const {
    const auto [rank, block] = edges_.origins[static_cast<std::size_t>(i)];
    return {rank, gather_ ? 0 : block};
  }
  const std::vector<plan::Copy>& copies() const { return schedule_.copies; }

  bool open() {
    const std::size_t sent = static_cast<std::size_t>(gather_ ? 1 : edges_.send_blocks) * sizeof(BlockPlace);
    const std::size_t both = sent + static_cast<std::size_t>(edges_.recv_blocks) * sizeof(BlockPlace);
    memory::Pool& pool = group_.scratch.neighbor_places[group_.scratch.neighbor_calls++ % 2];
    std::byte* memory = nullptr;
    if (thrown_by([&] { memory = pool.take(std::max<std::size_t>(both, 1)); }) != mpi_success) return false;
    send_ = reinterpret_cast<BlockPlace*>(memory);
    recv_ = reinterpret_cast<BlockPlace*>(memory + sent);
    return publish_table(Owned::send, memory, sent) && publish_table(Owned::recv, memory + sent, both - sent);
  }
  void put(Owned which, int block, const BlockPlace& place) { (which == Owned::send ? send_ : recv_)[block] = place; }
  void close() {}
  bool look_up(Owned which, int owner, int block, BlockPlace& place) const {
    const memory::BlockRule& table = group_.pairs.meeting().rule(which, owner);
    const std::byte* places = shared_.find(owner, table.block(0), table.bytes);
    if (places == nullptr) return false;
    place = reinterpret_cast<const BlockPlace*>(places)[block];
    return true;
  }

 private:
  bool publish_table(Owned which, const std::byte* table, std::size_t bytes) {
    BlockPlace place;
    const bool good = shared_.publish(place, table, bytes);
    group_.pairs.meeting().set_rule(which, {place.at, place.bytes, place.by_address, 0, 0});
    return good;
  }

  const plan::Schedule& schedule_;
  const EdgesHere& edges_;
  SharedBlocks& shared_;
  Group& group_;
  const bool gather_;
  BlockPlace *send_ = nullptr, *recv_ = nullptr;  // this rank's places
};

}  // namespace

EdgesHere edges_here(int me, int send_blocks, int recv_blocks, const std::vector<plan::EdgeCopy>& edges) {
  EdgesHere here{send_blocks, recv_blocks, {}, {}, {}};
  for (const plan::EdgeCopy& edge : edges) {
    if (edge.source == me) here.sent.push_back(edge.send_block);
    if (edge.destination != me) continue;
    here.received.push_back(edge.recv_block);
    here.origins.emplace_back(edge.source, edge.send_block);
  }
  return here;
}

bool run_neighbor_copies(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, Group& group,
                         int& error) {
  SharedBlocks shared(group, group.pairs);
  Sparse sparse(call, schedule, edges, shared, group);
  return Copies(call, sparse, shared, group, means_of(group)).run(error);
}

}  // namespace quadrille::run
