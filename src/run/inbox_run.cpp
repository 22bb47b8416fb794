#include "run/inbox_run.hpp"

#include <algorithm>

#include "run/blocks.hpp"
#include "run/group.hpp"

namespace quadrille::run {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

InboxRun::InboxRun(const Call& call, Group& group, memory::Inbox& inbox) { take(call, group, inbox); }

void InboxRun::take(const Call& call, Group& group, memory::Inbox& inbox) {
  call_ = call;
  group_ = &group;
  inbox_ = &inbox;
  gather_ = is_allgather(call.collective);
  bytes_ = call.recv.count * type_info(call.recv.type).size;
}

// Does not look for what has come: no peer can be that fast, and a look in vain makes its store wait for the line.
int InboxRun::start() {
  error_ = mpi_success;
  next_ = 1;
  const int ranks = group_->ranks, me = group_->me;
  const std::byte* from = call_.in_place ? call_.recv.base : call_.send.base;
  const std::size_t own = static_cast<std::size_t>(me) * bytes_;
  if (gather_) {
    if (call_.in_place) from += own;
    inbox_->begin_out();
    Inbox::fill(inbox_->block_to_all(), from, bytes_);
    inbox_->publish_to_all(Carried::in_slot, bytes_);
    if (!call_.in_place) memory::copy_bytes(call_.recv.base + own, from, bytes_);
    return mpi_success;
  }
  inbox_->begin();
  for (int step = 1, to = me; step < ranks; ++step) {
    if (++to == ranks) to = 0;
    Inbox::fill(inbox_->block_to(to), from + static_cast<std::size_t>(to) * bytes_, bytes_);
    inbox_->publish(to, Carried::in_slot, bytes_);
  }
  if (!call_.in_place) memory::copy_bytes(call_.recv.base + own, from + own, bytes_);
  return mpi_success;
}

int InboxRun::advance() {
  if (done()) return mpi_success;
  for (; next_ < group_->ranks; ++next_) {
    const int from = group_->me >= next_ ? group_->me - next_ : group_->me - next_ + group_->ranks;
    const Slot* slot = gather_ ? inbox_->look_out(from, bytes_) : inbox_->look(from, bytes_);
    if (slot == nullptr) return mpi_success;
    memory::copy_bytes(call_.recv.base + static_cast<std::size_t>(from) * bytes_, Inbox::block_of(*slot),
                       std::min<std::size_t>(bytes_, slot->bytes));
    keep(error_, error_if_long(slot->bytes, bytes_, call_.collective));
  }
  next_ = 0;
  return error_;
}

}  // namespace quadrille::run
