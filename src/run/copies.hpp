// The copies between the buffers of a node's ranks, for dense and for neighbour collectives.
//
// Idea    Each rank writes down where all its send and recv blocks are (run/shared_blocks.hpp), and says that it
//         is there (memory/meeting.hpp). When all are, each does its copies, whoever owns the blocks. Nobody leaves
//         before all are done: anybody may still read its send blocks or write its recv blocks.
// Source  Li, Zhang and Hoefler, sections 2 and 3; Ramesh et al. (HINT), section V, algorithm 3.
// Cost    A copy a block and two waits for all. Blocks that not all ranks reach where they are, have gaps, or are
//         sent in place are copied once more by their owner, before or after.
//
// Two things may go wrong at run time, and then all ranks do the call in another way instead. A rank cannot share a
// block (its heap is full), or has no memory for copies, or more to copy than it may: it says so when it enters. Or it
// cannot attach a block of another: it says so when it has finished. All ranks wait for all at both points anyway, and
// read what they say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/schedule.hpp"
#include "run/blocks.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/shared_blocks.hpp"

namespace quadrille::run {

// Calls in flight together must not share these. Blocking calls use those of the group.
struct CopyMeans {
  memory::Pairs& pairs;
  memory::Packing& packing;
  memory::CopyPlan& copying;
  std::vector<std::size_t>& came;  // [recv block]: bytes, if some blocks must be unpacked
};
inline CopyMeans means_of(Group& group) {
  return {group.pairs, group.scratch.packing, group.copying, group.scratch.came};
}

// `Shape` says which blocks there are:
//   sends(), recvs()                     how many blocks of this rank are in it
//   send_block(i), recv_block(i)         their numbers in the user's arrays
//   origin(i)                            whose send block, and which, recv block i is to hold
//   copies()                             what this rank copies
//   open()                               makes room for this rank's places; false if that cannot be shared
//   put(which, block, place)             writes down where a block of this rank is
//   close()                              after all of them
//   look_up(which, owner, block, place)  where a block of any rank of the node is; false if that cannot be attached
template <class Shape>
class Copies : CallBlocks {
 public:
  // `most_staged`: so many bytes this rank may copy before and after. All of these must outlive it.
  Copies(const Call& call, Shape& shape, SharedBlocks& shared, Group& group, const CopyMeans& means,
         std::size_t most_staged = SIZE_MAX)
      : CallBlocks(call, group),
        shape_(shape),
        shared_(shared),
        means_(means),
        meeting_(means.pairs.meeting()),
        send_room_(means.packing.send),
        recv_room_(means.packing.recv) {
    const std::size_t sent = bytes_to_stage(), received = bytes_to_unpack();
    const bool is_little = sent <= most_staged && received <= most_staged - sent;
    // Without room nothing is thrown: the others wait for this rank to enter.
    has_room_ = is_little && send_room_.reserve(sent) && recv_room_.reserve(received);
  }

  // False if not all blocks can be reached; then nothing has happened to what the call reads.
  bool run(int& error) {
    begin();
    while (!done()) group_.waiter.until([&] { return advance(); });
    error = error_;
    return copied_;
  }

  // The same in steps that never wait: begin(), then advance() until it is done().
  void begin() {
    meeting_.begin();
    const bool good = write_down();
    meeting_.come(good, shared_.offer());  // of what was written down
    phase_ = Phase::entering;
  }
  // True if it got further.
  bool advance() {
    const bool moved = meeting_.advance();
    if (!meeting_.met()) return moved;
    if (phase_ == Phase::entering) {
      copy_blocks();
      phase_ = Phase::finishing;
      meeting_.advance();
      if (!meeting_.met()) return true;
    }
    copied_ = meeting_.all_say_so();
    leave();
    return true;
  }
  bool done() const { return phase_ == Phase::over; }
  // When it is done: could all blocks be reached, and an MPI error code.
  bool copied() const { return copied_; }
  int error() const { return error_; }

 private:
  enum class Phase : std::uint8_t { over, entering, finishing };

  void copy_blocks() {
    shared_all_ = meeting_.all_say_so();
    memory::NodeCopy copy(means_.copying, shared_all_ ? total_ : 0);
    const bool copied = shared_all_ && copy_all(copy) && look_what_came();
    meeting_.finish(copied, copy.done());
  }
  void leave() {
    phase_ = Phase::over;
    if (copied_) {
      take_home();
    } else if (shared_all_ && overwritten_) {
      restore();
    }
  }
  bool is_shared(const Block& block) const {
    return block.info.dense && shared_.reachable(block.address, block.bytes());
  }

