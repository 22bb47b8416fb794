// A call of a collective, in one form for all doors: MPI's arguments, nothing interpreted yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/device.hpp"
#include "mpi/types.hpp"

namespace quadrille::run {

// The blocks of one side. One of these forms is given: one count for all blocks (counts and counts_large
// null), int arrays, arrays of the large-count interface, or, in neighbour w, int counts and large displacements.
struct Side {
  std::byte* base = nullptr;
  std::size_t count = 0;
  MpiType type{};
  MpiTypes types;  // w: one a block, and displacements are in bytes
  const int* counts = nullptr;
  const int* displacements = nullptr;
  const MpiCount* counts_large = nullptr;
  const MpiAint* displacements_large = nullptr;

  // May be negative: the caller's mistake, found by api/admission.cpp.
  std::ptrdiff_t count_of(int block) const {
    if (counts != nullptr) return counts[block];
    if (counts_large != nullptr) return static_cast<std::ptrdiff_t>(counts_large[block]);
    return static_cast<std::ptrdiff_t>(count);
  }
  MpiType type_of(int block) const { return types ? types[static_cast<std::size_t>(block)] : type; }
  // Bytes of data in the block, without gaps; 0 for a negative count.
  std::size_t bytes_of(int block) const {
    const std::ptrdiff_t elements = count_of(block);
    return elements > 0 ? static_cast<std::size_t>(elements) * type_info(type_of(block)).size : 0;
  }
  // In extents of the type, or bytes for w.
  std::ptrdiff_t displacement_of(int block, std::size_t uniform_count) const {
    if (displacements != nullptr) return displacements[block];
    if (displacements_large != nullptr) return displacements_large[block];
    return static_cast<std::ptrdiff_t>(uniform_count) * block;
  }
};

// Bytes of the largest of the first blocks of a side, and of all of them.
struct BytesMoved {
  std::uint64_t largest = 0, all = 0;
};
inline BytesMoved bytes_of(const Side& side, int blocks) {
  BytesMoved bytes;
  for (int b = 0; b < blocks; ++b) {
    const std::uint64_t block = side.bytes_of(b);
    bytes.largest = std::max(bytes.largest, block);
    bytes.all += block;
  }
  return bytes;
}

struct Call {
  Collective collective;
  Side send;  // meaningless if in_place
  Side recv;
  bool in_place = false;
  MpiComm comm{};
  bool large = false;  // its counts are MPI_Count: how large they are is a fact of this rank alone
  // Where its blocks, or those of one side, are in a device's memory and stay there, if they do. No block has gaps, and
  // none is sent in place but by an allgather. The MPI takes such memory.
  std::optional<memory::DevicePlace> on_device = {};
};

// The arrays and datatypes of a call that outlives its arguments: MPI lets a program free its datatypes once the call
// has been made, and our requests let it free its arrays as well. Serves one call: after the first keep() or
// keep_arrays() either does nothing.
class KeptArguments {
 public:
  ~KeptArguments();
  KeptArguments& operator=(KeptArguments&&) = delete;

  // Some of the call's types are not those that come with MPI.
  bool has_own_types() const { return !made_.empty(); }

  // Copies the arrays that `call` has, for this many blocks of either side, and makes `call` refer to the copies.
  void keep_arrays(Call& call, int send_blocks, int recv_blocks);
  // Copies the arrays and the datatypes of a sound call likewise. The type of a side without blocks may be anything.
  // Returns an MPI error code.
  int keep(Call& call, int send_blocks, int recv_blocks);

 private:
  struct Arrays {
    MpiArray<MpiType> types;
    std::vector<int> counts, displacements;
    std::vector<MpiCount> counts_large;
    std::vector<MpiAint> displacements_large;
    void take(Side& side, int blocks);
  };
  int keep(Side& side, int blocks, MpiArray<MpiType>& types);
  int keep(MpiType& type);

  Arrays send_, recv_;
  std::vector<MpiType> originals_, made_;
  bool is_kept_ = false;
};

// Plain bytes, in blocks of one size on both sides.
bool is_plain(const Call& call);

// Whether a block may have gaps: then the MPI may be called to pack or unpack it.
bool may_have_gaps(const Call& call);

}  // namespace quadrille::run
