// Blocking calls of the executor.
#include "run/bound_run.hpp"
#include "run/engines.hpp"
#include "run/padded_run.hpp"

namespace quadrille::run {
namespace {

// Gives large memory back when the call is over.
struct BlockingMemory : RunMemory {
  explicit BlockingMemory(Group& group) : RunMemory{group.scratch.sure, group.scratch.packing, group.scratch.carried} {}
  BlockingMemory& operator=(BlockingMemory&&) = delete;
  ~BlockingMemory() { trim(); }
};

Traffic traffic_of(const Group& group) {
  return {group.messages().comm, group.messages().quiet, group.me, group.ranks};
}

}  // namespace

int run_schedule(const Call& call, const plan::Schedule& schedule, const Moving& moving, Group& group) {
  const BlockingMemory memory(group);
  return BoundRun(call, schedule, moving, traffic_of(group), memory).start(true);
}

int run_neighbor_schedule(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots,
                          const Moving& moving, Group& group) {
  const BlockingMemory memory(group);
  return BoundRun(call, schedule, slots, moving, traffic_of(group), memory).start(true);
}

int run_padded(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct, Group& group) {
  const BlockingMemory memory(group);
  return PaddedRun(call, uniform, direct, traffic_of(group), memory).start(true);
}

}  // namespace quadrille::run
