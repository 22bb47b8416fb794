#include "run/call.hpp"

#include <algorithm>

namespace quadrille::run {

namespace {

// Makes `array`, if there is one, point to a copy of its first elements. That there is one says which form the call
// has, also if it has no elements.
template <class T>
void own(const T*& array, std::vector<T>& copy, int elements) {
  if (array == nullptr) return;
  copy.reserve(1);
  copy.assign(array, array + elements);
  array = copy.data();
}

// Types that come with MPI cannot be freed. So what was one remains one, whatever other handles come back as.
bool is_named(MpiType type) {
  if (is_well_known(type)) return true;
  Envelope envelope;
  read_envelope(type, envelope);
  return is_basic(envelope.combiner);
}

}  // namespace

void StoredCall::Arrays::take(Side& side, int blocks) {
  if (side.types) {
    types.reserve(1);
    types.assign(side.types, static_cast<std::size_t>(blocks));
    side.types = types.all();
  }
  own(side.counts, counts, blocks);
  own(side.displacements, displacements, blocks);
  own(side.counts_large, counts_large, blocks);
  own(side.displacements_large, displacements_large, blocks);
}

StoredCall::StoredCall(const Call& call, int send_blocks, int recv_blocks) : call_(call) {
  if (!call.in_place) send_.take(call_.send, send_blocks);  // else they may be anything
  recv_.take(call_.recv, recv_blocks);
}

KeptTypes::~KeptTypes() {
  for (MpiType& type : made_) mpi().Type_free(&type);
}

int KeptTypes::keep(MpiType& type) {
  if (is_named(type)) return mpi_success;
  const auto known = std::find(originals_.begin(), originals_.end(), type);
  if (known != originals_.end()) {
    type = made_[static_cast<std::size_t>(known - originals_.begin())];
    return mpi_success;
  }
  // To duplicate it would call the program's functions for its attributes.
  MpiType same;
  if (const int error = mpi().Type_contiguous(1, type, &same); error != mpi_success) return error;
  if (const int error = mpi().Type_commit(&same); error != mpi_success) return error;
  originals_.push_back(type);
  made_.push_back(same);
  type = same;
  return mpi_success;
}

// Types of blocks that do not count may be anything.
int KeptTypes::keep(Side& side, int blocks, MpiArray<MpiType>& types) {
  if (blocks == 0) return mpi_success;
  if (!side.types) return side.type == mpi().datatype_null ? mpi_success : keep(side.type);
  types.assign(side.types, static_cast<std::size_t>(blocks));
  for (int b = 0; b < blocks; ++b) {
    MpiType type = mpi().byte;
    if (side.count_of(b) != 0) {
      type = types[static_cast<std::size_t>(b)];
      if (const int error = keep(type); error != mpi_success) return error;
    }
    types.set(static_cast<std::size_t>(b), type);
  }
  side.types = types.all();
  return mpi_success;
}

int KeptTypes::keep(Call& call, int send_blocks, int recv_blocks) {
  const int error = keep(call.recv, recv_blocks, recv_types_);
  return error != mpi_success ? error : keep(call.send, send_blocks, send_types_);
}

}  // namespace quadrille::run
