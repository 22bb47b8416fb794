#include "api/warm_up.hpp"

#include <utility>
#include <vector>

#include "api/calibrate.hpp"
#include "api/doors.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

// A block that goes through slots, one that goes through rings where it is not in the shared heap, one that is copied
// once.
constexpr int small = 64, middle = 4096, large = 32768;
// With more ranks the calls themselves would take longer than what they save.
constexpr int most_ranks = 64, most_ranks_for_large_blocks = 16;

void alltoall(MpiComm comm, const void* send, void* recv, int count, MpiType type) {
  serve_or_pass<Collective::alltoall>(Door::drop_in, mpi().Alltoall, send, count, type, recv, count, type, comm);
}

// As the program's own memory would be: in the shared heap if it is large.
void alltoall_of(int bytes, MpiComm comm, std::size_t ranks) {
  const std::vector<char> send(static_cast<std::size_t>(bytes) * ranks);
  std::vector<char> recv(send.size());
  alltoall(comm, send.data(), recv.data(), bytes, mpi().byte);
}

// Of a type that the program made.
void alltoall_of_a_made_type(MpiComm comm, std::size_t ranks) {
  MpiType pair;
  if (mpi().Type_contiguous(2, mpi().double_type, &pair) != mpi_success) return;
  mpi().Type_commit(&pair);
  const std::vector<double> send(2 * ranks);
  std::vector<double> recv(send.size());
  alltoall(comm, send.data(), recv.data(), 1, pair);
  mpi().Type_free(&pair);
}

// On the stack: never in the heap. So often that each page of the rings is written and read.
void alltoall_through_rings(MpiComm comm, std::size_t ring_bytes) {
  char send[most_ranks_for_large_blocks * middle] = {}, recv[sizeof send] = {};
  for (std::size_t at = 0; at <= ring_bytes; at += middle) alltoall(comm, send, recv, middle, mpi().byte);
}

void others(MpiComm comm, std::size_t ranks) {
  const MpiType type = mpi().byte;
  const std::vector<int> counts(ranks, small);
  std::vector<int> places(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) places[rank] = static_cast<int>(rank) * small;
  const std::vector<char> send(ranks * small);
  std::vector<char> recv(send.size());
  serve_or_pass<Collective::alltoallv>(Door::drop_in, mpi().Alltoallv, send.data(), counts.data(), places.data(), type,
                                       recv.data(), counts.data(), places.data(), type, comm);
  serve_or_pass<Collective::allgather>(Door::drop_in, mpi().Allgather, send.data(), small, type, recv.data(), small,
                                       type, comm);
  serve_or_pass<Collective::allgatherv>(Door::drop_in, mpi().Allgatherv, send.data(), small, type, recv.data(),
                                        counts.data(), places.data(), type, comm);
}

}  // namespace

void warm_up() {
  if (!mpi().usable) return;
  team::Team* team = team::team_of(mpi().comm_world);
  if (team == nullptr || !team->ready() || team->group.may_send() || team->group.ranks > most_ranks) return;
  if (team::config().any_forced) return;
  if (team->agreed().points == team::Points::guessed) calibrate(*team);
  const bool explains = std::exchange(team->counted.explains, false);
  const team::MayTry might = team::let_try(*team, team::MayTry::nothing);  // what is rehearsed is not to be compared
  const team::Counters counters = team->counted.counters;
  const MpiComm comm = mpi().comm_world;
  const auto ranks = static_cast<std::size_t>(team->group.ranks);
  // Twice: consecutive calls use different slots.
  for (int time = 0; time < 2; ++time) {
    alltoall_of(small, comm, ranks);
    others(comm, ranks);
  }
  alltoall_of_a_made_type(comm, ranks);
  if (ranks <= most_ranks_for_large_blocks) {
    if (team->group.reach().rings) alltoall_through_rings(comm, team->group.pairs.ring_bytes());
    for (int time = 0; time < 2; ++time) alltoall_of(large, comm, ranks);
  }
  team->counted.counters = counters;
  team->counted.explains = explains;
  team::let_try(*team, might);
  // Or calls like these would take the short way, and say nothing, or stay with what was not tried.
  if (explains || might == team::MayTry::everything) team::forget_selections(*team);
}

}  // namespace quadrille::api
