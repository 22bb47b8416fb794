#include "run/node_copies_run.hpp"

#include "run/blocks.hpp"

namespace quadrille::run {

NodeCopiesRun::NodeCopiesRun(const Call& call, const plan::Schedule& schedule, Group& group, memory::Inbox& inbox,
                             memory::Pairs& pairs, SharedBlocks::By by)
    : call_(call, is_allgather(call.collective) ? 1 : group.ranks, group.ranks),
      schedule_(schedule),
      group_(group),
      inbox_(inbox),
      pairs_(pairs),
      copying_(group.copying),
      by_(by) {}

int NodeCopiesRun::start() {
  now_.emplace(call_.call(), schedule_, group_, CopyMeans{pairs_, packing_, copying_, came_}, by_);
  now_->copies.begin();
  return advance();
}

int NodeCopiesRun::advance() {
  if (!now_) return instead_ ? instead_->advance() : mpi_success;
  while (!now_->copies.done()) {
    if (!now_->copies.advance()) return mpi_success;
  }
  const bool copied = now_->copies.copied();
  const int error = now_->copies.error();
  now_.reset();
  if (copied) {
    instead_.reset();  // of an earlier start, which may not have come to its end
    return error;
  }
  if (!instead_) instead_.emplace(call_.call(), group_, inbox_, &pairs_, copying_);
  const int started = instead_->start();
  return error != mpi_success ? error : started;
}

}  // namespace quadrille::run
