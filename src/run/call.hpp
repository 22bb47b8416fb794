// A call of a collective, in one form for all doors: MPI's arguments, nothing interpreted yet.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collective/collective.hpp"
#include "memory/device.hpp"
#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "run/transport.hpp"

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
  // In extents of the type, or bytes for w.
  std::ptrdiff_t displacement_of(int block, std::size_t uniform_count) const {
    if (displacements != nullptr) return displacements[block];
    if (displacements_large != nullptr) return displacements_large[block];
    return static_cast<std::ptrdiff_t>(uniform_count) * block;
  }
};

struct Call {
  Collective collective;
  Side send;  // meaningless if in_place
  Side recv;
  bool in_place = false;
  MpiComm comm{};
  bool large = false;  // its counts are MPI_Count: how large they are is a fact of this rank alone
  // Whether its blocks, or those of one side, are in a device's memory and stay there, and where that is.
  // No block has gaps, and none is sent in place but by an allgather. The MPI takes such memory.
  bool on_device = false;
  memory::DevicePlace device_place = {};
};

// A call with arrays of its own, so that the user's may change.
class StoredCall {
 public:
  // So many elements of the arrays of either side, if there are arrays.
  StoredCall(const Call& call, int send_blocks, int recv_blocks);
  StoredCall& operator=(StoredCall&&) = delete;
  const Call& call() const { return call_; }

 private:
  struct Arrays {
    MpiArray<MpiType> types;
    std::vector<int> counts, displacements;
    std::vector<MpiCount> counts_large;
    std::vector<MpiAint> displacements_large;
    void take(Side& side, int blocks);
  };
  Call call_;
  Arrays send_, recv_;
};

// The datatypes of a call that outlives its arguments: MPI lets a program free them once the call has been made.
class KeptTypes {
 public:
  ~KeptTypes();
  KeptTypes& operator=(KeptTypes&&) = delete;

  // Nothing is kept: the call's types are those that come with MPI.
  bool empty() const { return made_.empty() && send_types_.empty() && recv_types_.empty(); }

  // Lets `call`, which is sound, refer to types that live as long as this. So many blocks of either side; of a
  // side without any nothing is looked at. Returns an MPI error code.
  int keep(Call& call, int send_blocks, int recv_blocks);

 private:
  int keep(Side& side, int blocks, MpiArray<MpiType>& types);
  int keep(MpiType& type);

  MpiArray<MpiType> send_types_, recv_types_;  // arrays of a w form
  std::vector<MpiType> originals_, made_;
};

// Whether a block may have gaps: then the MPI may be called to pack or unpack it.
bool may_have_gaps(const Call& call);

// One block of a side as the user gave it, with what is to be known of its type.
struct Block {
  std::byte* address = nullptr;
  std::size_t count = 0;
  MpiType type{};
  TypeInfo info;
  std::size_t bytes() const { return count * info.size; }
};

// A block as a place with its own type. A dense block keeps its type too: the other side may be typed
// with gaps, and MPICH unpacks large packed messages into types of several basic types only in part.
inline Place typed_place(const Block& block) {
  return {block.address, block.count, block.bytes(), block.type.word, block.info.dense};
}

}  // namespace quadrille::run
