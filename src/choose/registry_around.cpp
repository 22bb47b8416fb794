// Algorithms around others: padded-NAME, leaders and hint-network take each schedule of the registry that fits them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "choose/registry_parts.hpp"
#include "plan/exchanges.hpp"
#include "plan/hint_network.hpp"
#include "plan/leaders.hpp"

namespace quadrille::choose {
namespace {

// Blocks padded to the size of the largest, then an algorithm for blocks of one size: any that is a schedule, or the
// MPI's own.
Algorithm padded(const Algorithm& inner, std::string name, const std::vector<Collective>& collectives) {
  Needs needs = inner.needs;
  needs.contiguous = true;
  const std::string_view shown = inner.engine == Engine::mpi ? "the MPI's own alltoall" : std::string_view(inner.name);
  return {.name = std::move(name),
          .collectives = collectives,
          .engine = Engine::padded,
          .needs = needs,
          .parameters = inner.parameters,
          .line = fmt::format("blocks padded to the largest, then {}", shown),
          .source = "Fan et al., HPDC 2022, section 3.1",
          .build = inner.build};
}

// Exchanges by name, and what builds each; the first is the standard one.
struct Exchanges {
  std::vector<std::string_view> names;
  std::vector<plan::Build> builds;

  void add(std::string_view name, plan::Build build) { names.push_back(name), builds.push_back(build); }
};

// Not if both would read a parameter called `exchange`.
bool can_be_inside(const Algorithm& row) {
  const auto is_exchange = [](const ParameterRange& range) { return range.name == "exchange"; };
  return !row.needs.derived_types && std::none_of(row.parameters.begin(), row.parameters.end(), is_exchange);
}

Exchanges among_leaders(Collective collective) {
  Exchanges all;
  for (const Algorithm& row : message_schedules()) {
    const bool fits = serves(row, collective) && can_be_inside(row) &&
                      plan::fits_among_leaders(row.build, leaders_kind_of(collective));
    if (fits) all.add(row.name, row.build);
  }
  return all;
}

// In an allgather, too, direct exchanges are those of all-to-alls: their windows count, not their blocks. The standard
// one is that of algorithm 5.
Exchanges between_nodes(Collective collective) {
  Exchanges all;
  all.add("pairwise", plan::pairwise);
  const auto is_there = [&](const Algorithm& row) { return std::ranges::find(all.names, row.name) != all.names.end(); };
  for (const Algorithm& row : message_schedules()) {
    if (is_there(row) || !can_be_inside(row)) continue;
    const bool gathers = is_allgather(collective) && serves(row, collective) && plan::gathers_in_place(row.build);
    if (gathers || plan::direct_window(row.build)) all.add(row.name, row.build);
    for (const plan::RoundsBetweenNodes& rounds : plan::rounds_between_nodes) {
      if (rounds.among_all == row.build && serves(row, collective)) all.add(rounds.name, row.build);
    }
  }
  return all;
}

// A parameter whose values have names; the first is the standard one.
ParameterRange by_name(std::string_view name, std::string_view meaning, std::span<const std::string_view> names) {
  return {name, 0, static_cast<std::int64_t>(names.size()) - 1, 0, meaning, names};
}

ParameterRange exchange_by(Exchanges exchanges, std::string_view meaning) {
  static std::deque<Exchanges> kept;  // for as long as the registry
  const Exchanges& all = kept.emplace_back(std::move(exchanges));
  ParameterRange range = by_name("exchange", meaning, all.names);
  range.builds = all.builds;
  return range;
}

}  // namespace

// Two of them have names of the paper, and come first.
std::vector<Algorithm> all_padded(const std::vector<Collective>& collectives) {
  std::vector<Algorithm> all;
  for (const Algorithm& row : message_schedules()) {
    if (!serves(row, Collective::alltoall)) continue;
    const bool is_named = row.name == "zero-rotation-bruck";
    all.insert(is_named ? all.begin() : all.end(),
               padded(row, is_named ? "padded-bruck" : "padded-" + row.name, collectives));
  }
  all.insert(all.begin() + 1, padded({.engine = Engine::mpi}, "padded-alltoall", collectives));
  return all;
}

Algorithm through_leaders(Algorithm row) {
  const Collective collective = row.collectives.front();
  const plan::LeadersKind kind = leaders_kind_of(collective);
  const bool uneven = kind == plan::LeadersKind::uneven;
  row.parameters = {
      {"leaders", 1, kMost, 1, "of a node; at most all of its ranks", {}, {kTriedLeaders, TriedUpTo::ranks_of_a_node}},
      exchange_by(among_leaders(collective), "among the leaders"),
      uneven ? kPlace : kPiece};
  row.parameters.push_back({"group", 1, kMost, kMost, "ranks, at most, that act as a node"});
  if (kind == plan::LeadersKind::uniform) {
    row.parameters.push_back(by_name("order", "in which a rank packs", plan::leaders_order_names));
  }
  if (!uneven) row.parameters.push_back(kRadixOfExchange);
  if (kind != plan::LeadersKind::gather) row.parameters.push_back(kStride);
  row.name = "leaders";
  row.engine = Engine::leaders;
  row.source = kLiLeaders;
  return row;
}

Algorithm node_then_network(const std::vector<Collective>& collectives, plan::Build build) {
  std::vector<ParameterRange> parameters = {
      exchange_by(between_nodes(collectives.front()), "with ranks of other nodes"),
      by_name("messages", "when: after the copies, or beside them; those of rounds always follow",
              plan::network_messages_names),
      by_name("order", "of the copies", plan::network_order_names()), kStride, kRadixOfExchange};
  if (!is_sized(collectives.front())) parameters.push_back(kEager);
  return {.name = "hint-network",
          .collectives = collectives,
          .engine = Engine::node,
          .needs = kReached,
          .parameters = std::move(parameters),
          .line = "copies of a node in one of the orders, then messages to the ranks of other nodes",
          .source = "Ramesh et al., HINT, section V.F, algorithm 5",
          .build = build};
}

}  // namespace quadrille::choose
