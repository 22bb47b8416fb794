#include "team/switch_points.hpp"

#include <fmt/core.h>

#include <fstream>
#include <mutex>
#include <utility>

#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

// An empty table if there is none, or if it is refused. What is wrong is said once: by rank 0 of
// MPI_COMM_WORLD, or by whoever is to explain.
choose::TuningTable load_table(bool speaks) {
  choose::TuningTable table;
  const std::string path = choose::tuning_path(sys::environment);
  if (path.empty()) return {};
  std::string why;
  const choose::FileState state = choose::read_tuning_file(path, table, why);
  const bool is_named = !sys::environment("QUADRILLE_TUNING").empty();
  if (state == choose::FileState::bad && speaks) {
    say(fmt::format("tuning table '{}': {}; ignored", path, why));
  }
  if (state == choose::FileState::absent && is_named && speaks) {
    say(fmt::format("tuning table '{}': file not found", path));
  }
  if (state != choose::FileState::good) return {};
  if (table.machine == this_machine()) return table;
  if (config().explain && speaks) {
    say(fmt::format("tuning table '{}': made on another machine ({}, {} cores); ignored", path, table.machine.processor,
                    table.machine.cores));
  }
  return {};
}

// What this process measured.
struct Measured {
  std::mutex mutex;
  choose::TuningTable table;
  choose::Verdicts verdicts;
};
Measured& measured() { return sys::immortal<Measured>(); }

}  // namespace

const choose::TuningTable& table_of_this_process() {
  const bool speaks = rank_in(mpi().comm_world) == 0;  // asked before others may wait for the table
  static const auto* table = new choose::TuningTable(load_table(speaks));
  return *table;
}

choose::Machine this_machine() {
  choose::Machine machine;
  machine.cores = sys::online_processors();
  std::ifstream stream("/proc/cpuinfo");
  // AArch64 gives no name, but a number of the kind of core.
  for (std::string line; std::getline(stream, line);) {
    const bool is_name = line.starts_with("model name") || line.starts_with("CPU part");
    const std::size_t colon = line.find(": ");
    if (!is_name || colon == std::string::npos) continue;
    machine.processor = line.substr(colon + 2);
    break;
  }
  return machine;
}

// What was measured by this process counts for communicators of half to twice as many ranks.
choose::SwitchPoints look_up_switch_points(int ranks, bool crowded, bool& known) {
  known = true;
  if (const auto* entry = choose::nearest(table_of_this_process().entries, {ranks, crowded, {}})) return entry->points;
  const std::lock_guard lock(measured().mutex);
  const auto* entry = choose::nearest(measured().table.entries, {ranks, crowded, {}});
  if (entry != nullptr && entry->ranks <= 2 * ranks && ranks <= 2 * entry->ranks) return entry->points;
  known = !may_measure();
  return choose::default_switch_points(crowded);
}

bool may_measure() { return !choose::tuning_path(sys::environment).empty(); }

void keep_switch_points(const choose::TuningEntry& entry) {
  const std::lock_guard lock(measured().mutex);
  choose::put(measured().table.entries, entry);
}

std::optional<choose::Verdict> verdict_of(const choose::Case& of) {
  const std::lock_guard lock(measured().mutex);
  const auto found = measured().verdicts.find(of);
  return found == measured().verdicts.end() ? std::nullopt : std::optional(found->second);
}

void keep_verdict(const choose::Case& of, choose::Verdict verdict) {
  const std::lock_guard lock(measured().mutex);
  choose::keep_verdict(measured().verdicts, of, std::move(verdict));
}

choose::Verdicts all_verdicts() {
  const std::lock_guard lock(measured().mutex);
  return measured().verdicts;
}

choose::DeviceModel look_up_model(const plan::NodeMap& nodes, bool crowded, bool on_devices) {
  const auto* entry = choose::nearest(table_of_this_process().models,
                                      {nodes.ranks(), nodes.ranks_on_fullest_node(), crowded, {}, on_devices});
  return entry != nullptr ? choose::DeviceModel{entry->model, entry->bus} : choose::DeviceModel{};
}

namespace {

choose::ChoicesByCollective look_up_choices(const plan::NodeMap& nodes, bool crowded, bool on_devices) {
  choose::ChoicesByCollective choices;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const Collective of : {collective, regular_of(collective)}) {
      const auto* entry = choose::nearest_algorithms(table_of_this_process(), of, nodes, crowded, on_devices);
      if (entry == nullptr || (of != collective && !is_sized(collective))) continue;
      choices[c] = entry->choices;
      break;
    }
  }
  return choices;
}

}  // namespace

std::string look_up_algorithms(const plan::NodeMap& nodes, bool crowded) {
  choose::MeasuredChoices found{look_up_choices(nodes, crowded, false), look_up_choices(nodes, crowded, true)};
  if (nodes.nodes == 1) {
    found.inside =
        choose::nearest_of_each(table_of_this_process().inside, nodes.ranks(), nodes.ranks_on_fullest_node(), crowded);
  }
  return choose::text_of(found);
}

void learn_verdicts() {
  const choose::Verdicts verdicts = all_verdicts();
  const std::string path = choose::tuning_path(sys::environment);
  if (path.empty()) return;
  if (verdicts.empty()) return say(fmt::format("no trial was completed: nothing new to save in '{}'", path));
  const std::string why =
      choose::update_tuning_file(path, this_machine(), [&](auto& table) { choose::put_verdicts(table, verdicts); });
  if (!why.empty()) {
    say("cannot save what the trials found: " + why);
  } else {
    say(fmt::format("saved the results of {} trials in '{}'", verdicts.size(), path));
  }
}

void settle_switch_points(Team& team) { team.change_agreed().points = Points::known; }

void use_switch_points(Team& team, const choose::SwitchPoints& points) { team.group.change_reach().points = points; }

}  // namespace quadrille::team
