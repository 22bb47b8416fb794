// The copies between the buffers of a node's ranks, for dense and for neighbour collectives.
//
// Idea    Each rank writes down where all its send and recv blocks are, as offsets in its shared heap, and
//         says that it is there. When all are, each does its copies, whoever owns the blocks. Nobody leaves
//         before all are done: anybody may still read its send blocks or write its recv blocks.
// Source  Li, Zhang and Hoefler, sections 2 and 3; Ramesh et al. (HINT), section V.
// Cost    A copy a block and two waits for all. Blocks that are not in the shared heap, have gaps, or are sent
//         in place are copied once more by their owner, before or after.
//
// If a rank finds at run time that it cannot share a block (its heap is full), it says so when it enters.
// All ranks read that, and all do the call in another way instead.
#pragma once

#include <algorithm>

#include "memory/heap.hpp"
#include "plan/schedule.hpp"
#include "run/blocks.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/room.hpp"

namespace quadrille::run {

using memory::BlockPlace;
using Owned = memory::Pairs::Owned;

// A rank's shared heap, as it is mapped here.
inline std::byte* heap_of(const Group& group, int rank) {
  return rank == group.me ? memory::heap_base() : group.peers[static_cast<std::size_t>(rank)].heap;
}

// `Shape` says which blocks there are:
//   sends(), recvs()                     how many blocks of this rank are in it
//   send_block(i), recv_block(i)         their numbers in the user's arrays
//   origin(i)                            whose send block, and which, recv block i is to hold
//   copies()                             what this rank copies
//   open()                               makes room for this rank's places; false if that cannot be shared
//   places(which, owner)                 the places of a rank's blocks, by their numbers
template <class Shape>
class Copies {
 public:
  Copies(const Call& call, Shape& shape, Group& group)
      : call_(call),
        shape_(shape),
        group_(group),
        gather_(is_allgather(call.collective)),
        send_(call.in_place ? call.recv : call.send),
        recv_(call.recv),
        send_room_(group.packed_send, bytes_to_stage()),
        recv_room_(group.packed_recv, bytes_to_unpack()) {}

  // False if not all blocks can be shared; then nothing has happened.
  bool run(int& error) {
    group_.pairs.begin();
    const bool mine = write_down();
    group_.pairs.enter(mine);
    bool all = mine;
    for (int peer = 0; peer < group_.ranks; ++peer) {
      if (peer == group_.me) continue;
      group_.waiter.until([&] { return group_.pairs.has_entered(peer); });
      all = all && group_.pairs.can_share(peer);
    }
    if (all) copy_all();
    group_.pairs.finish();
    for (int peer = 0; peer < group_.ranks; ++peer) {
      if (peer == group_.me) continue;
      group_.waiter.until([&] { return group_.pairs.has_finished(peer); });
    }
    if (!all) return false;
    take_home();
    error = error_;
    return true;
  }

 private:
  Block send_at(int to) const {
    return gather_ && call_.in_place ? recv_[group_.me] : send_[to];
  }
  bool overwritten() const { return call_.in_place && !gather_; }
  static bool is_shared(const Block& block) {
    return block.info.dense && (block.bytes() == 0 ||
                                memory::heap_shareable(block.address, block.bytes()));
  }

  std::size_t bytes_to_stage() const {
    std::size_t total = 0;
    for (int i = 0; i < shape_.sends(); ++i) {
      const Block block = send_at(shape_.send_block(i));
      if (overwritten() || !is_shared(block)) total += block.bytes();
    }
    return total;
  }
  std::size_t bytes_to_unpack() const {
    std::size_t total = 0;
    for (int i = 0; i < shape_.recvs(); ++i) {
      if (const Block block = recv_[shape_.recv_block(i)]; !is_shared(block)) total += block.bytes();
    }
    return total;
  }

  // Publishes where this rank's blocks are. False if one of them cannot be shared.
  bool write_down() {
    if (!shape_.open()) return false;
    BlockPlace* send = shape_.places(Owned::send, group_.me);
    BlockPlace* recv = shape_.places(Owned::recv, group_.me);
    bool good = true;
    for (int i = 0; i < shape_.sends(); ++i) {
      const Block block = send_at(shape_.send_block(i));
      std::byte* bytes = block.address;
      if (overwritten() || !is_shared(block)) {
        bytes = send_room_.take(block.bytes());
        keep(error_, pack(block.address, block.count, block.type, block.info, bytes, group_.quiet));
      }
      good = publish(send[shape_.send_block(i)], bytes, block.bytes()) && good;
    }
    for (int i = 0; i < shape_.recvs(); ++i) {
      const Block block = recv_[shape_.recv_block(i)];
      std::byte* bytes = is_shared(block) ? block.address : recv_room_.take(block.bytes());
      good = publish(recv[shape_.recv_block(i)], bytes, block.bytes()) && good;
      total_ += block.bytes();
    }
    return good;
  }

  static bool publish(BlockPlace& place, const std::byte* address, std::size_t bytes) {
    place = {0, bytes};
    if (bytes == 0) return true;
    if (!memory::heap_shareable(address, bytes)) return false;
    place.at = memory::heap_offset(address);
    return true;
  }

  std::byte* address_of(int rank, const BlockPlace& place) const {
    return heap_of(group_, rank) + place.at;
  }

  void copy_all() {
    memory::NodeCopy copy(group_.copying, total_);
    for (const plan::Copy& c : shape_.copies()) {
      const BlockPlace& from = shape_.places(Owned::send, c.from.owner)[gather_ ? 0 : c.from.block];
      const BlockPlace& to = shape_.places(Owned::recv, c.to.owner)[c.to.block];
      const std::size_t bytes = std::min(from.bytes, to.bytes);
      if (bytes == 0) continue;
      const std::byte* source = address_of(c.from.owner, from);
      std::byte* destination = address_of(c.to.owner, to);
      if (source != destination) copy(destination, source, bytes);
    }
    copy.done();
  }

  // What only the owner of a recv buffer can do.
  void take_home() {
    const BlockPlace* places = shape_.places(Owned::recv, group_.me);
    for (int i = 0; i < shape_.recvs(); ++i) {
      const int number = shape_.recv_block(i);
      const Block block = recv_[number];
      const auto [source, sent_block] = shape_.origin(i);
      const BlockPlace& sent = shape_.places(Owned::send, source)[sent_block];
      // A peer that sent more than we expect made a mistake that the MPI reports as well.
      if (sent.bytes > block.bytes()) keep(error_, MPI_ERR_TRUNCATE);
      if (is_shared(block) || block.bytes() == 0) continue;
      keep(error_, unpack_block(address_of(group_.me, places[number]),
                                std::min(sent.bytes, block.bytes()), block, group_.quiet));
    }
  }

  const Call& call_;
  Shape& shape_;
  Group& group_;
  const bool gather_;
  const Blocks send_, recv_;
  Room send_room_, recv_room_;
  std::size_t total_ = 0;
  int error_ = MPI_SUCCESS;
};

}  // namespace quadrille::run
