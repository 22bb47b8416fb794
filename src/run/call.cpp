#include "run/call.hpp"

#include <algorithm>
#include <utility>

#include "run/blocks.hpp"

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

void KeptArguments::Arrays::take(Side& side, int blocks) {
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

void KeptArguments::keep_arrays(Call& call, int send_blocks, int recv_blocks) {
  if (std::exchange(is_kept_, true)) return;
  if (!call.in_place) send_.take(call.send, send_blocks);  // else they may be anything
  recv_.take(call.recv, recv_blocks);
}

KeptArguments::~KeptArguments() {
  for (MpiType& type : made_) mpi().Type_free(&type);
}

int KeptArguments::keep(MpiType& type) {
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
int KeptArguments::keep(Side& side, int blocks, MpiArray<MpiType>& types) {
  if (blocks == 0) return mpi_success;
  if (!side.types) return side.type == mpi().datatype_null ? mpi_success : keep(side.type);
  for (int b = 0; b < blocks; ++b) {
    MpiType type = mpi().byte;
    if (side.count_of(b) != 0) {
      type = types[static_cast<std::size_t>(b)];
      if (const int error = keep(type); error != mpi_success) return error;
    }
    types.set(static_cast<std::size_t>(b), type);
  }
  return mpi_success;
}

int KeptArguments::keep(Call& call, int send_blocks, int recv_blocks) {
  if (is_kept_) return mpi_success;
  keep_arrays(call, send_blocks, recv_blocks);
  const int error = keep(call.recv, recv_blocks, recv_.types);
  return error != mpi_success || call.in_place ? error : keep(call.send, send_blocks, send_.types);
}

bool is_plain(const Call& call) {
  if (!is_regular(call.collective)) return false;
  const Side& sent = call.in_place ? call.recv : call.send;
  const TypeInfo send = type_info(sent.type), recv = type_info(call.recv.type);
  return send.dense && recv.dense && sent.count * send.size == call.recv.count * recv.size;
}

bool may_have_gaps(const Call& call) {
  return !Blocks(call.in_place ? call.recv : call.send).all_dense() || !Blocks(call.recv).all_dense();
}

}  // namespace quadrille::run