  std::size_t bytes_to_stage() const {
    std::size_t total = 0;
    for (int i = 0; i < shape_.sends(); ++i) {
      const Block block = block_for(shape_.send_block(i));
      if (overwritten_ || !is_shared(block)) total += block.bytes();
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

  // Writes down where this rank's blocks are. False if one of them cannot be shared.
  bool write_down() {
    if (!has_room_ || !shape_.open()) return false;
    bool good = true;
    const auto put = [&](Owned which, int block, const std::byte* bytes, std::size_t size) {
      BlockPlace place;
      good = shared_.publish(place, bytes, size) && good;
      shape_.put(which, block, place);
    };
    for (int i = 0; i < shape_.sends(); ++i) {
      const int number = shape_.send_block(i);
      const Block block = block_for(number);
      const bool is_staged = overwritten_ || !is_shared(block);
      put(Owned::send, number, is_staged ? packed(block, send_room_) : block.address, block.bytes());
    }
    for (int i = 0; i < shape_.recvs(); ++i) {
      const int number = shape_.recv_block(i);
      const Block block = recv_[number];
      put(Owned::recv, number, is_shared(block) ? block.address : recv_room_.take(block.bytes()), block.bytes());
      total_ += block.bytes();
      least_expected_ = std::min(least_expected_, block.bytes());
    }
    shape_.close();
    return good;
  }

  // False as soon as a block cannot be attached.
  bool copy_all(memory::NodeCopy& copy) {
    const auto& copies = shape_.copies();
    return std::all_of(copies.begin(), copies.end(), [&](const plan::Copy& c) { return copy_one(c, copy); });
  }

  bool copy_one(const plan::Copy& c, memory::NodeCopy& copy) {
    BlockPlace from, to;
    if (!shape_.look_up(Owned::send, c.from.owner, gather_ ? 0 : c.from.block, from)) return false;
    if (!shape_.look_up(Owned::recv, c.to.owner, c.to.block, to)) return false;
    const std::size_t bytes = std::min<std::size_t>(from.bytes, to.bytes);
    if (bytes == 0) return true;
    const std::byte* source = shared_.find(c.from.owner, from, bytes);
    std::byte* destination = shared_.find(c.to.owner, to, bytes);
    if (source == nullptr || destination == nullptr) return false;
    if (source != destination) copy(destination, source, bytes);
    return true;
  }

  // What peers sent to this rank: to be read before it finishes, for then they may take their places away. False if
  // they cannot be attached. Each is looked at only if it must be unpacked, or may be too long.
  bool look_what_came() {
    means_.came.clear();
    if (recv_room_.size() == 0 && meeting_.longest_sent() <= least_expected_) return true;
    for (int i = 0; i < shape_.recvs(); ++i) {
      const auto [source, sent_block] = shape_.origin(i);
      BlockPlace sent;
      if (!shape_.look_up(Owned::send, source, sent_block, sent)) return false;
      const std::size_t fits = fitting(sent.bytes, recv_[shape_.recv_block(i)].bytes());
      if (recv_room_.size() > 0) means_.came.push_back(fits);
    }
    return true;
  }

  // What only the owner of a recv buffer can do.
  void take_home() {
    if (recv_room_.size() == 0) return;
    for (int i = 0; i < shape_.recvs(); ++i) {
      const int number = shape_.recv_block(i);
      const Block block = recv_[number];
      if (is_shared(block) || block.bytes() == 0) continue;
      // It is there, and may be on its way to other nodes.
      if (gather_ && call_.in_place && number == group_.me) continue;
      const std::byte* bytes = bytes_of_mine(Owned::recv, number);
      keep(error_, unpack_block(bytes, means_.came[static_cast<std::size_t>(i)], block, group_.messages().quiet));
    }
  }

  // Some blocks were received over what was to be sent, and the call is done anew: puts back what was there.
  void restore() {
    for (int i = 0; i < shape_.sends(); ++i) {
      const int number = shape_.send_block(i);
      const Block block = block_for(number);
      if (block.bytes() == 0 || !is_shared(block)) continue;
      const std::byte* bytes = bytes_of_mine(Owned::send, number);
      keep(error_, unpack_block(bytes, block.bytes(), block, group_.messages().quiet));
    }
  }

  const std::byte* bytes_of_mine(Owned which, int block) const {
    BlockPlace place{};
    shape_.look_up(which, group_.me, block, place);  // what is its own a rank always reaches
    return SharedBlocks::mine(place);
  }

  Shape& shape_;
  SharedBlocks& shared_;
  const CopyMeans means_;
  memory::Meeting& meeting_;
  Room send_room_, recv_room_;
  Phase phase_ = Phase::over;
  bool shared_all_ = false;                            // all can share their blocks
  bool copied_ = false;                                // and all have copied theirs
  bool has_room_ = false;                              // there is memory for them, and they are not too large
  std::size_t total_ = 0, least_expected_ = SIZE_MAX;  // bytes of recv blocks
};

}  // namespace quadrille::run
