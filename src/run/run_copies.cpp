// Runs a schedule that consists of copies between the buffers of a node's ranks (copies.hpp). Blocks for other nodes
// are under way as messages meanwhile.
#include "run/away.hpp"
#include "run/copies.hpp"
#include "run/engines.hpp"

namespace quadrille::run {
namespace {

// A block to each rank of the node and one from each, or one block to all.
class Dense {
 public:
  Dense(const Call& call, const plan::Schedule& schedule, Group& group)
      : schedule_(schedule), group_(group), gather_(is_allgather(call.collective)) {}
  int sends() const { return gather_ ? 1 : group_.ranks_here(); }
  int recvs() const { return group_.ranks_here(); }
  int send_block(int i) const { return gather_ ? 0 : group_.member(i); }
  int recv_block(int i) const { return group_.member(i); }
  std::pair<int, int> origin(int i) const { return {group_.member(i), gather_ ? 0 : group_.me}; }
  const std::vector<plan::Copy>& copies() const { return schedule_.copies; }
  bool open() { return true; }
  BlockPlace* mine(Owned which) const { return places_of(which, group_.me); }
  const BlockPlace* places(Owned which, int owner) const { return places_of(which, owner); }
  // The tables have as many places as the node has ranks.
  int place_of(Owned which, int block) const {
    return gather_ && which == Owned::send ? block : group_.local_of(block);
  }

 private:
  BlockPlace* places_of(Owned which, int owner) const {
    return group_.pairs.places(which, group_.local_of(owner));
  }

  const plan::Schedule& schedule_;
  Group& group_;
  const bool gather_;
};

}  // namespace

int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging) {
  constexpr std::size_t little = std::size_t{1} << 20;
  AwayMessages away(call, group);
  Dense dense(call, schedule, group);
  SharedBlocks shared(group);
  Copies copies(call, dense, shared, group, staging == Staging::little ? little : SIZE_MAX);
  away.begin();
  int error = MPI_SUCCESS;
  if (!copies.run(error)) error = run_node(call, group, true, Part::node);
  keep(error, away.finish());
  return error;
}

}  // namespace quadrille::run
