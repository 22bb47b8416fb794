// Small blocks through shared memory; see memory/control_memory.hpp for the protocol.
#include <algorithm>

#include "run/blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::run {
namespace {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

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

void copy(std::byte* to, const Slot& slot, std::size_t bytes) {
  memory::copy_bytes(to, Inbox::block_of(slot), std::min<std::size_t>(bytes, slot.bytes));
}

// Both kept free of all that they do not need. In place, all blocks are in their slots before the first is overwritten.
template <class Side>
[[gnu::always_inline]] inline void write_to_each(const Side& send, const Side& recv, int me, int ranks, Inbox& inbox) {
  inbox.begin();
  for (int step = 1, to = me; step < ranks; ++step) {
    if (++to == ranks) to = 0;
    const std::size_t bytes = send.bytes(to);
    Inbox::fill(inbox.block_to(to), send.place(to), bytes);
    inbox.publish(to, Carried::in_slot, bytes);
  }
  if (send.place(me) != recv.place(me)) memory::copy_bytes(recv.place(me), send.place(me), send.bytes(me));
}

template <class Side>
[[gnu::always_inline]] inline void write_to_all(const std::byte* send, const Side& recv, int me, Inbox& inbox) {
  const std::size_t mine = recv.bytes(me);
  inbox.begin_out();
  Inbox::fill(inbox.block_to_all(), send, mine);
  inbox.publish_to_all(Carried::in_slot, mine);
  if (std::byte* own = recv.place(me); own != send) memory::copy_bytes(own, send, mine);
}

}  // namespace

// ---- Calls that wait ----

template <class Side>
int run_inbox_alltoall(const Side& send, const Side& recv, Group& group, bool by_pairs) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  const bool goes_by_pairs = !Side::all_know_sizes && by_pairs;
  if (goes_by_pairs) group.pairs.begin();
  write_to_each(send, recv, me, ranks, inbox);
  int error = mpi_success;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const std::size_t bytes = recv.bytes(from);
    const Slot& slot = inbox.await(from, bytes, group.waiter);
    if (slot.bytes > bytes) [[unlikely]]
      error = mpi().err_truncate;
    if (Side::all_know_sizes || slot.carried == Carried::in_slot) {
      copy(recv.place(from), slot, bytes);
    } else {
      if (slot.carried == Carried::refused) error = mpi().err_no_mem;
      refuse(from, slot, group);
    }
  }
  if (goes_by_pairs) group.pairs.finish(memory::Fenced::nothing_streamed());
  return error;
}

template <class Side>
int run_inbox_allgather(const std::byte* send, const Side& recv, Group& group) {
  Inbox& inbox = group.inbox;
  const int ranks = group.ranks, me = group.me;
  write_to_all(send, recv, me, inbox);
  int error = mpi_success;
  for (int step = 1, from = me; step < ranks; ++step) {
    from = (from == 0 ? ranks : from) - 1;
    const std::size_t bytes = recv.bytes(from);
    const Slot& slot = inbox.await_out(from, bytes, group.waiter);
    copy(recv.place(from), slot, bytes);
    if (slot.bytes > bytes) error = error_if_long(slot.bytes, bytes, Collective::allgather);
  }
  return error;
}

using IntSide = VectorSide<int, int>;
using LargeSide = VectorSide<MpiCount, MpiAint>;
template int run_inbox_alltoall(const EqualSide&, const EqualSide&, Group&, bool);
template int run_inbox_alltoall(const IntSide&, const IntSide&, Group&, bool);
template int run_inbox_alltoall(const LargeSide&, const LargeSide&, Group&, bool);
template int run_inbox_allgather(const std::byte*, const EqualSide&, Group&);
template int run_inbox_allgather(const std::byte*, const IntSide&, Group&);
template int run_inbox_allgather(const std::byte*, const LargeSide&, Group&);

int run_inbox(const Call& call, Group& group) {
  // All ranks take this way or the other by themselves: they look the same from outside.
  if (is_plain(call)) {
    const std::size_t bytes = call.recv.count * type_info(call.recv.type).size;
    const EqualSide recv{call.recv.base, bytes}, send{call.in_place ? call.recv.base : call.send.base, bytes};
    if (bytes <= group.reach().slot_limit) {
      if (!is_allgather(call.collective)) return run_inbox_alltoall(send, recv, group);
      return run_inbox_allgather(call.in_place ? recv.place(group.me) : send.base, recv, group);
    }
  }
  return run_node(call, group, false);
}

// ---- Calls that were started ----

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
  const EqualSide recv{call_.recv.base, bytes_}, send{call_.in_place ? recv.base : call_.send.base, bytes_};
  if (gather_) {
    write_to_all(call_.in_place ? recv.place(group_->me) : send.base, recv, group_->me, *inbox_);
  } else {
    write_to_each(send, recv, group_->me, group_->ranks, *inbox_);
  }
  return mpi_success;
}

int InboxRun::advance() {
  if (done()) return mpi_success;
  const EqualSide recv{call_.recv.base, bytes_};
  for (; next_ < group_->ranks; ++next_) {
    const int from = group_->me >= next_ ? group_->me - next_ : group_->me - next_ + group_->ranks;
    const Slot* slot = gather_ ? inbox_->look_out(from, bytes_) : inbox_->look(from, bytes_);
    if (slot == nullptr) return mpi_success;
    copy(recv.place(from), *slot, bytes_);
    keep(error_, error_if_long(slot->bytes, bytes_, call_.collective));
  }
  next_ = 0;
  return error_;
}

}  // namespace quadrille::run
