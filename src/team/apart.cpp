#include "team/apart.hpp"

#include <algorithm>
#include <atomic>

#include "mpi/mpi.hpp"
#include "mpi/tags.hpp"
#include "sys/sys.hpp"
#include "team/communicator.hpp"
#include "team/config.hpp"
#include "team/own_rings.hpp"
#include "team/processes.hpp"

namespace quadrille::team {
namespace {

// Tags for messages of communicators: each process of MPI_COMM_WORLD gives away some of its own.
constexpr std::int64_t tags_below = tags::count;  // those of MPI_COMM_WORLD's own messages

// Communicators that each process can give tags to.
std::int64_t tags_of_process() {
  int found = 0;
  const int* largest = nullptr;
  if (mpi().Comm_get_attr(mpi().comm_world, mpi().tag_ub, &largest, &found) != mpi_success || !found) return 0;
  const std::int64_t count = (std::int64_t{*largest} - tags_below) / tags_apart / size_of(mpi().comm_world);
  return std::max<std::int64_t>(count, 0);
}

// In turn; that one is still in use after all others is not to be expected.
int next_first_tag() {
  static constinit std::atomic<std::int64_t> given{0};
  const std::int64_t count = tags_of_process();
  const std::int64_t first = tags_below + count * tags_apart * rank_in(mpi().comm_world);
  return static_cast<int>(first + given++ % count * tags_apart);
}
constexpr std::int64_t enough_tags = 1024;

}  // namespace

bool may_be_told(Team& team) {
  const Config& settings = config();
  if (!team.eligible() || !world_has_met() || settings.any_forced || settings.inbox_limit == 0 || settings.check)
    return false;
  if (!settings.nodes.empty() || tags_of_process() < enough_tags) return false;
  const Team* const all = team_of(mpi().comm_world);
  if (all == nullptr || !all->taken.ready() || all->lanes == nullptr || all->lanes->lanes.empty()) return false;
  if (all->group.messages().comm == mpi().comm_null || all == &team) return false;
  const std::shared_ptr<const Processes> known = world();
  return known != nullptr && plan::nodes_of(known->nodes, ranks_in_world(team.user)).nodes == 1;
}

void prepare_apart(Team& team, Telling telling) {
  if (!team.ready()) setup_by(team, telling);
  int first_tag = team.group.me == 0 ? next_first_tag() : 0;
  telling.tell(&first_tag, sizeof first_tag);
  LanesMemory lanes{};
  if (team.lanes == nullptr && team.area.is_there() && team.group.reach().rings) {
    if (team.group.me == 0) lanes = take_lanes(team);
    telling.tell(lanes.data(), sizeof lanes);
    make_lanes(team, lanes);
  }
  // The resources of blocking calls may still become available where ranks may wait.
  if (team.ready() && !team.area.is_there()) team.change_standing(Standing::eligible);
  if (team.lanes == nullptr || team.lanes->lanes.empty()) team.taken.first_tag = first_tag;
}

void await_told(Team& team) {
  constexpr int turns_before_yield = 100;
  for (int turn = 0; team.taken.in_flight(); ++turn) {
    run::UnderWay::here().advance();
    turn < turns_before_yield ? sys::pause() : sys::yield();
  }
}

void end_told(Team& team) {
  if (mpi().is_openmpi()) return await_told(team);
  if (!team.taken.in_flight()) return;
  const run::UnderWay::Held held(run::UnderWay::here());
  if (team.taken.coming != nullptr) team.taken.coming->arrive();
}

}  // namespace quadrille::team
