#include "api/warm_up.hpp"

#include <memory>
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

class Rehearsal {
 public:
  Rehearsal(MpiComm comm, int ranks) : comm_(comm), ranks_(ranks), places_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) places_[static_cast<std::size_t>(rank)] = rank * small;
    counts_.assign(static_cast<std::size_t>(ranks), small);
  }

  // As the program's own memory would be: in the shared heap if it is large.
  void alltoall(int bytes) const {
    const std::size_t all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks_);
    const auto send = std::make_unique<char[]>(all), recv = std::make_unique<char[]>(all);
    alltoall(send.get(), recv.get(), bytes);
  }

  // Of a type that the program made.
  void alltoall_of_a_made_type() const {
    MpiType pair;
    if (mpi().Type_contiguous(2, mpi().double_type, &pair) != mpi_success) return;
    mpi().Type_commit(&pair);
    const std::vector<double> send(2 * static_cast<std::size_t>(ranks_));
    std::vector<double> recv(send.size());
    serve_or_pass<Collective::alltoall>(Door::drop_in, &quadrille::Mpi::Alltoall, send.data(), 1, pair, recv.data(), 1,
                                        pair, comm_);
    mpi().Type_free(&pair);
  }

  // On the stack: never in the heap. So often that each page of the rings is written and read.
  void through_rings(std::size_t ring_bytes) const {
    char send[most_ranks_for_large_blocks * middle] = {}, recv[sizeof send] = {};
    for (std::size_t at = 0; at <= ring_bytes; at += middle) alltoall(send, recv, middle);
  }

  void others() const {
    const std::size_t all = std::size_t{small} * static_cast<std::size_t>(ranks_);
    const std::vector<char> send(all);
    std::vector<char> recv(all);
    serve_or_pass<Collective::alltoallv>(Door::drop_in, &quadrille::Mpi::Alltoallv, send.data(), counts_.data(),
                                         places_.data(), mpi().byte, recv.data(), counts_.data(), places_.data(),
                                         mpi().byte, comm_);
    serve_or_pass<Collective::allgather>(Door::drop_in, &quadrille::Mpi::Allgather, send.data(), small, mpi().byte,
                                         recv.data(), small, mpi().byte, comm_);
    serve_or_pass<Collective::allgatherv>(Door::drop_in, &quadrille::Mpi::Allgatherv, send.data(), small, mpi().byte,
                                          recv.data(), counts_.data(), places_.data(), mpi().byte, comm_);
  }

 private:
  void alltoall(const char* send, char* recv, int bytes) const {
    serve_or_pass<Collective::alltoall>(Door::drop_in, &quadrille::Mpi::Alltoall, send, bytes, mpi().byte, recv, bytes,
                                        mpi().byte, comm_);
  }

  MpiComm comm_;
  int ranks_;
  std::vector<int> counts_, places_;
};

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
  const Rehearsal rehearsal(mpi().comm_world, team->group.ranks);
  // Twice: consecutive calls use different slots.
  for (int time = 0; time < 2; ++time) {
    rehearsal.alltoall(small);
    rehearsal.others();
  }
  rehearsal.alltoall_of_a_made_type();
  if (team->group.ranks <= most_ranks_for_large_blocks) {
    if (team->group.reach().rings) rehearsal.through_rings(team->group.pairs.ring_bytes());
    for (int time = 0; time < 2; ++time) rehearsal.alltoall(large);
  }
  team->counted.counters = counters;
  team->counted.explains = explains;
  team::let_try(*team, might);
  // Or calls like these would take the short way, and say nothing, or stay with what was not tried.
  if (explains || might == team::MayTry::everything) team::forget_selections(*team);
}

}  // namespace quadrille::api
