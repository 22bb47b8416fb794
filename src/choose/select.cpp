#include "choose/select.hpp"

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
bool in_one_node(const GlobalKey& key) { return why_no_inbox(key) == Reason::none; }

struct Rule {
  bool (*holds)(const GlobalKey&);
  std::string_view algorithm;
  Reason why;
  bool tries = false;  // on one node: there may be something faster
};
constexpr Rule rules[] = {
    {[](const GlobalKey& key) { return names_partners(key) && key.ranks <= most_ranks_for_rounds; }, "bruck",
     Reason::few_ranks},
    {names_partners, "consensus", Reason::many_ranks},
    {[](const GlobalKey& key) { return is_regular(key.collective) && !is_large(key); }, "inbox", Reason::fits_inboxes,
     true},
    {[](const GlobalKey& key) { return is_sized(key.collective) && !is_large(key); }, "inbox", Reason::fits_inboxes},
    {[](const GlobalKey& key) { return in_one_node(key) && is_sized(key.collective); }, "single-copy",
     Reason::large_in_a_node, true},
    {in_one_node, "single-copy", Reason::any_size_in_a_node, true},
    {in_one_node, "inbox", Reason::small_in_a_node},
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
    if (why_not(*choice.algorithm, key) != Reason::none) continue;
    Selection selection{std::move(choice), {rule.why}};
    if (rule.tries && key.tries) selection.rivals = rivals_in_a_node(key);
    return selection;
  }
  const Reason obstacle = why_no_inbox(key);
  return {plain(key.collective, "mpi"), with_numbers(obstacle == Reason::none ? Reason::too_large : obstacle, key)};
}

// ---- What is known of messages between nodes ----

// Without algorithm if there is no model. Its choice can serve the call.
Selection select_by_model(const GlobalKey& key) {
  if (key.model == nullptr || key.costs == nullptr || key.nodes == 1) return {};
  if (!is_sized(key.collective)) {
    const auto can_serve = [&](const Algorithm& algorithm) { return why_not(algorithm, key) == Reason::none; };
    if (!worth_agreeing(*key.model, *key.costs, can_serve)) return {};
    return {plain(key.collective, "mpi"), {Reason::modelled_by_load}, true};
  }
  const Priced best = fastest(key, even_load(key.bytes));
  if (is_of_the_mpi(*best.choice.algorithm)) return {best.choice, {Reason::nothing_modelled_faster}};
  return {best.choice, {.reason = Reason::modelled, .number = best.seconds * 1e6}};
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
  Why obstacle = algorithm == nullptr ? Why() : why_not(found->choice, key);
  if (algorithm != nullptr && obstacle.reason == Reason::none) return {found->choice, {Reason::measured}};
  GlobalKey known = key;
  known.tries = known.tries_between = false;
  Selection selection = select_unmeasured(known);
  selection.why.then.push_back(algorithm == nullptr ? Why{Reason::nothing_measured_faster}
                                                    : cannot(Reason::measured_cannot, *algorithm, std::move(obstacle)));
  return selection;
}

}  // namespace

Reason why_not(const Algorithm& algorithm, const GlobalKey& key) {
  const EngineRow& engine = row_of(algorithm.engine);
  if (engine.why_not != nullptr) {
    if (const Reason why = engine.why_not(key); why != Reason::none) return why;
  }
  if (algorithm.needs.device_mpi && !key.mpi_collects_devices) return Reason::no_device_mpi;
  if (algorithm.needs.one_node && key.nodes != 1) return Reason::several_nodes;
  if (!algorithm.needs.load_store) return Reason::none;
  if (!key.direct) return Reason::not_direct;
  return key.load_store ? Reason::none : Reason::no_load_store;
}

Why why_not(const Choice& choice, const GlobalKey& key) {
  const Reason why = why_not(*choice.algorithm, key);
  if (why != Reason::none || choice.inner == nullptr || key.nodes == 1) return with_numbers(why, key);
  const Algorithm& inner = *choice.inner->algorithm;
  const Reason of_inner = why_not(inner, key);
  if (of_inner == Reason::none) return {};
  return cannot(Reason::inner_cannot, inner, with_numbers(of_inner, key));
}

Why cannot(Reason reason, const Algorithm& algorithm, Why obstacle) {
  return {.reason = reason, .name = std::string(algorithm.name), .then = {std::move(obstacle)}};
}

Priced fastest(const GlobalKey& key, const Load& load) {
  const auto can_serve = [&](const Algorithm& algorithm) { return why_not(algorithm, key) == Reason::none; };
  return fastest(load, *key.model, *key.costs, can_serve);
}

Selection select(const GlobalKey& key, const Choice& forced) {
  if (forced.algorithm != nullptr) {
    Why obstacle = why_not(forced, key);
    if (obstacle.reason == Reason::none) return {forced, {Reason::forced}};
    return {plain(key.collective, "mpi"), cannot(Reason::forced_cannot, *forced.algorithm, std::move(obstacle))};
  }
  if (Selection measured = select_measured(key); measured.choice.algorithm != nullptr) return measured;
  return select_unmeasured(key);
}

}  // namespace quadrille::choose
