#include "tool/tune/contenders.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "choose/select.hpp"

namespace quadrille::tools {
namespace {

// With the parameters of which several values are measured.
std::string short_name(const choose::Choice& choice, bool on_devices) {
  std::string name(choice.algorithm->name);
  const char* before = ":";
  for (std::size_t p = 0; p < choice.parameters.size(); ++p) {
    const choose::ParameterRange& range = choice.algorithm->parameters[p];
    if (range.tried.values.empty() && (!on_devices || range.on_devices.empty())) continue;
    name += fmt::format("{}{}={}", std::exchange(before, ","), choice.parameters[p].name, choice.parameters[p].value);
  }
  return name;
}

std::vector<choose::Choice> measured_on_host(const team::Team& team, Collective collective) {
  return choose::measured_candidates(collective, team.group.ranks, team.nodes.nodes,
                                     team.nodes.ranks_on_fullest_node());
}

// What does not take data of a device over the host. All can serve the call.
std::vector<choose::Choice> measured_on_devices(const choose::GlobalKey& key) {
  std::vector<choose::Choice> all;
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    const bool by_messages = algorithm.from_device && key.mpi_sends_devices;
    const bool is_worth_it = algorithm.needs.device_mpi || algorithm.sees_to_devices || by_messages;
    if (!is_worth_it || !serves(algorithm, key.collective) || why_not(algorithm, key) != Reason::none) continue;
    for (choose::Choice& one : choose::variants_on_devices(algorithm, key.nodes == 1)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::vector<Contender> contenders_on_host(team::Team& team, Collective collective) {
  const bool one_node = team.nodes.nodes == 1;
  std::vector<Contender> list;
  if (one_node) list = {{"inbox", {}, team.group.reach().slot_limit, true}, {"single-copy", {}, 0, true}};
  for (const choose::Choice& choice : team::without_twins(team, collective, measured_on_host(team, collective))) {
    list.push_back({short_name(choice, false), choice, 0, is_of_the_mpi(*choice.algorithm) && !one_node});
  }
  return list;
}

std::vector<Contender> contenders_on_devices(team::Team& team, Collective collective) {
  std::vector<choose::Choice> all = measured_on_devices(team::key_of(team, collective, 1));
  const auto is_known = [&](const choose::Choice& one) {
    const auto is_it = [&](const choose::Choice& known) { return to_string(known) == to_string(one); };
    return std::any_of(all.begin(), all.end(), is_it);
  };
  for (const choose::Choice& one : measured_on_host(team, collective)) {
    if (!is_known(one)) all.push_back(one);
  }
  std::vector<Contender> list = {{"default", {}, 0, true}};
  for (const choose::Choice& choice : team::without_twins(team, collective, all)) {
    list.push_back({short_name(choice, true), choice, 0, false});
  }
  return list;
}

}  // namespace quadrille::tools
