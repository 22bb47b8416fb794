// The blocks of a call, and moving one block in and out of consecutive bytes.
#pragma once

#include "memory/inbox.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Keeps the first error. Peers wait for us, so an error never ends a traversal.
inline void keep(int& first, int error) {
  if (first == MPI_SUCCESS) first = error;
}

// The blocks of one side of a call. For calls with one type it is looked up once.
class Blocks {
 public:
  explicit Blocks(const Side& side) : side_(side), one_type_(side.types == nullptr) {
    if (one_type_) info_ = type_info(side.type);
  }
  Block operator[](int index) const {
    if (!one_type_) return block_of(side_, index);
    Block b;
    b.type = side_.type;
    b.info = info_;
    b.count = static_cast<std::size_t>(side_.count_of(index));
    b.address = side_.base + side_.displacement_of(index, side_.count) * info_.extent;
    return b;
  }
  // True if all blocks are certain to be of one size.
  bool equal() const {
    return one_type_ && side_.counts == nullptr && side_.counts_large == nullptr;
  }
  // True if no block can have gaps.
  bool all_dense() const { return one_type_ && info_.dense; }

 private:
  const Side& side_;
  bool one_type_;
  TypeInfo info_;
};

// Writes a block into a slot.
int fill_slot(std::byte* slot, const Block& block, MPI_Comm comm);

// Takes `bytes` packed bytes into a block: as much of them as whole elements and the block's size allow.
int unpack_block(const std::byte* from, std::size_t bytes, const Block& block, MPI_Comm comm);

// The block that a rank sends to itself; `room` is for packing it.
int copy_own(const Block& from, const Block& to, Group& group, memory::Pool& room);
inline int copy_own(const Block& from, const Block& to, Group& group) {
  return copy_own(from, to, group, group.packed_own);
}

}  // namespace quadrille::run
