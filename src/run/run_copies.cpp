// Runs a schedule that consists of copies between the buffers of a node's ranks (copies.hpp).
#include "run/copies.hpp"
#include "run/engines.hpp"

namespace quadrille::run {
namespace {

// A block to each rank and one from each, or one block to all.
class Dense {
 public:
  Dense(const Call& call, const plan::Schedule& schedule, Group& group)
      : schedule_(schedule), group_(group), gather_(is_allgather(call.collective)) {}
  int sends() const { return gather_ ? 1 : group_.ranks; }
  int recvs() const { return group_.ranks; }
  int send_block(int i) const { return i; }
  int recv_block(int i) const { return i; }
  std::pair<int, int> origin(int i) const { return {i, gather_ ? 0 : group_.me}; }
  const std::vector<plan::Copy>& copies() const { return schedule_.copies; }
  bool open() { return true; }
  BlockPlace* mine(Owned which) const { return group_.pairs.places(which, group_.me); }
  const BlockPlace* places(Owned which, int owner) const { return group_.pairs.places(which, owner); }

 private:
  const plan::Schedule& schedule_;
  Group& group_;
  const bool gather_;
};

}  // namespace

int run_copies(const Call& call, const plan::Schedule& schedule, Group& group) {
  int error = MPI_SUCCESS;
  Dense dense(call, schedule, group);
  SharedBlocks shared(group);
  if (Copies(call, dense, shared, group).run(error)) return error;
  return run_node(call, group, true);
}

}  // namespace quadrille::run
