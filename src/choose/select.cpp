#include "choose/select.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "choose/candidates.hpp"

namespace quadrille::choose {
namespace {

// ---- The default: the first rule that holds, and whose algorithm can serve the call ----

// Up to so many ranks the sparse exchange goes by rounds.
constexpr int most_ranks_for_rounds = 16;

bool is_large(const GlobalKey& key) { return is_sized(key.collective) && key.bytes > key.inbox_limit; }
bool names_partners(const GlobalKey& key) { return row_of(key.collective).partners == Partners::named; }
bool in_one_node(const GlobalKey& key) { return why_no_inbox(key).empty(); }

struct Rule {
  bool (*holds)(const GlobalKey&);
  std::string_view algorithm, why;
  bool tries = false;  // on one node: there may be something faster
};
constexpr Rule rules[] = {
    {[](const GlobalKey& key) { return names_partners(key) && key.ranks <= most_ranks_for_rounds; }, "bruck",
     "few ranks: a few rounds need no barrier"},
    {names_partners, "consensus", "many ranks: each block goes straight to its place"},
    {[](const GlobalKey& key) { return is_sized(key.collective) && !is_large(key); }, "inbox",
     "one node, and the block fits the inboxes"},
    {[](const GlobalKey& key) { return in_one_node(key) && is_sized(key.collective); }, "single-copy",
     "one node, and the block is large: one copy is better", true},
    {in_one_node, "single-copy", "one node; each block goes by the best way for its size"},
    {in_one_node, "inbox", "one node; blocks that fit go through inboxes"},
};

// Other orders of copies, and the MPI's own beside them.
std::vector<Choice> rivals_in_a_node(const GlobalKey& key) {
  std::vector<Choice> rivals = tried_candidates(key);
  const bool has_ours =
      std::any_of(rivals.begin(), rivals.end(), [](const Choice& c) { return !is_of_the_mpi(*c.algorithm); });
  return has_ours ? rivals : std::vector<Choice>();
}

Selection select_by_rules(const GlobalKey& key) {
  for (const Rule& rule : rules) {
    if (!rule.holds(key)) continue;
    Choice choice = plain(key.collective, rule.algorithm);
    if (!why_not(*choice.algorithm, key).empty()) continue;
    Selection selection{std::move(choice), std::string(rule.why)};
    if (rule.tries && key.tries) selection.rivals = rivals_in_a_node(key);
    return selection;
  }
  const std::string obstacle = why_no_inbox(key);
  Selection selection{plain(key.collective, "mpi"), obstacle.empty() ? too_large(key) : obstacle};
  selection.lacks_inboxes = key.nodes == 1 && !key.inbox;
  if (selection.lacks_inboxes) selection.why.clear();
  return selection;
}

// ---- What is known of messages between nodes ----

// Without algorithm if there is no model. Its choice can serve the call.
Selection select_by_model(const GlobalKey& key) {
  if (key.model == nullptr || key.costs == nullptr || key.nodes == 1) return {};
  if (!is_sized(key.collective)) {
    const auto can_serve = [&](const Algorithm& algorithm) { return why_not(algorithm, key).empty(); };
    if (!worth_agreeing(*key.model, *key.costs, can_serve)) return {};
    return {plain(key.collective, "mpi"), "the cost model chooses by the load", true};
  }
  const auto bytes = static_cast<double>(key.bytes);
  const Priced best = fastest(key, {bytes, bytes});
  return {best.choice, is_of_the_mpi(*best.choice.algorithm)
                           ? "the cost model finds nothing faster"
                           : fmt::format("the cost model expects {:.1f} us", best.seconds * 1e6)};
}

// What may be faster than the MPI's own between nodes, with what the model chose in front. The MPI's own stays unless
// the first calls show a gain, whatever the model says.
void try_between_nodes(const GlobalKey& key, Selection& selection) {
  const bool alone = key.ranks == key.nodes;
  if (!key.tries_between || (!alone && !key.direct)) return;
  std::vector<Choice> rivals = tried_candidates(key);
  const std::string modelled = to_string(selection.choice);
  std::erase_if(rivals, [&](const Choice& one) { return is_of_the_mpi(*one.algorithm) || to_string(one) == modelled; });
  if (!is_of_the_mpi(*selection.choice.algorithm)) {
    rivals.insert(rivals.begin(), std::exchange(selection.choice, plain(key.collective, "mpi")));
  }
  selection.rivals = std::move(rivals);
}

Selection select_unmeasured(const GlobalKey& key) {
  Selection selection = select_by_model(key);
  if (selection.choice.algorithm == nullptr) selection = select_by_rules(key);
  if (key.nodes > 1 && !selection.by_load && !names_partners(key)) try_between_nodes(key, selection);
  return selection;
}

// ---- What was measured ----

// Without algorithm: nothing was measured for blocks of this size.
Selection select_measured(const GlobalKey& key) {
  const SizedChoice* found = key.measured == nullptr ? nullptr : choice_for(*key.measured, key.bytes);
  if (found == nullptr) return {};
  const Algorithm* algorithm = found->choice.algorithm;
  const std::string obstacle = algorithm == nullptr ? "" : why_not(found->choice, key);
  if (algorithm != nullptr && obstacle.empty()) return {found->choice, "measured before, in the tuning table"};
  GlobalKey known = key;
  known.tries = known.tries_between = false;
  Selection selection = select_unmeasured(known);
  selection.why += algorithm == nullptr
                       ? "; nothing faster was measured before, in the tuning table"
                       : fmt::format("; the measured {} cannot serve it: {}", algorithm->name, obstacle);
  return selection;
}

}  // namespace

std::string why_not(const Algorithm& algorithm, const GlobalKey& key) {
  const EngineRow& engine = row_of(algorithm.engine);
  if (engine.why_not != nullptr) {
    if (std::string why = engine.why_not(key); !why.empty()) return why;
  }
  if (algorithm.needs.device_mpi && !key.mpi_collects_devices) return std::string(no_device_mpi);
  if (algorithm.needs.one_node && key.nodes != 1) return fmt::format("the ranks live on {} nodes", key.nodes);
  if (!algorithm.needs.load_store) return {};
  if (!key.direct) return "memory of the node cannot be shared";
  return key.load_store ? "" : "not all ranks of a node reach each other's memory by load and store";
}

std::string why_not(const Choice& choice, const GlobalKey& key) {
  std::string why = why_not(*choice.algorithm, key);
  if (!why.empty() || choice.inner == nullptr || key.nodes == 1) return why;
  why = why_not(*choice.inner->algorithm, key);
  return why.empty() ? why : fmt::format("{} cannot exchange its rounds: {}", choice.inner->algorithm->name, why);
}

Choice plain(Collective collective, std::string_view name) {
  Choice choice;
  parse_choice(collective, name, choice);
  return choice;
}

Priced fastest(const GlobalKey& key, const Load& load) {
  const auto can_serve = [&](const Algorithm& algorithm) { return why_not(algorithm, key).empty(); };
  return fastest(load, *key.model, *key.costs, can_serve);
}

Selection select(const GlobalKey& key, const Choice& forced) {
  if (forced.algorithm != nullptr) {
    const std::string obstacle = why_not(forced, key);
    if (obstacle.empty()) return {forced, "forced"};
    return {plain(key.collective, "mpi"),
            fmt::format("the forced {} cannot serve it: {}", forced.algorithm->name, obstacle)};
  }
  if (Selection measured = select_measured(key); measured.choice.algorithm != nullptr) return measured;
  return select_unmeasured(key);
}

}  // namespace quadrille::choose
