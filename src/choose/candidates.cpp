#include "choose/candidates.hpp"

#include <algorithm>
#include <iterator>

namespace quadrille::choose {
namespace {

// The tool has time, so on several nodes it measures whatever the first calls try anywhere. Inside one node it measures
// no messages: the other engines are there to avoid them.
bool is_measured(Tried tried, int nodes) {
  return tried == Tried::on_one_node || tried == Tried::everywhere || (tried != Tried::nowhere && nodes > 1);
}

bool is_tried(Tried tried, const GlobalKey& key) {
  if (tried == Tried::everywhere) return true;
  if (key.nodes == 1) return tried == Tried::on_one_node && orders_race(key.ranks);
  return tried == (key.ranks == key.nodes ? Tried::with_one_rank_a_node : Tried::on_shared_nodes);
}

// The values of a parameter, the standard one first.
std::vector<std::int64_t> values_of(const ParameterRange& range, int ranks, int ranks_on_node, bool has_time) {
  std::vector<std::int64_t> values = {range.standard};
  const TriedUpTo up_to = range.tried.up_to;
  if (up_to == TriedUpTo::block && !has_time) return values;
  const auto add = [&](std::int64_t value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (const std::int64_t value : range.tried.values) {
    const bool fits = up_to == TriedUpTo::ranks ? value < ranks : value <= ranks_on_node;
    if (fits || up_to == TriedUpTo::block) add(value);
  }
  if (up_to == TriedUpTo::ranks_of_a_node) add(ranks_on_node);
  return values;
}

// An algorithm with each combination of the values of its parameters.
template <class ValuesOf>
std::vector<Choice> with_values(const Algorithm& algorithm, const ValuesOf& values) {
  std::vector<Choice> all = {{&algorithm, {}}};
  for (const ParameterRange& range : algorithm.parameters) {
    std::vector<Choice> more;
    for (const Choice& one : all) {
      for (const std::int64_t value : values(range)) {
        more.push_back(one);
        more.back().parameters.push_back(parameter_of(range, value));
      }
    }
    all = std::move(more);
  }
  return all;
}

// The variants of those that are wanted. What needs an MPI for devices is on the host the MPI's own.
template <class IsWanted>
std::vector<Choice> candidates(Collective collective, int ranks, int nodes, int ranks_on_node, bool has_time,
                               const IsWanted& is_wanted) {
  std::vector<Choice> all;
  for (const Algorithm& one : algorithms()) {
    if (!serves(one, collective) || one.needs.device_mpi || !is_wanted(one)) continue;
    if (nodes == 1 && is_another_on_one_node(one, ranks)) continue;
    std::ranges::move(variants(one, ranks, ranks_on_node, has_time), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::vector<Choice> variants(const Algorithm& algorithm, int ranks, int ranks_on_node, bool has_time) {
  return with_values(algorithm,
                     [&](const ParameterRange& range) { return values_of(range, ranks, ranks_on_node, has_time); });
}

std::vector<Choice> variants_on_devices(const Algorithm& algorithm, bool in_one_node) {
  return with_values(algorithm, [&](const ParameterRange& range) {
    return range.on_devices.empty() || !in_one_node ? std::span(&range.standard, 1) : range.on_devices;
  });
}

std::vector<Choice> measured_candidates(Collective collective, int ranks, int nodes, int ranks_on_node) {
  const auto is_wanted = [&](const Algorithm& one) { return is_measured(row_of(one.engine).tried, nodes); };
  return candidates(collective, ranks, nodes, ranks_on_node, true, is_wanted);
}

bool makes_a_difference(const Choice& choice, std::size_t bytes) {
  for (std::size_t p = 0; p < choice.parameters.size(); ++p) {
    const ParameterRange& range = choice.algorithm->parameters[p];
    const std::int64_t value = choice.parameters[p].value;
    const bool cuts_blocks = range.tried.up_to == TriedUpTo::block && value != range.standard;
    if (cuts_blocks && bytes <= static_cast<std::size_t>(value)) return false;
  }
  return true;
}

std::vector<Choice> tried_candidates(const GlobalKey& key) {
  const auto is_wanted = [&](const Algorithm& one) {
    const bool is_worth_it = one.trial.is_tried && (!is_sized(key.collective) || key.bytes <= one.trial.up_to);
    return is_worth_it && is_tried(row_of(one.engine).tried, key) && why_not(one, key) == Reason::none;
  };
  return candidates(key.collective, key.ranks, key.nodes, key.ranks_on_node, false, is_wanted);
}

}  // namespace quadrille::choose
