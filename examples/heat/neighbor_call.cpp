#include "neighbor_call.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace heat {
namespace {

using Init = int (*)(const void*, const int[], const MPI_Aint[], const MPI_Datatype[], void*, const int[],
                     const MPI_Aint[], const MPI_Datatype[], MPI_Comm, MPI_Info, MPI_Request*);

// Looked up at run time: a program built for one MPI can run on another of its ABI, older or newer. Open MPI 4 has the
// function under the second name.
Init find_init() {
  for (const char* name : {"MPI_Neighbor_alltoallw_init", "MPIX_Neighbor_alltoallw_init"}) {
    if (void* found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Init>(found);
  }
  throw std::runtime_error("this MPI has no MPI_Neighbor_alltoallw_init for --exchange persistent");
}

// An offset as a number, to be sent.
int code_of(const Offset& offset) { return (offset[0] + 1) + 3 * (offset[1] + 1) + 9 * (offset[2] + 1); }

Offset offset_of(int code) { return {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1}; }

Blocks one_after_another(std::size_t count) {
  Blocks blocks{{}, std::vector<MPI_Datatype>(count, MPI_INT)};
  for (std::size_t i = 0; i < count; ++i) {
    blocks.displacements.push_back(static_cast<MPI_Aint>(i * sizeof(int)));
  }
  return blocks;
}

}  // namespace

NeighborCall::NeighborCall(MPI_Comm comm, Caller caller, const void* send, const Blocks& sends, void* receive,
                           const Blocks& receives)
    : comm_(comm), caller_(caller), send_(send), receive_(receive), sends_(sends), receives_(receives) {
  const Init init = caller == Caller::mpi_persistent ? find_init() : nullptr;
  ones_.assign(std::max(sends.types.size(), receives.types.size()), 1);
  if (caller == Caller::quadrille_persistent) {  // collective, also for a rank without neighbours
    Quadrille_Neighbor_alltoallw_init(send_, ones_.data(), sends_.displacements.data(), sends_.types.data(), receive_,
                                      ones_.data(), receives_.displacements.data(), receives_.types.data(), comm_,
                                      MPI_INFO_NULL, &own_request_);
  }
  if (init == nullptr || ones_.empty()) return;
  init(send_, ones_.data(), sends_.displacements.data(), sends_.types.data(), receive_, ones_.data(),
       receives_.displacements.data(), receives_.types.data(), comm_, MPI_INFO_NULL, &request_);
}

NeighborCall::~NeighborCall() {
  if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  Quadrille_Request_free(&own_request_);
}

void NeighborCall::operator()() {
  if (own_request_ != QUADRILLE_REQUEST_NULL) {
    Quadrille_Start(&own_request_);
    Quadrille_Wait(&own_request_);
    return;
  }
  if (caller_ == Caller::quadrille) {
    Quadrille_Neighbor_alltoallw(send_, ones_.data(), sends_.displacements.data(), sends_.types.data(), receive_,
                                 ones_.data(), receives_.displacements.data(), receives_.types.data(), comm_);
    return;
  }
  if (ones_.empty()) return;  // one process and no neighbour: no rank waits for this one
  if (request_ != MPI_REQUEST_NULL) {
    MPI_Start(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Neighbor_alltoallw(send_, ones_.data(), sends_.displacements.data(), sends_.types.data(), receive_, ones_.data(),
                         receives_.displacements.data(), receives_.types.data(), comm_);
}

std::vector<int> codes_of(const std::vector<Offset>& sides, bool turned) {
  std::vector<int> codes;
  for (const Offset& side : sides) codes.push_back(code_of(turned ? opposite(side) : side));
  return codes;
}

std::vector<Offset> sides_of(const std::vector<int>& arrived) {
  std::vector<Offset> sides;
  for (const int code : arrived) sides.push_back(opposite(offset_of(code)));
  return sides;
}

std::vector<Offset> receives_as_matched(const Neighborhood& neighborhood, Caller caller) {
  const std::vector<int> sent = codes_of(neighborhood.sends);
  // A Cartesian communicator also lists missing neighbours, from which nothing arrives.
  std::vector<int> arrived = codes_of(neighborhood.receives, true);
  NeighborCall call(neighborhood.comm, caller, sent.data(), one_after_another(sent.size()), arrived.data(),
                    one_after_another(arrived.size()));
  call();
  return sides_of(arrived);
}

}  // namespace heat
