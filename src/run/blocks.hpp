// The blocks of a call, and moving one block in and out of consecutive bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "memory/control_memory.hpp"
#include "memory/pool.hpp"
#include "mpi/mpi.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// A rank without memory says no where the others wait for what it says.
template <class Work>
bool unless_out_of_memory(const Work& work) {
  bool good = false;
  return thrown_by([&] { good = work(); }) == mpi_success && good;
}

// What becomes of a block for which the receiver gave less than `sent` bytes, a mistake of the program: an error where
// the MPI reports one, too.
inline int error_if_long(std::size_t sent, std::size_t given, Collective collective) {
  if (sent <= given) return mpi_success;
  const bool cuts =
      is_neighbor(collective) ? mpi().cuts_long_neighbors : is_allgather(collective) && mpi().cuts_long_gathers;
  return cuts ? mpi_success : mpi().err_truncate;
}

// The first elements of a block, of at most so many bytes.
inline Block first_part(Block block, std::size_t bytes) {
  if (block.bytes() > bytes) block.count = bytes / block.info.size;
  return block;
}

// A block as a place with its own type. A dense block keeps its type too: the other side may be typed
// with gaps, and MPICH unpacks large packed messages into types of several basic types only in part.
inline Place typed_place(const Block& block) {
  return {block.address, block.count, block.bytes(), block.type.word, block.info.dense};
}
// The same with its data packed at `bytes`.
inline Place packed_place(const Block& block, std::byte* bytes) {
  return {.address = bytes, .count = block.bytes(), .bytes = block.bytes()};
}

// The blocks of one side of a call. A type is looked up once, as long as the same type follows.
class Blocks {
 public:
  explicit Blocks(const Side& side) : side_(side), one_type_(!side.types) {
    if (one_type_ && side.type != mpi().datatype_null) look_up(side.type);  // null: there are no blocks
  }
  Block operator[](int index) const {
    know_type_of(index);
    Block b;
    b.type = type_;
    b.info = info_;
    b.count = static_cast<std::size_t>(side_.count_of(index));
    b.address = side_.base + side_.displacement_of(index, side_.count) * (one_type_ ? info_.extent : 1);
    return b;
  }
  std::size_t bytes_of(int index) const {
    know_type_of(index);
    return static_cast<std::size_t>(side_.count_of(index)) * info_.size;
  }
  bool is_dense(int index) const {
    know_type_of(index);
    return info_.dense;
  }
  // True if all blocks are certain to be of one size.
  bool equal() const { return one_type_ && side_.counts == nullptr && side_.counts_large == nullptr; }
  // True if no block can have gaps.
  bool all_dense() const { return one_type_ && info_.dense; }

 private:
  // Types of blocks that do not count may be anything, also freed.
  void know_type_of(int index) const {
    if (one_type_) return;
    const MpiType type = side_.count_of(index) == 0 ? mpi().byte : side_.types[index];
    if (type != type_) look_up(type);
  }
  void look_up(MpiType type) const {
    type_ = type;
    info_ = type_info(type);
  }

  const Side& side_;
  bool one_type_;
  mutable MpiType type_{};  // zero before the first look-up: no datatype has this handle
  mutable TypeInfo info_;
};

// Memory for packed blocks of a call, one behind the other.
class Room {
 public:
  // `trims`: gives large memory back at its end.
  explicit Room(memory::Pool& pool, bool trims = true) : pool_(pool), trims_(trims) {}
  ~Room() {
    if (trims_) pool_.trim();
  }
  Room& operator=(Room&&) = delete;
  // Once: makes it so large. False if there is no memory.
  bool reserve(std::size_t bytes) {
    if (bytes > 0 && thrown_by([&] { next_ = pool_.take(bytes); }) != mpi_success) return false;
    size_ = bytes;
    return true;
  }
  std::size_t size() const { return size_; }
  // Nothing is taken of it.
  void begin_again() {
    next_ -= taken_;
    taken_ = 0;
  }
  // More than was reserved ends the program: what follows would be written over memory of the program.
  std::byte* take(std::size_t bytes) {
    if (bytes > size_ - taken_) overdrawn(bytes);
    std::byte* room = next_;
    next_ += bytes;
    taken_ += bytes;
    return room;
  }

