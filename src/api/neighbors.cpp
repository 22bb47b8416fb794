// The explicit door of the one collective that no MPI has.
#include <algorithm>
#include <vector>

#include "abi/functions.hpp"
#include "api/doors.hpp"

using namespace quadrille;

namespace {

// No MPI has the w form of the allgather. Its w form of the all-to-all moves the same data, if the block for each
// destination is one and the same.
int allgatherw_of_the_mpi(const run::Call& call) {
  if (!mpi().usable) return api::raise(call.comm, mpi().err_other);
  if (call.comm == mpi().comm_null) return api::raise(mpi().comm_world, mpi().err_comm);
  team::Team* const team = team::team_of(call.comm);
  const bool has_blocks = team != nullptr && !is_inter(call.comm);
  const api::BlockNumbers blocks = has_blocks ? api::blocks_of(call, *team) : api::BlockNumbers();
  const run::Side& recv = call.recv;
  const bool arrays = recv.counts != nullptr && recv.displacements_large != nullptr && recv.types;
  // Not all MPIs look at these.
  if (call.in_place || recv.base == mpi().in_place || (blocks.recv > 0 && !arrays)) {
    return api::raise(call.comm, mpi().err_arg);
  }
  const auto places = static_cast<std::size_t>(std::max(blocks.send, 1));  // some MPIs refuse a null array
  const std::vector<int> counts(places, static_cast<int>(call.send.count_of(0)));
  const std::vector<MpiAint> displacements(places, 0);
  const MpiArray<MpiType> types(places, call.send.type);
  return api::handled_later(call.comm, [&] {
    return mpi().Neighbor_alltoallw(call.send.base, counts.data(), displacements.data(), types.all(), recv.base,
                                    recv.counts, recv.displacements_large, recv.types, call.comm);
  });
}

}  // namespace

int Quadrille_Neighbor_allgatherw(QUADRILLE_WORDS_GATHERW(int, MpiAint)) {
  const auto native = [](auto... arguments) {
    const run::Call call = api::call_of(Collective::neighbor_allgatherw, arguments...);
    return api::guarded(call.comm, [&] { return allgatherw_of_the_mpi(call); });
  };
  return api::leave(api::serve_or_pass<Collective::neighbor_allgatherw>(api::Door::explicit_api, native,
                                                                        QUADRILLE_ARGUMENTS_GATHERW));
}
