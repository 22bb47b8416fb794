#include "run/inbox_run.hpp"

#include <algorithm>

#include "run/blocks.hpp"
#include "run/group.hpp"

namespace quadrille::run {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

InboxRun::InboxRun(const Call& call, Group& group, memory::Inbox& inbox)
    : call_(call, is_allgather(call.collective) ? 1 : group.ranks, group.ranks),
      group_(&group),
      inbox_(&inbox),
      gather_(is_allgather(call.collective)) {
  if (!is_regular(call.collective)) return;
  const Side& sent = call.in_place ? call.recv : call.send;
  const TypeInfo send = type_info(sent.type), recv = type_info(call.recv.type);
  bytes_ = call.recv.count * recv.size;
  plain_ = send.dense && recv.dense && sent.count * send.size == bytes_;
}

void InboxRun::take(const Call& call, Group& group, memory::Inbox& inbox) {
  call_.replace(call);
  group_ = &group;
  inbox_ = &inbox;
  gather_ = is_allgather(call.collective);
  bytes_ = call.recv.count * type_info(call.recv.type).size;
}

void InboxRun::send_plain() {
  const Call& call = call_.call();
  const int ranks = group_->ranks, me = group_->me;
  const std::byte* from = call.in_place ? call.recv.base : call.send.base;
  const std::size_t own = static_cast<std::size_t>(me) * bytes_;
  if (gather_) {
    if (call.in_place) from += own;
    inbox_->begin_out();
    Inbox::fill(inbox_->block_to_all(), from, bytes_);
    inbox_->publish_to_all(Carried::in_slot, bytes_);
    if (!call.in_place) memory::copy_bytes(call.recv.base + own, from, bytes_);
    return;
  }
  inbox_->begin();
  for (int step = 1, to = me; step < ranks; ++step) {
    if (++to == ranks) to = 0;
    Inbox::fill(inbox_->block_to(to), from + static_cast<std::size_t>(to) * bytes_, bytes_);
    inbox_->publish(to, Carried::in_slot, bytes_);
  }
  if (!call.in_place) memory::copy_bytes(call.recv.base + own, from + own, bytes_);
}

// A block that does not fit is larger than what its receivers gave for it.
int InboxRun::send_blocks() {
  const Call& call = call_.call();
  const int ranks = group_->ranks, me = group_->me;
  int error = MPI_SUCCESS;
  if (gather_) {
    const Block mine = send_block(call, 0, me);
    const Block sent = first_part(mine, inbox_->capacity());
    inbox_->begin_out();
    keep(error, fill_slot(inbox_->block_to_all(), sent, group_->messages().quiet));
    inbox_->publish_to_all(Carried::in_slot, sent.bytes());
  } else {
    inbox_->begin();
    for (int step = 1; step < ranks; ++step) {
      const int to = (me + step) % ranks;
      const Block sent = first_part(send_block(call, to, me), inbox_->capacity());
      keep(error, fill_slot(inbox_->block_to(to), sent, group_->messages().quiet));
      inbox_->publish(to, Carried::in_slot, sent.bytes());
    }
  }
  if (call.in_place) return error;
  const Block from = send_block(call, me, me), to = block_of(call.recv, me);
  keep(error, error_if_long(from.bytes(), to.bytes(), call.collective));
  keep(error, copy_own(from, to, *group_, own_));
  return error;
}

int InboxRun::take_plain(int from, const Slot& slot) {
  memory::copy_bytes(call_.call().recv.base + static_cast<std::size_t>(from) * bytes_, Inbox::block_of(slot),
                     std::min<std::size_t>(bytes_, slot.bytes));
  return error_if_long(slot.bytes, bytes_, call_.call().collective);
}

int InboxRun::take_block(int from, const Slot& slot) {
  const Block block = block_of(call_.call().recv, from);
  const int error = unpack_block(Inbox::block_of(slot), slot.bytes, block, group_->messages().quiet);
  return error != MPI_SUCCESS ? error : error_if_long(slot.bytes, block.bytes(), call_.call().collective);
}

// Does not look for what has come: no peer can be that fast, and a look in vain makes its store wait for the line.
int InboxRun::start() {
  error_ = MPI_SUCCESS;
  if (plain_) {
    send_plain();
  } else {
    error_ = send_blocks();
  }
  next_ = 1;
  return error_;
}

int InboxRun::advance() {
  if (done()) return MPI_SUCCESS;
  for (; next_ < group_->ranks; ++next_) {
    const int from = group_->me >= next_ ? group_->me - next_ : group_->me - next_ + group_->ranks;
    const Slot* slot = gather_ ? inbox_->look_out(from) : inbox_->look(from);
    if (slot == nullptr) return MPI_SUCCESS;
    keep(error_, plain_ ? take_plain(from, *slot) : take_block(from, *slot));
  }
  next_ = 0;
  return error_;
}

}  // namespace quadrille::run
