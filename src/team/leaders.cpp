#include "team/leaders.hpp"

#include <algorithm>

#include "mpi/thrown.hpp"
#include "team/ask.hpp"

namespace quadrille::team {
namespace {

// What a rank says of its node's memory; of the answers the largest is taken.
constexpr std::uint64_t not_first = 0, no_room = UINT64_MAX;

// The first rank of each node takes the memory, and all ranks learn where.
std::optional<LeadersArea> take_area(Team& team, const memory::Leaders::Parts& parts) {
  const auto node = static_cast<std::size_t>(team.nodes.node_of[static_cast<std::size_t>(team.group.me)]);
  const int here = team.group.ranks_here();
  const std::size_t bytes = memory::Leaders::bytes(here, parts);
  std::vector<std::uint64_t> mine(static_cast<std::size_t>(team.nodes.nodes), not_first), all(mine.size());
  if (team.group.member(0) == team.group.me) {
    const auto taken = team.area.is_there() ? team.area.pool()->take(bytes, here) : std::nullopt;
    mine[node] = taken.has_value() ? *taken + 1 : no_room;
  }
  largest_of_all(team, mine, all);
  LeadersArea area;
  if (all[node] != no_room) area.memory = memory::ControlArea(team.area.pool(), all[node] - 1, bytes);
  if (std::find(all.begin(), all.end(), no_room) != all.end()) return std::nullopt;
  area.leaders = memory::Leaders(area.memory.base(), here, parts);
  return area;
}

bool take_area_of_blocking(Team& team) {
  if (team.group.leaders.usable() || team.no_leaders) return !team.no_leaders;
  std::optional<LeadersArea> area = take_area(team, memory::Leaders::usual_parts);
  team.no_leaders = !area.has_value();
  if (!area) return false;
  team.leaders_area = std::move(area->memory);
  team.group.leaders = area->leaders;
  return true;
}

std::unique_ptr<run::LeadersWork> work_for(const Team& team, const plan::LeadersPlan& plan) {
  return std::make_unique<run::LeadersWork>(plan, team.group.messages().comm);
}

}  // namespace

CachedLeaders* leaders_for(Team& team, Collective collective, const choose::Choice& choice) {
  for (const auto& cached : team.chosen.leaders) {
    if (cached->build == choice.algorithm->build && cached->parameters == choice.parameters) {
      return cached->plan ? cached.get() : nullptr;
    }
  }
  const plan::Problem problem{team.group.ranks, team.group.me, &team.nodes, choice.parameters, domains_of(team)};
  team.chosen.leaders.push_back(std::make_unique<CachedLeaders>());
  CachedLeaders& made = *team.chosen.leaders.back();
  made.build = choice.algorithm->build;
  const bool has_room = thrown_by([&] {
    made.parameters = choice.parameters;
    made.plan = plan::leaders_plan(problem, choose::leaders_kind_of(collective));
    made.blocking = work_for(team, *made.plan);
  }) == MPI_SUCCESS;
  if (true_on_all(team, has_room)) return &made;
  made.blocking.reset();
  made.plan.reset();
  return nullptr;
}

bool prepare_leaders(Team& team, Collective collective, const choose::Choice& choice) {
  return take_area_of_blocking(team) && leaders_for(team, collective, choice) != nullptr;
}

namespace {

LeadersLanes& lanes_for_leaders(Team& team) {
  if (team.leaders_lanes != nullptr) return *team.leaders_lanes;
  team.leaders_lanes = std::make_shared<LeadersLanes>();
  constexpr std::size_t most = 2;
  for (std::size_t lane = 0; lane < most; ++lane) {
    std::optional<LeadersArea> area = take_area(team, memory::Leaders::usual_parts);
    if (!area) break;
    team.leaders_lanes->lanes.push_back({std::move(*area), {}});
  }
  return *team.leaders_lanes;
}

}  // namespace

LeadersTurn next_leaders_lane(Team& team, CachedLeaders& on) {
  LeadersLanes& all = lanes_for_leaders(team);
  if (all.lanes.empty()) return {};
  if (!on.asked_for_lanes) {
    const bool has_room = thrown_by([&] {
      while (on.of_lanes.size() < all.lanes.size()) on.of_lanes.push_back(work_for(team, *on.plan));
    }) == MPI_SUCCESS;
    if (!true_on_all(team, has_room)) on.of_lanes.clear();
    on.asked_for_lanes = true;
  }
  if (on.of_lanes.empty()) return {};
  const std::size_t lane = all.calls++ % all.lanes.size();
  return {&all.lanes[lane], on.of_lanes[lane].get()};
}

std::optional<OwnLeaders> own_leaders(Team& team, const CachedLeaders& on, std::size_t largest) {
  const bool sized = on.plan->kind != plan::LeadersKind::uneven && largest != SIZE_MAX;
  std::optional<LeadersArea> area =
      take_area(team, sized ? run::parts_for(*on.plan, largest) : memory::Leaders::usual_parts);
  if (!area) return std::nullopt;
  std::unique_ptr<run::LeadersWork> work;
  const bool has_room = thrown_by([&] { work = work_for(team, *on.plan); }) == MPI_SUCCESS;
  if (!true_on_all(team, has_room)) return std::nullopt;
  return OwnLeaders{std::move(*area), std::move(work)};
}

}  // namespace quadrille::team
