// Small blocks through shared memory; see memory/inbox.hpp for the protocol.
#include <algorithm>
#include <optional>
#include <vector>

#include "memory/copy.hpp"
#include "run/engines.hpp"
#include "run/mpi_transport.hpp"

namespace quadrille::run {
namespace {

using memory::Carried;
using memory::Inbox;
using memory::Slot;

// Keeps the first error. Peers wait for us, so an error never ends the traversal.
void keep(int& first, int error) {
  if (first == MPI_SUCCESS) first = error;
}

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

// The blocks of one side of a call. For uniform calls the type is looked up once.
class Blocks {
 public:
  Blocks(const Side& side) : side_(side), uniform_(side.types == nullptr) {
    if (uniform_) first_ = block_of(side, 0);
    if (uniform_) info_ = first_.info;
  }
  Block operator[](int index) const {
    if (!uniform_) return block_of(side_, index);
    Block b;
    b.type = side_.type;
    b.info = info_;
    b.count = static_cast<std::size_t>(side_.count_of(index));
    b.address = side_.base + side_.displacement_of(index, side_.count) * info_.extent;
    return b;
  }

 private:
  const Side& side_;
  bool uniform_;
  Block first_;
  TypeInfo info_;
};

// Messages for the blocks that do not fit a slot; made only if there are any.
class LargeBlocks {
 public:
  explicit LargeBlocks(Group& group) : transport_(group.comm, group.me) {}
  int send(int peer, const Place& place) {
    return transport_.start_send(slots_++, peer, {&place, 1});
  }
  int receive(int peer, const Place& place) {
    return transport_.start_receive(slots_++, peer, {&place, 1});
  }
  int finish() {
    bool done = true;
    return slots_ == 0 ? MPI_SUCCESS : transport_.all_done(slots_, true, done);
  }

 private:
  MpiTransport transport_;
  std::size_t slots_ = 0;
};

int fill(std::byte* slot, const Block& block, MPI_Comm comm) {
  if (block.info.dense) {
    Inbox::fill(slot, block.address, block.bytes());
    return MPI_SUCCESS;
  }
  return pack(block.address, block.count, block.type, block.info, slot, comm);
}

// Takes a block out of a slot. A peer that sent more than we expect made a mistake that the MPI
// reports; one that sent less fills what it can.
int empty(const Slot& slot, const Block& block, MPI_Comm comm) {
  const std::size_t fits = block.info.size == 0 ? 0 : slot.bytes / block.info.size;
  const int error = unpack(Inbox::block_of(slot), block.address, std::min(block.count, fits),
                           block.type, block.info, comm);
  return slot.bytes > block.bytes() ? MPI_ERR_TRUNCATE : error;
}

int copy_own(const Block& from, const Block& to, Group& group) {
  if (from.bytes() == 0) return MPI_SUCCESS;
  return MpiTransport(group.comm, group.me).copy(typed_place(from), typed_place(to));
}

// In place, a block that travels as a message is received over while it is being sent: it is sent from
// a copy. Typed blocks are received packed then, because they are sent packed: MPICH cuts a large
// packed message anywhere and refuses to unpack part of an element.
class InPlace {
 public:
  InPlace(const Blocks& blocks, Group& group) : group_(group) {
    std::size_t total = 0;
    for (int peer = 0; peer < group.ranks; ++peer) {
      const std::size_t bytes = blocks[peer].bytes();
      if (peer != group.me && bytes > group.inbox_limit) total += bytes;
    }
    if (total == 0) return;
    send_room_ = group.packed_send.take(total);
    recv_room_ = group.packed_recv.take(total);
  }
  int send(int to, const Block& block, LargeBlocks& large) {
    const int error = fill(send_room_, block, group_.comm);
    const int sent = large.send(to, next(send_room_, block));
    return error != MPI_SUCCESS ? error : sent;
  }
  int receive(int from, const Block& block, LargeBlocks& large) {
    const std::size_t bytes = block.bytes();
    if (block.info.dense) return large.receive(from, {block.address, bytes, bytes, 0, true});
    if (bytes <= group_.inbox_limit) return large.receive(from, typed_place(block));
    waiting_.push_back({block, recv_room_});
    return large.receive(from, next(recv_room_, block));
  }
  // After all messages are complete.
  int unpack_received() {
    int error = MPI_SUCCESS;
    for (const Waiting& w : waiting_) {
      keep(error, unpack(w.bytes, w.block.address, w.block.count, w.block.type, w.block.info,
                         group_.comm));
    }
    group_.packed_send.trim();
    group_.packed_recv.trim();
    return error;
  }

 private:
  struct Waiting {
    Block block;
    const std::byte* bytes;
  };
  static Place next(std::byte*& room, const Block& block) {
    const Place place{room, block.bytes(), block.bytes(), 0, true};
    room += block.bytes();
    return place;
  }
  Group& group_;
  std::byte* send_room_ = nullptr;
  std::byte* recv_room_ = nullptr;
  std::vector<Waiting> waiting_;
};

int alltoall(const Call& call, Group& group) {
  Inbox& inbox = group.inbox;
  LargeBlocks large(group);
  int first_error = MPI_SUCCESS;
  const Blocks send(call.in_place ? call.recv : call.send), recv(call.recv);
  std::optional<InPlace> in_place;
  if (call.in_place) in_place.emplace(send, group);
  inbox.begin();
  for (int step = 1; step < group.ranks; ++step) {
    const int to = (group.me + step) % group.ranks;
    const Block block = send[to];
    if (block.bytes() <= group.inbox_limit) {
      keep(first_error, fill(inbox.block_to(to), block, group.comm));
      inbox.publish(to, Carried::in_slot, block.bytes());
    } else {
      inbox.publish(to, Carried::as_message, block.bytes());
      keep(first_error, in_place ? in_place->send(to, block, large)
                                 : large.send(to, typed_place(block)));
    }
  }
  if (!call.in_place) keep(first_error, copy_own(send[group.me], recv[group.me], group));
  for (int step = 1; step < group.ranks; ++step) {
    const int from = (group.me - step + group.ranks) % group.ranks;
    const Slot& slot = inbox.await(from, group.waiter);
    const Block block = recv[from];
    if (slot.carried == Carried::in_slot) {
      keep(first_error, empty(slot, block, group.comm));
    } else {
      keep(first_error, in_place ? in_place->receive(from, block, large)
                                 : large.receive(from, typed_place(block)));
    }
  }
  keep(first_error, large.finish());
  if (in_place) keep(first_error, in_place->unpack_received());
  return first_error;
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
  keep(first_error, fits ? fill(inbox.block_to_all(), mine, group.comm) : MPI_ERR_TRUNCATE);
  inbox.publish_to_all(Carried::in_slot, fits ? mine.bytes() : 0);
  if (!call.in_place && fits) keep(first_error, copy_own(mine, recv[group.me], group));
  for (int step = 1; step < group.ranks; ++step) {
    const int from = (group.me - step + group.ranks) % group.ranks;
    keep(first_error, empty(inbox.await_out(from, group.waiter), recv[from], group.comm));
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
  return gather ? allgather(call, group) : alltoall(call, group);
}

}  // namespace quadrille::run
