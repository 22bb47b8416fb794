#include "run/kept_types.hpp"

#include <algorithm>

namespace quadrille::run {
namespace {

// Types that come with MPI cannot be freed. So what was one remains one, whatever other handles come back as.
bool is_named(MPI_Datatype type) {
  if (is_well_known(type)) return true;
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  mpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

}  // namespace

KeptTypes::~KeptTypes() {
  for (MPI_Datatype& type : made_) mpi().Type_free(&type);
}

int KeptTypes::keep(MPI_Datatype& type) {
  if (is_named(type)) return MPI_SUCCESS;
  const auto known = std::find(originals_.begin(), originals_.end(), type);
  if (known != originals_.end()) {
    type = made_[static_cast<std::size_t>(known - originals_.begin())];
    return MPI_SUCCESS;
  }
  MPI_Datatype duplicate;
  if (const int error = mpi().Type_dup(type, &duplicate); error != MPI_SUCCESS) return error;
  originals_.push_back(type);
  made_.push_back(duplicate);
  type = duplicate;
  return MPI_SUCCESS;
}

// Types of blocks that do not count may be anything.
int KeptTypes::keep(Side& side, int blocks, std::vector<MPI_Datatype>& types) {
  if (blocks == 0) return MPI_SUCCESS;
  if (side.types == nullptr) return side.type == mpi().datatype_null ? MPI_SUCCESS : keep(side.type);
  types.assign(side.types, side.types + blocks);
  for (int b = 0; b < blocks; ++b) {
    if (side.count_of(b) == 0) continue;
    if (const int error = keep(types[static_cast<std::size_t>(b)]); error != MPI_SUCCESS) return error;
  }
  side.types = types.data();
  return MPI_SUCCESS;
}

int KeptTypes::keep(Call& call, int send_blocks, int recv_blocks) {
  const int error = keep(call.recv, recv_blocks, recv_types_);
  return error != MPI_SUCCESS ? error : keep(call.send, send_blocks, send_types_);
}

}  // namespace quadrille::run
