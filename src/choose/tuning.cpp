// What a tuning table says, but for its text (tuning_text.cpp) and its file (tuning_file.cpp).
#include "choose/tuning.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

namespace quadrille::choose {
namespace {

constexpr std::string_view default_word = "default";

constexpr std::string_view unknown_word = "unknown";

// Before the collective in the text, if the data are in a device's memory.
constexpr std::string_view device_mark = "device:";

// Those of the entry of such neighbours, which is the last one, or new.
SizedChoices& choices_inside(std::vector<InsideEntry>& inside, Collective collective, const NeighborhoodKind& kind) {
  const bool is_there = !inside.empty() && inside.back().collective == collective && inside.back().kind == kind;
  return is_there ? inside.back().choices : inside.emplace_back(InsideEntry{collective, 0, false, kind, {}}).choices;
}

// "alltoall 512 default", "device:alltoall 512 default", or with the kind of neighbours inside a node,
// "neighbor_alltoall 512 sh-co 8 4 12"
void read_line(std::string_view line, MeasuredChoices& measured) {
  const bool on_devices = line.starts_with(device_mark);
  if (on_devices) line.remove_prefix(device_mark.size());
  const auto next = [&] {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    return word;
  };
  const auto read_number = [&](auto& number) {
    const std::string_view word = next();
    std::from_chars(word.data(), word.data() + word.size(), number);
  };
  Collective collective{};
  SizedChoice one;
  if (!collective_from_name(next(), collective)) return;
  read_number(one.up_to);
  const std::string_view word = next();
  if (word.empty()) return;
  if (!read_word(collective, word, one).empty()) one.choice = {};
  NeighborhoodKind kind;
  for (std::int64_t* number : {&kind.neighbors, &kind.rounds, &kind.blocks}) read_number(*number);
  if (is_neighbor(collective)) return choices_inside(measured.inside, collective, kind).push_back(std::move(one));
  if (!is_dense(collective)) return;
  (on_devices ? measured.on_devices : measured.on_host)[static_cast<std::size_t>(collective)].push_back(std::move(one));
}

}  // namespace

// Found on 2 cores (AMD EPYC, family 25, model 17) with 2, 4 and 8 ranks. What calls take with them:
// docs/results/inside-a-node.md.
SwitchPoints default_switch_points(bool crowded) {
  SwitchPoints points;
  points.inbox_limit.fill(crowded ? 3072 : 1024);
  points.cma_from = crowded ? 131072 : 10240;
  return points;
}

std::vector<const Algorithm*> inside_orders(Collective collective) {
  std::vector<const Algorithm*> orders;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.build_edges != nullptr && serves(algorithm, collective)) orders.push_back(&algorithm);
  }
  return orders;
}

const AlgorithmEntry* nearest_algorithms(const TuningTable& table, Collective collective, const plan::NodeMap& nodes,
                                         bool crowded, bool on_devices) {
  const int ranks = nodes.ranks();
  const AlgorithmEntry wanted{collective, ranks, nodes.ranks_on_fullest_node(), nodes.nodes, crowded, {}, on_devices};
  const AlgorithmEntry* found = nearest(table.algorithms, wanted);
  const bool is_near = found != nullptr && found->ranks <= 2 * ranks && ranks <= 2 * found->ranks;
  return is_near ? found : nullptr;
}

void put_all(TuningTable& table, const TuningTable& found) {
  for (const TuningEntry& one : found.entries) put(table.entries, one);
  for (const ModelEntry& one : found.models) put(table.models, one);
  for (const NeighborEntry& one : found.neighbors) put(table.neighbors, one);
  for (const InsideEntry& one : found.inside) put(table.inside, one);
  for (const AlgorithmEntry& one : found.algorithms) put(table.algorithms, one);
  if (found.quietness) table.quietness = found.quietness;
}

void put_verdicts(TuningTable& table, const Verdicts& verdicts) {
  for (const auto& [of, verdict] : verdicts) {
    // The table does not tell unequal blocks from equal ones.
    const bool on_devices = of.load == load_on_devices;
    if (of.bytes.from > of.bytes.to || of.bytes.to > most_bytes_in_table || (of.load != 0 && !on_devices)) continue;
    AlgorithmEntry entry{of.collective, of.ranks, of.ranks_on_node, of.nodes, of.crowded, {}, on_devices};
    if (const AlgorithmEntry* const known = same_case(table.algorithms, entry)) entry = *known;
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

std::string read_word(Collective collective, std::string_view word, SizedChoice& one) {
  one.choice = {};
  one.measured = word != unknown_word;
  return word == default_word || word == unknown_word ? "" : parse_choice(collective, word, one.choice);
}

std::string text_of(const MeasuredChoices& choices) {
  std::string text;
  const auto add = [&](Collective collective, const SizedChoices& of, std::string_view mark, const std::string& kind) {
    for (const SizedChoice& one : of)
      text += fmt::format("{}{} {} {}{}\n", mark, name_of(collective), one.up_to, word_of(one), kind);
  };
  for (std::size_t c = 0; c < choices.on_host.size(); ++c) {
    add(static_cast<Collective>(c), choices.on_host[c], "", "");
    add(static_cast<Collective>(c), choices.on_devices[c], device_mark, "");
  }
  for (const InsideEntry& one : choices.inside) {
    const auto& [neighbors, rounds, blocks] = one.kind;
    add(one.collective, one.choices, "", fmt::format(" {} {} {}", neighbors, rounds, blocks));
  }
  return text;
}

// A stream would read numbers by the program's locale, and lose lines silently on a rank that has no memory left.
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