 private:
  [[noreturn]] void overdrawn(std::size_t bytes) const {
    std::fprintf(stderr,
                 "quadrille: internal error: room for %zu bytes was reserved, %zu are taken, and %zu more are asked "
                 "for; please report this\n",
                 size_, taken_, bytes);
    std::abort();
  }

  memory::Pool& pool_;
  const bool trims_;
  std::size_t size_ = 0, taken_ = 0;
  std::byte* next_ = nullptr;
};

// Both sides of a call on this rank, for the class that carries the call out. Call and group must outlive it.
class CallBlocks {
 public:
  CallBlocks& operator=(CallBlocks&&) = delete;

 protected:
  CallBlocks(const Call& call, Group& group)
      : call_(call),
        group_(group),
        gather_(is_allgather(call.collective)),
        overwritten_(call.in_place && !gather_),
        send_(call.in_place ? call.recv : call.send),
        recv_(call.recv) {}
  ~CallBlocks() = default;
  int sends() const { return gather_ ? 1 : group_.ranks; }
  // What goes to this rank; of an allgather, to all.
  Block block_for(int to) const {
    if (!gather_) return send_[to];
    return call_.in_place ? recv_[group_.me] : send_[0];
  }
  // How many of the `sent` bytes fit a block of `room` bytes. A peer that sent more made a mistake that the MPI reports
  // as well.
  std::size_t fitting(std::size_t sent, std::size_t room) {
    keep(error_, error_if_long(sent, room, call_.collective));
    return std::min(sent, room);
  }
  // Blocks to and from consecutive bytes; of bytes as many as whole elements and the block's size allow. What goes
  // wrong is kept.
  void pack_block(const Block& block, std::byte* to) {
    keep(error_, pack(block.address, block.count, block.type, block.info, to, group_.messages().quiet));
  }
  void unpack_block(const std::byte* from, std::size_t bytes, const Block& block) {
    if (block.info.size == 0) return;
    const std::size_t count = std::min(block.count, bytes / block.info.size);
    keep(error_, unpack(from, block.address, count, block.type, block.info, group_.messages().quiet));
  }
  // Packs a block into a room that has as much left.
  std::byte* packed(const Block& block, Room& room) {
    std::byte* const bytes = room.take(block.bytes());
    pack_block(block, bytes);
    return bytes;
  }
  // Copies so many packed bytes into a block.
  void copy_in(memory::NodeCopy& copy, const std::byte* bytes, std::size_t count, const Block& block) {
    if (block.info.dense) return copy(block.address, bytes, count);
    unpack_block(bytes, count, block);
  }
  // What this rank sends to itself: by `copy`, or, if that cannot be, as much as is given room; `room` is for packing.
  template <class Copy>
  void copy_mine(const Block& from, const Block& to, memory::Pool& room, Copy& copy) {
    if (from.info.dense && to.info.dense && from.bytes() == to.bytes()) {
      if (from.address != to.address) copy(to.address, from.address, to.bytes());
    } else {
      keep(error_, error_if_long(from.bytes(), to.bytes(), call_.collective));
      copy_part(first_part(from, to.bytes()), to, room);
    }
  }

  const Call& call_;
  Group& group_;
  const bool gather_;
  const bool overwritten_;  // the send blocks are received over; in an in-place allgather they are not
  const Blocks send_, recv_;
  int error_ = mpi_success;

 private:
  void copy_part(const Block& from, const Block& to, memory::Pool& room) {
    const std::size_t bytes = from.bytes();
    if (bytes == 0 || (from.info.dense && to.info.dense && from.address == to.address)) return;
    if (from.info.dense) return unpack_block(from.address, bytes, to);
    if (to.info.dense && bytes == to.bytes()) return pack_block(from, to.address);
    const bool have_runs = bytes == to.bytes() && from.info.runs != nullptr && to.info.runs != nullptr;
    // Peers wait for this rank: without memory nothing is thrown.
    if (std::byte* at = nullptr; have_runs && thrown_by([&] { at = room.take(bytes); }) == mpi_success) {
      pack_block(from, at);
      unpack_block(at, bytes, to);
      return room.trim();
    }
    MpiTransport transport(group_.messages().quiet, group_.messages().quiet_me);
    keep(error_, transport.copy(typed_place(from), typed_place(to)));
  }
};

}  // namespace quadrille::run
