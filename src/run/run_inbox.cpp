// Small blocks through shared memory; see memory/inbox.hpp for the protocol.
#include <algorithm>

#include "memory/copy.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::run {
namespace {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

// As run_inbox_bytes(), for one block to all.
int allgather_bytes(const std::byte* send, std::byte* recv, std::size_t bytes, Group& group) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  inbox.begin_out();
  Inbox::fill(inbox.block_to_all(), send, bytes);
  inbox.publish_to_all(Carried::in_slot, bytes);
  std::byte* own = recv + static_cast<std::size_t>(me) * bytes;
  if (send != own) memory::copy_bytes(own, send, bytes);
  int error = MPI_SUCCESS;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const Slot& slot = inbox.await_out(from, group.waiter);
    memory::copy_bytes(recv + static_cast<std::size_t>(from) * bytes, Inbox::block_of(slot),
                       std::min<std::size_t>(bytes, slot.bytes));
    if (slot.bytes > bytes) error = MPI_ERR_TRUNCATE;
  }
  return error;
}

int allgather(const Call& call, Group& group) {
  Inbox& inbox = group.inbox;
  int first_error = MPI_SUCCESS;
  const Block mine = send_block(call, 0, group.me);
  const Blocks recv(call.recv);
  // All ranks know all sizes, so this way is taken only if every block fits. A block that does not is
  // larger than what its receivers gave for it.
  const bool fits = mine.bytes() <= group.inbox_limit;
  inbox.begin_out();
  keep(first_error, fits ? fill_slot(inbox.block_to_all(), mine, group.comm) : MPI_ERR_TRUNCATE);
  inbox.publish_to_all(Carried::in_slot, fits ? mine.bytes() : 0);
  if (!call.in_place && fits) keep(first_error, copy_own(mine, recv[group.me], group));
  for (int step = 1; step < group.ranks; ++step) {
    const int from = (group.me - step + group.ranks) % group.ranks;
    const Slot& slot = inbox.await_out(from, group.waiter);
    const Block block = recv[from];
    keep(first_error, unpack_block(Inbox::block_of(slot), slot.bytes, block, group.comm));
    if (slot.bytes > block.bytes()) keep(first_error, MPI_ERR_TRUNCATE);
  }
  return first_error;
}

}  // namespace

// Kept free of all that it does not need. In place, all blocks are in their slots before the first is overwritten.
int run_inbox_bytes(const std::byte* send, std::byte* recv, std::size_t bytes, Group& group) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  inbox.begin();
  for (int step = 1, to = me; step < ranks; ++step) {
    if (++to == ranks) to = 0;
    Inbox::fill(inbox.block_to(to), send + static_cast<std::size_t>(to) * bytes, bytes);
    inbox.publish(to, Carried::in_slot, bytes);
  }
  const std::size_t own = static_cast<std::size_t>(me) * bytes;
  if (send != recv) memory::copy_bytes(recv + own, send + own, bytes);
  int error = MPI_SUCCESS;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const Slot& slot = inbox.await(from, group.waiter);
    memory::copy_bytes(recv + static_cast<std::size_t>(from) * bytes, Inbox::block_of(slot),
                       std::min<std::size_t>(bytes, slot.bytes));
    if (slot.bytes > bytes) error = MPI_ERR_TRUNCATE;
  }
  return error;
}

int run_inbox(const Call& call, Group& group) {
  using choose::Collective;
  const bool gather = is_allgather(call.collective);
  if (call.collective == Collective::alltoall || call.collective == Collective::allgather) {
    const Side& send_side = call.in_place ? call.recv : call.send;
    const TypeInfo send = type_info(send_side.type), recv = type_info(call.recv.type);
    const std::size_t bytes = call.recv.count * recv.size;
    // All ranks take this way or the other by themselves: they look the same from outside.
    if (send.dense && recv.dense && send_side.count * send.size == bytes &&
        bytes <= group.inbox_limit) {
      if (!gather) return run_inbox_bytes(send_side.base, call.recv.base, bytes, group);
      const std::size_t own = call.in_place ? static_cast<std::size_t>(group.me) * bytes : 0;
      return allgather_bytes(send_side.base + own, call.recv.base, bytes, group);
    }
  }
  return gather ? allgather(call, group) : run_node(call, group, false);
}

}  // namespace quadrille::run
