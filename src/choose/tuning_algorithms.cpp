// What a tuning table says of algorithms.
#include "choose/tuning_algorithms.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "choose/trial.hpp"
#include "choose/tuning.hpp"
#include "choose/tuning_parts.hpp"
#include "plan/problem.hpp"

namespace quadrille::choose {
namespace {

constexpr std::string_view default_word = "default";

constexpr std::string_view unknown_word = "unknown";

std::string read_word(Collective collective, std::string_view word, SizedChoice& one) {
  one.choice = {};
  one.measured = word != unknown_word;
  return word == default_word || word == unknown_word ? "" : parse_choice(collective, word, one.choice);
}

// Why no communicator can be such; empty if one can.
std::string why_impossible(const AlgorithmEntry& entry) {
  if (entry.ranks_on_node > entry.ranks) return "\"ranks_on_node\" must not be more than \"ranks\"";
  const int elsewhere = entry.ranks - entry.ranks_on_node;
  if (elsewhere < entry.nodes - 1 || elsewhere > (entry.nodes - 1) * std::int64_t{entry.ranks_on_node}) {
    return fmt::format("{} ranks with {} on the fullest node are not on {} node{}", entry.ranks, entry.ranks_on_node,
                       entry.nodes, entry.nodes == 1 ? "" : "s");
  }
  return {};
}

SizedChoice read_choice(Table& table, const std::string& path, const AlgorithmEntry& entry) {
  SizedChoice one;
  one.up_to = table.number(path, "up_to", 1, most_bytes_in_table);
  if (!entry.choices.empty() && one.up_to <= entry.choices.back().up_to) {
    table.fail(table.line_of(path, "up_to"), "\"up_to\" must be more than in the choice before");
  }
  const std::string word = table.words(path, "take");
  const std::size_t line = table.line_of(path, "take");
  if (std::string problem = read_word(entry.collective, word, one); !problem.empty()) {
    table.fail(line, problem);
  } else if (one.choice.algorithm != nullptr && one.choice.algorithm->needs.one_node && entry.nodes > 1) {
    table.fail(line, fmt::format("{} is for one node, not {}", one.choice.algorithm->name, entry.nodes));
  }
  return one;
}

// Before the collective in the text, if the data are in a device's memory.
constexpr std::string_view device_mark = "device:";

// "alltoall 512 default" or "device:alltoall 512 default"
void read_line(std::string_view line, MeasuredChoices& measured) {
  const bool on_devices = line.starts_with(device_mark);
  if (on_devices) line.remove_prefix(device_mark.size());
  ChoicesByCollective& choices = on_devices ? measured.on_devices : measured.on_host;
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return;
  Collective collective{};
  SizedChoice one;
  const std::string_view number = line.substr(first + 1, second - first - 1);
  std::from_chars(number.data(), number.data() + number.size(), one.up_to);
  if (!collective_from_name(line.substr(0, first), collective)) return;
  if (!read_word(collective, line.substr(second + 1), one).empty()) one.choice = {};
  if (const auto c = static_cast<std::size_t>(collective); c < choices.size()) choices[c].push_back(std::move(one));
}

}  // namespace

// Where all ranks share a node their number says everything.
bool alike(const AlgorithmEntry& a, const AlgorithmEntry& b) {
  return a.collective == b.collective && a.crowded == b.crowded && (a.nodes == 1) == (b.nodes == 1) &&
         (a.nodes == 1 || a.ranks_on_node == b.ranks_on_node) && a.on_devices == b.on_devices;
}

AlgorithmEntry read_algorithms(Table& table, const std::string& path) {
  AlgorithmEntry entry;
  entry.collective = read_collective(table, path, is_dense);
  entry.ranks = static_cast<int>(table.number(path, "ranks", 2, most_ranks_in_table));
  entry.ranks_on_node = static_cast<int>(table.number(path, "ranks_on_node", 1, most_ranks_in_table));
  entry.nodes = static_cast<int>(table.number(path, "nodes", 1, most_ranks_in_table));
  entry.crowded = table.truth(path, "crowded");
  entry.on_devices = read_on_devices(table, path);
  if (const std::string why = why_impossible(entry); !why.empty()) table.fail(table.line_of(path), why);
  const std::string list = path + "/choices";
  for_each_object(table, list,
                  [&](const std::string& one) { entry.choices.push_back(read_choice(table, one, entry)); });
  if (entry.choices.empty() || entry.choices.size() > most_sized_choices) {
    table.fail(table.line_of(list), fmt::format("\"choices\" must be 1 to {} objects", most_sized_choices));
  }
  return entry;
}

const AlgorithmEntry* nearest_algorithms(const TuningTable& table, Collective collective, const plan::NodeMap& nodes,
                                         bool crowded, bool on_devices) {
  const int ranks = nodes.ranks();
  const AlgorithmEntry wanted{collective, ranks, nodes.ranks_on_fullest_node(), nodes.nodes, crowded, {}, on_devices};
  const AlgorithmEntry* found = nearest(table.algorithms, wanted);
  const bool is_near = found != nullptr && found->ranks <= 2 * ranks && ranks <= 2 * found->ranks;
  return is_near ? found : nullptr;
}

void put_verdicts(TuningTable& table, const Verdicts& verdicts) {
  for (const auto& [of, verdict] : verdicts) {
    // The table does not tell unequal blocks from equal ones.
    const bool on_devices = of.load == load_on_devices;
    if (of.bytes.from > of.bytes.to || of.bytes.to > most_bytes_in_table || (of.load != 0 && !on_devices)) continue;
    AlgorithmEntry entry{of.collective, of.ranks, of.ranks_on_node, of.nodes, of.crowded, {}, on_devices};
    for (const AlgorithmEntry& known : table.algorithms) {
      if (known.ranks == entry.ranks && alike(known, entry)) entry = known;
    }
    if (put_choice(entry.choices, of.bytes.from, of.bytes.to, verdict.best)) put(table.algorithms, entry);
  }
}

const SizedChoice* choice_for(const SizedChoices& choices, std::size_t bytes) {
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return bytes <= c.up_to; });
  return found == choices.end() || !found->measured ? nullptr : &*found;
}

