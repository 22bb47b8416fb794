#include "team/selections.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "mpi/generation.hpp"
#include "team/ask.hpp"
#include "team/leaders.hpp"
#include "team/neighbors.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

run::Moving moving_by(const Team& team, const choose::Choice& choice) {
  const auto parameter = [&](const char* name) {
    return static_cast<std::size_t>(plan::value_of(choice.parameters, name, 0));
  };
  run::Moving moving;
  // Where messages may go straight from and to a device's memory, all ranks send and receive plain bytes: some MPIs
  // take no data from a device into a type with gaps, be that on the host (Intel MPI). Of neighbours not all ranks know
  // the sizes of blocks, which that needs.
  const bool straight = choice.algorithm->engine == choose::Engine::schedule && may_stay_on_device(team, choice);
  moving.as_bytes = choice.algorithm->needs.contiguous || straight;
  moving.pack_up_to = parameter("pack");
  moving.monolithic = parameter("monolithic") != 0;
  moving.eager = parameter("eager");
  return moving;
}

}  // namespace

bool may_stay_on_device(const Team& team, const choose::Choice& choice) {
  const bool as_bytes = choice.algorithm->engine == choose::Engine::schedule;
  return team.agreed().mpi_device != DeviceUse::none && choice.buffers == choose::HostBuffers::as_suits &&
         choice.algorithm->from_device && (as_bytes || !mpi().device_lacks_gaps);
}

Prepared prepare(Team& team, Collective collective, const choose::Choice& choice) {
  const choose::EngineRow& engine = row_of(choice.algorithm->engine);
  Prepared prepared;
  prepared.moving = moving_by(team, choice);
  if (engine.plans == choose::Plans::neighbor_messages) prepared.schedule = &neighbor_plan_of(team, choice);
  if (engine.plans == choose::Plans::leaders) {
    prepared.leaders = leaders_for(team, collective, choice);
    return prepared;
  }
  if (choice.algorithm->build != nullptr) prepared.schedule = &plan_of(team, choice);
  if (!engine.unpadded.empty()) prepared.direct = &plan_of(team, choose::plain(collective, engine.unpadded));
  return prepared;
}

namespace {

// Could a rank find that two choices do the same? Known without building a plan.
bool may_do_the_same(const choose::Choice& a, const choose::Choice& b) {
  const choose::Plans plans = row_of(a.algorithm->engine).plans;
  return a.algorithm->engine == b.algorithm->engine && a.algorithm->needs == b.algorithm->needs &&
         a.algorithm->build != nullptr && b.algorithm->build != nullptr &&
         (plans == choose::Plans::messages || plans == choose::Plans::node_copies);
}

// On this rank. Other ranks may do different things.
bool do_the_same(Team& team, Collective collective, const choose::Choice& a, const choose::Choice& b) {
  const Prepared one = prepare(team, collective, a), other = prepare(team, collective, b);
  return one.moving == other.moving && (one.schedule == other.schedule || *one.schedule == *other.schedule);
}

}  // namespace

std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates) {
  std::vector<std::size_t> later;   // of two that may do the same,
  std::vector<double> differ_here;  // and whether they do not
  for (std::size_t second = 1; second < candidates.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (!may_do_the_same(candidates[first], candidates[second])) continue;
      later.push_back(second);
      differ_here.push_back(do_the_same(team, collective, candidates[first], candidates[second]) ? 0 : 1);
    }
  }
  if (later.empty()) return candidates;
  std::vector<double> differ(later.size());
  largest_of_all(team, differ_here, differ);
  std::vector<choose::Choice> different;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    bool is_twin = false;
    for (std::size_t p = 0; p < later.size(); ++p) is_twin = is_twin || (later[p] == c && differ[p] == 0);
    if (!is_twin) different.push_back(candidates[c]);
  }
  return different;
}

CachedSelection* Selections::find(std::size_t bytes, bool drop_in, int load) {
  const auto is_it = [&](const CachedSelection& one) {
    return one.bytes == bytes && one.drop_in == drop_in && one.load == load;
  };
  if (last_ != nullptr && is_it(*last_)) return last_;
  const auto found = std::find_if(kept_.begin(), kept_.end(), is_it);
  if (found == kept_.end()) return nullptr;
  return last_ = &*found;
}

CachedSelection& Selections::keep(CachedSelection selected) {
  last_ = &kept_.emplace_back(std::move(selected));
  if (kept_.size() > most) kept_.pop_front();
  return *last_;
}

void Selections::forget() {
  kept_.clear();
  last_ = nullptr;
}

