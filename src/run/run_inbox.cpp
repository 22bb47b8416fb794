// Small blocks through shared memory; see memory/inbox.hpp for the protocol.
#include <algorithm>

#include "memory/copy.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "run/mpi_transport.hpp"

namespace quadrille::run {
namespace {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

int allgather(const Call& call, Group& group) {
  Inbox& inbox = group.inbox;
  int first_error = MPI_SUCCESS;
  const Block mine = send_block(call, 0, group.me);
  const Blocks recv(call.recv);
  // All ranks know all sizes, so this way is taken only if every block fits. A block that does not is
  // larger than what its receivers gave for it.
  const Block sent = first_part(mine, group.reach().slot_limit);
  inbox.begin_out();
  keep(first_error, fill_slot(inbox.block_to_all(), sent, group.messages().quiet));
  inbox.publish_to_all(Carried::in_slot, sent.bytes());
  if (!call.in_place) {
    keep(first_error, error_if_long(mine.bytes(), recv[group.me].bytes(), call.collective));
    keep(first_error, copy_own(mine, recv[group.me], group));
  }
  for (int step = 1; step < group.ranks; ++step) {
    const int from = (group.me - step + group.ranks) % group.ranks;
    const Slot& slot = inbox.await_out(from, group.waiter);
    const Block block = recv[from];
    keep(first_error, unpack_block(Inbox::block_of(slot), slot.bytes, block, group.messages().quiet));
    keep(first_error, error_if_long(slot.bytes, block.bytes(), call.collective));
  }
  return first_error;
}

// A peer sent more than this rank expects, by another way than its slot: takes what hangs the peer. Or it had no memory
// to send.
void refuse(int from, const Slot& slot, Group& group) {
  if (slot.carried == Carried::in_ring) {
    memory::Ring ring = group.pairs.ring(group.me, from);
    for (std::size_t left = slot.bytes; left > 0;) {
      group.waiter.until([&] {
        const std::size_t dropped = ring.pop(nullptr, left);
        left -= dropped;
        return dropped > 0;
      });
    }
  } else if (slot.carried == Carried::as_message) {
    MpiTransport transport(group.messages().comm, group.me);
    bool done = true;
    transport.start_dropping(0, from, slot.bytes);
    transport.all_done(1, true, done);
  }
}

template <class Side>
std::byte* place_of(const Side& side, int block, std::size_t size) {
  return side.base + side.displacements[block] * static_cast<std::ptrdiff_t>(size);
}
template <class Side>
std::size_t bytes_in(const Side& side, int block, std::size_t size) {
  return static_cast<std::size_t>(side.counts[block]) * size;
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

int run_inbox_gather(const std::byte* send, std::byte* recv, std::size_t bytes, Group& group) {
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
    if (slot.bytes > bytes) error = error_if_long(slot.bytes, bytes, Collective::allgather);
  }
  return error;
}

template <class Count, class Displacement>
int run_inbox_gatherv(const std::byte* send, const VectorSide<Count, Displacement>& recv, std::size_t size,
                      Group& group) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  const std::size_t mine = bytes_in(recv, me, size);
  inbox.begin_out();
  Inbox::fill(inbox.block_to_all(), send, mine);
  inbox.publish_to_all(Carried::in_slot, mine);
  if (std::byte* own = place_of(recv, me, size); own != send) memory::copy_bytes(own, send, mine);
  int error = MPI_SUCCESS;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const Slot& slot = inbox.await_out(from, group.waiter);
    const std::size_t bytes = bytes_in(recv, from, size);
    memory::copy_bytes(place_of(recv, from, size), Inbox::block_of(slot), std::min<std::size_t>(bytes, slot.bytes));
    if (slot.bytes > bytes) error = error_if_long(slot.bytes, bytes, Collective::allgather);
  }
  return error;
}

template <class Count, class Displacement>
int run_inbox_vector(const VectorSide<Count, Displacement>& send, const VectorSide<Count, Displacement>& recv,
                     std::size_t size, Group& group, bool by_pairs) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  inbox.begin();
  if (by_pairs) group.pairs.begin();
  for (int step = 1, to = me; step < ranks; ++step) {
    if (++to == ranks) to = 0;
    const std::size_t bytes = bytes_in(send, to, size);
    Inbox::fill(inbox.block_to(to), place_of(send, to, size), bytes);
    inbox.publish(to, Carried::in_slot, bytes);
  }
  memory::copy_bytes(place_of(recv, me, size), place_of(send, me, size), bytes_in(recv, me, size));
  int error = MPI_SUCCESS;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const Slot& slot = inbox.await(from, group.waiter);
    const std::size_t bytes = bytes_in(recv, from, size);
    if (slot.bytes > bytes) error = MPI_ERR_TRUNCATE;
    if (slot.carried == Carried::in_slot) {
      memory::copy_bytes(place_of(recv, from, size), Inbox::block_of(slot), std::min<std::size_t>(bytes, slot.bytes));
    } else {
      if (slot.carried == Carried::refused) error = MPI_ERR_NO_MEM;
      refuse(from, slot, group);
    }
  }
  if (by_pairs) group.pairs.finish(memory::Fenced::nothing_streamed());
  return error;
}

using IntSide = VectorSide<int, int>;
using LargeSide = VectorSide<MPI_Count, MPI_Aint>;
template int run_inbox_vector(const IntSide&, const IntSide&, std::size_t, Group&, bool);
template int run_inbox_vector(const LargeSide&, const LargeSide&, std::size_t, Group&, bool);
template int run_inbox_gatherv(const std::byte*, const IntSide&, std::size_t, Group&);
template int run_inbox_gatherv(const std::byte*, const LargeSide&, std::size_t, Group&);

int run_inbox(const Call& call, Group& group) {
  const bool gather = is_allgather(call.collective);
  if (is_regular(call.collective)) {
    const Side& send_side = call.in_place ? call.recv : call.send;
    const TypeInfo send = type_info(send_side.type), recv = type_info(call.recv.type);
    const std::size_t bytes = call.recv.count * recv.size;
    // All ranks take this way or the other by themselves: they look the same from outside.
    if (send.dense && recv.dense && send_side.count * send.size == bytes && bytes <= group.reach().slot_limit) {
      if (!gather) return run_inbox_bytes(send_side.base, call.recv.base, bytes, group);
      const std::size_t own = call.in_place ? static_cast<std::size_t>(group.me) * bytes : 0;
      return run_inbox_gather(send_side.base + own, call.recv.base, bytes, group);
    }
  }
  return gather ? allgather(call, group) : run_node(call, group, false);
}

}  // namespace quadrille::run
