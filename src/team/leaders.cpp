#include "team/leaders.hpp"

#include <algorithm>
#include <utility>

#include "mpi/thrown.hpp"
#include "team/ask.hpp"

namespace quadrille::team {
namespace {

// What a rank says of its node's memory; of the answers the largest is taken.
constexpr std::uint64_t not_first = 0, no_room = UINT64_MAX;

// The first rank of each group takes the memory, and all ranks learn where.
std::optional<LeadersArea> take_area(Team& team, const plan::LeadersPlan& plan, const memory::Leaders::Parts& parts) {
  const int here = plan.here();
  const std::size_t bytes = memory::Leaders::bytes(here, parts);
  std::vector<std::uint64_t> mine, all;
  const bool has_room = thrown_by([&] { mine.assign(plan.nodes, not_first), all.resize(plan.nodes); }) == mpi_success;
  if (!true_on_all(team, has_room)) return std::nullopt;
  if (plan.number == 0) {
    const auto taken = team.area.is_there() ? team.area.pool()->take(bytes, here) : std::nullopt;
    mine[plan.node] = taken.has_value() ? *taken + 1 : no_room;
  }
  largest_of_all(team, mine, all);
  LeadersArea area;
  if (all[plan.node] != no_room) area.memory = memory::ControlArea(team.area.pool(), all[plan.node] - 1, bytes);
  if (std::find(all.begin(), all.end(), no_room) != all.end()) return std::nullopt;
  area.leaders = memory::Leaders(area.memory.base(), here, parts);
  return area;
}

LeadersMemory& memory_for(Team& team, plan::NodeMap groups) {
  for (const auto& known : team.leaders) {
    if (known->groups.node_of == groups.node_of) return *known;
  }
  team.leaders.push_back(std::make_shared<LeadersMemory>());
  team.leaders.back()->groups = std::move(groups);
  return *team.leaders.back();
}

// Null if nobody has asked for them.
CachedLeaders* known_leaders(const Team& team, const choose::Choice& choice) {
  const auto& all = team.chosen.leaders;
  const auto found = std::ranges::find_if(
      all, [&](const auto& one) { return one->algorithm == choice.algorithm && one->parameters == choice.parameters; });
  return found == all.end() ? nullptr : found->get();
}

std::unique_ptr<run::LeadersWork> work_for(const Team& team, const plan::LeadersPlan& plan) {
  return std::make_unique<run::LeadersWork>(plan, team.group.messages().comm);
}

}  // namespace

CachedLeaders* leaders_for(Team& team, Collective collective, const choose::Choice& choice) {
  if (CachedLeaders* const known = known_leaders(team, choice)) return known->plan ? known : nullptr;
  const plan::Problem problem{team.group.ranks, team.group.me, &team.nodes, choice.parameters, domains_of(team)};
  team.chosen.leaders.push_back(std::make_unique<CachedLeaders>());
  CachedLeaders& made = *team.chosen.leaders.back();
  made.algorithm = choice.algorithm;
  made.parameters = choice.parameters;
  const bool has_room = thrown_by([&] {
                          made.memory = &memory_for(team, plan::leaders_groups(problem));
                          made.plan = plan::leaders_plan(problem, choose::leaders_kind_of(collective));
                          made.blocking = work_for(team, *made.plan);
                        }) == mpi_success;
  if (true_on_all(team, has_room)) return &made;
  made.blocking.reset();
  made.plan.reset();
  return nullptr;
}

bool prepare_leaders(Team& team, Collective collective, const choose::Choice& choice) {
  CachedLeaders* const on = leaders_for(team, collective, choice);
  if (on == nullptr) return false;
  LeadersMemory& memory = *on->memory;
  if (!std::exchange(memory.asked_for_blocking, true)) {
    memory.blocking = take_area(team, *on->plan, memory::Leaders::usual_parts);
  }
  return memory.blocking.has_value();
}

namespace {

// As many lanes as there is memory for.
void take_lanes_for(Team& team, CachedLeaders& on) {
  constexpr std::size_t most = 2;
  LeadersMemory& all = *on.memory;
  bool takes = !std::exchange(all.asked_for_lanes, true);
  while (takes && all.lanes.size() < most) {
    std::optional<LeadersArea> area = take_area(team, *on.plan, memory::Leaders::usual_parts);
    takes = area.has_value();
    if (takes) all.lanes.push_back({std::move(*area), {}});
  }
  if (all.lanes.empty() || on.asked_for_lanes) return;
  const bool has_room = thrown_by([&] {
                          while (on.of_lanes.size() < all.lanes.size()) on.of_lanes.push_back(work_for(team, *on.plan));
                        }) == mpi_success;
  if (!true_on_all(team, has_room)) on.of_lanes.clear();
  on.asked_for_lanes = true;
}

}  // namespace

void prepare_lanes(Team& team, Collective collective, const choose::Choice& choice) {
  if (leaders_at_hand(team, choice) != nullptr) return;
  if (CachedLeaders* const on = leaders_for(team, collective, choice)) take_lanes_for(team, *on);
}

LeadersOnLane next_leaders_lane(Team& team, CachedLeaders& on) {
  take_lanes_for(team, on);
  LeadersMemory& all = *on.memory;
  if (all.lanes.empty() || on.of_lanes.empty()) return {};
  const std::size_t lane = all.calls++ % all.lanes.size();
  return {&all.lanes[lane], on.of_lanes[lane].get()};
}

CachedLeaders* leaders_at_hand(Team& team, const choose::Choice& choice) {
  CachedLeaders* const known = known_leaders(team, choice);
  // Their lanes' memory was asked for before.
  return known != nullptr && known->asked_for_lanes ? known : nullptr;
}

std::optional<OwnLeaders> own_leaders(Team& team, const CachedLeaders& on, std::size_t largest) {
  const bool sized = on.plan->kind != plan::LeadersKind::uneven && largest != SIZE_MAX;
  std::optional<LeadersArea> area =
      take_area(team, *on.plan, sized ? run::parts_for(*on.plan, largest) : memory::Leaders::usual_parts);
  if (!area) return std::nullopt;
  std::unique_ptr<run::LeadersWork> work;
  const bool has_room = thrown_by([&] { work = work_for(team, *on.plan); }) == mpi_success;
  if (!true_on_all(team, has_room)) return std::nullopt;
  return OwnLeaders{std::move(*area), std::move(work)};
}

}  // namespace quadrille::team