choose::GlobalKey key_of(Team& team, Collective collective, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(collective);
  const choose::Model* model = team.agreed().model == choose::Model{} ? nullptr : &team.agreed().model;
  const bool is_given =
      team.agreed().points == Points::given && is_sized(collective) && bytes <= team.group.inbox_limit(collective);
  const bool has_costs = model != nullptr && is_dense(collective) && team.nodes.nodes > 1;
  if (has_costs && team.chosen.costs[index] == nullptr) {
    const choose::CostsSetting setting{model->processors, choose::limits_within_a_call(team.group.ranks),
                                       team.agreed().away_steps};
    team.chosen.costs[index] = std::make_unique<choose::Costs>(collective, team.nodes, setting);
  }
  return {collective,
          team.group.ranks,
          team.nodes.nodes,
          bytes,
          team.group.inbox.usable() && team.nodes.nodes == 1,
          team.group.inbox_limit(collective),
          team.group.reach().slot_limit,
          team.group.reach().load_store,
          team.group.inbox.usable(),
          model,
          team.agreed().may_try == MayTry::everything && !is_given,
          team.agreed().may_try != MayTry::nothing,
          team.nodes.ranks_on_fullest_node(),
          is_dense(collective) && is_sized(collective) ? &team.agreed().by_size.on_host[index] : nullptr,
          team.agreed().mpi_device == DeviceUse::all,
          team.agreed().mpi_device != DeviceUse::none,
          has_costs ? team.chosen.costs[index].get() : nullptr,
          team.agreed().device_model == choose::DeviceModel{} ? nullptr : &team.agreed().device_model};
}

CachedSelection& selection_of(Team& team, Collective collective, std::size_t bytes, int load, bool drop_in,
                              bool with_devices) {
  const auto index = static_cast<std::size_t>(collective);
  const bool neighbors = is_neighbor(collective);
  const bool leaves_more = neighbors && drop_in;
  const int kept_load = with_devices ? on_devices : load;
  Selections& selections = team.chosen.selections[index];
  if (CachedSelection* cached = selections.find(bytes, leaves_more, kept_load)) return *cached;
  choose::Selection selection;
  if (!with_devices) {
    selection = neighbors ? select_among_neighbors(team, collective, bytes, drop_in)
                          : choose::select(key_of(team, collective, bytes), team.agreed().forced.of(collective));
    if (selection.why.reason == Reason::no_inboxes) selection.why.reason = team.inbox_obstacle;
  } else {
    const choose::Choice host = selection_of(team, collective, bytes, load, drop_in).selection.choice;
    selection = neighbors ? choose::select_for_devices(neighbor_key_of(team, collective, bytes, drop_in), host)
                          : choose::select_for_devices(key_of(team, collective, bytes), host,
                                                       &team.agreed().by_size.on_devices[index]);
  }
  const bool differs = neighbors ? with_devices && bytes == 0 : is_dense(collective) && !is_sized(collective);
  const bool follows_load = differs && !selection.rivals.empty();
  return selections.keep({.bytes = bytes,
                          .drop_in = leaves_more,
                          .load = kept_load,
                          .selection = std::move(selection),
                          .follows_load = follows_load});
}

bool is_decided(const CachedSelection& cached) {
  return cached.trial != nullptr ? cached.trial->trial.contest.decided() : cached.selection.rivals.empty();
}

const Prepared& prepared_of(Team& team, Collective collective, CachedSelection& cached) {
  if (!cached.prepared) cached.prepared = prepare(team, collective, cached.selection.choice);
  return *cached.prepared;
}

void explain(Team& team, Collective collective, CachedSelection& cached) {
  if (cached.explained || !team.counted.explains) return;
  cached.explained = true;
  explain(team, collective, cached.bytes, choose::to_string(cached.selection.choice), cached.selection.why);
}

void force(Team& team, Collective collective, const choose::Choice& choice) {
  team.change_agreed().forced.by_collective[static_cast<std::size_t>(collective)] = choice;
  forget_selections(team);
}

void use_measured(Team& team, std::vector<choose::NeighborEntry> measured) {
  team.change_agreed().measured = std::move(measured);
}

MayTry let_try(Team& team, MayTry may_try) { return std::exchange(team.change_agreed().may_try, may_try); }

void forget_selections(Team& team) {
  for (Selections& selections : team.chosen.selections) selections.forget();
  std::ranges::fill(team.asked.kept, nullptr);
  std::ranges::fill(team.asked.kept_by_pairs, nullptr);
  drop_cached_calls();
}

}  // namespace quadrille::team