std::size_t default_up_to(const SizedChoices& choices) {
  std::size_t up_to = 0;
  for (const SizedChoice& one : choices) {
    if (one.choice.algorithm != nullptr && one.choice.algorithm->engine != Engine::inbox) return up_to;
    up_to = one.up_to;
  }
  return SIZE_MAX;
}

void keep_default(SizedChoices& choices, std::size_t up_to) {
  if (choices.empty()) return;
  std::erase_if(choices, [&](const SizedChoice& one) { return one.up_to <= up_to; });
  choices.insert(choices.begin(), {up_to, {}});
}

bool put_choice(SizedChoices& choices, std::size_t from, std::size_t to, const Choice& choice) {
  SizedChoices all;
  const auto add = [&](const SizedChoice& one) {
    if (one.up_to <= (all.empty() ? 0 : all.back().up_to)) return;
    if (!all.empty() && word_of(all.back()) == word_of(one)) all.pop_back();
    all.push_back(one);
  };
  const SizedChoice nothing{from - 1, {}, false};
  const auto cut = std::find_if(choices.begin(), choices.end(), [&](const auto& one) { return one.up_to >= from; });
  std::for_each(choices.begin(), cut, add);
  add(cut == choices.end() ? nothing : SizedChoice{from - 1, cut->choice, cut->measured});
  add({to, choice});
  for (const SizedChoice& one : choices) {
    if (one.up_to > to) add(one);
  }
  if (all.size() > most_sized_choices) return false;
  choices = std::move(all);
  return true;
}

std::string word_of(const SizedChoice& one) {
  if (!one.measured) return std::string(unknown_word);
  return one.choice.algorithm == nullptr ? std::string(default_word) : to_string(one.choice);
}

std::string text_of(const MeasuredChoices& choices) {
  std::string text;
  const auto add = [&](const ChoicesByCollective& of, std::string_view mark) {
    for (std::size_t c = 0; c < of.size(); ++c) {
      for (const SizedChoice& one : of[c]) {
        text += fmt::format("{}{} {} {}\n", mark, name_of(static_cast<Collective>(c)), one.up_to, word_of(one));
      }
    }
  };
  add(choices.on_host, "");
  add(choices.on_devices, device_mark);
  return text;
}

MeasuredChoices choices_from(std::string_view text) {
  MeasuredChoices choices;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    read_line(line, choices);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return choices;
}

}  // namespace quadrille::choose
