#include "choose/select.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

namespace quadrille::choose {

// ---- Which algorithms may be the fastest ----

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

// Larger blocks do not stay in a cache until the program reads them.
constexpr std::size_t most_for_ways = std::size_t{512} << 10;

// The exchange by pairs with one way for all blocks.
std::vector<Choice> other_ways(const GlobalKey& key, const Choice& choice) {
  if (choice.algorithm->engine != Engine::exchange || !is_regular(key.collective) || key.bytes > most_for_ways)
    return {};
  std::vector<Choice> ways;
  for (const Way way : {Way::rings, Way::direct}) {
    ways.push_back(choice);
    ways.back().parameters[0].value = static_cast<std::int64_t>(way);
  }
  // Of two copies, by a ring or a slot, a slot is the shorter way.
  if (const Choice inbox = plain(key.collective, "inbox"); why_not(*inbox.algorithm, key) == Reason::none)
    ways[0] = inbox;
  return ways;
}

// Other ways and orders of copies, and the MPI's own beside them.
std::vector<Choice> rivals_in_a_node(const GlobalKey& key, const Choice& choice) {
  std::vector<Choice> rivals = other_ways(key, choice);
  std::ranges::move(tried_candidates(key), std::back_inserter(rivals));
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
    if (rule.tries && key.tries) selection.rivals = rivals_in_a_node(key, selection.choice);
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

// ---- Neighbours ----

namespace {

// Without a fit: the start of a message costs as much as sending this number of bytes (alpha / beta of the paper).
// Rather small, because the messages of the direct exchange are in flight together, those of the rounds are not.
constexpr plan::Machine unknown_machine = {1024, 1, 0};

// Larger blocks are not combined unless the model says so, not even if that sends no more of them: the MPI would pack
// what lies scattered.
constexpr double most_combined = 8192;

bool is_fitted(const NeighborKey& key) { return key.machine != plan::Machine{}; }

// Blocks of fewer bytes are better combined by this algorithm than sent directly.
double combined_below(const NeighborKey& key, const CombiningCost& one) {
  // The paper's cut-off is for one message at a time. But those of the direct exchange are in flight together, and
  // rounds wait for each other, which only a fitted model knows: 3 rounds for the 4 nearest neighbours on a torus are
  // no gain.
  if (!is_fitted(key) && 2 * one.rounds > key.costs->neighbors) return 0;
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  const double below = plan::cut_off(machine, key.costs->neighbors, one.rounds, one.volume);
  return is_fitted(key) && std::isfinite(below) ? below : std::min(below, most_combined);
}

double cost_of(const NeighborKey& key, const CombiningCost& one) {
  const plan::Machine& machine = is_fitted(key) ? key.machine : unknown_machine;
  return static_cast<double>(one.rounds) * (machine.alpha + machine.rho) +
         static_cast<double>(one.volume) * static_cast<double>(key.bytes) * machine.beta;
}

// What was measured of neighbourhoods like this one; null if nothing was.
const NeighborEntry* measured_for(const NeighborKey& key) {
  NeighborhoodKind kind;
  return kind_of(*key.costs, kind) ? nearest_kind(key.measured, key.collective, kind) : nullptr;
}

// By the best algorithm that combines blocks of this size. If none does, the result has no algorithm.
Selection select_combining(const NeighborKey& key, const NeighborEntry* measured) {
  const CombiningCost* best = nullptr;
  double best_below = 0;  // for blocks of fewer bytes
  for (const CombiningCost& one : key.costs->algorithms) {
    if (one.rounds >= key.costs->neighbors) continue;
    const double below =
        measured != nullptr ? static_cast<double>(measured->largest_combined) + 1 : combined_below(key, one);
    if (static_cast<double>(key.bytes) >= below) continue;
    if (best == nullptr || cost_of(key, one) < cost_of(key, *best)) best = &one, best_below = below;
  }
  if (best == nullptr) return {};
  const Reason below = is_fitted(key) ? Reason::combining_modelled : Reason::combining_small;
  Why when = measured != nullptr
                 ? Why{.reason = Reason::combining_measured, .number = static_cast<double>(measured->largest_combined)}
                 : Why{.reason = below, .number = best_below};
  return {plain(key.collective, best->algorithm->name),
          {.reason = Reason::fewer_messages,
           .number = static_cast<double>(best->rounds),
           .limit = static_cast<double>(key.costs->neighbors),
           .then = {std::move(when)}}};
}

// What was measured to be faster than the default exchange inside a node; null if nothing was.
const Algorithm* measured_order(const NeighborKey& key) {
  NeighborhoodKind kind;
  if (key.costs == nullptr || !key.sizes_known || key.bytes == 0 || !kind_of(*key.costs, kind, 0)) return nullptr;
  const InsideEntry* entry = nearest_kind(key.inside, key.collective, kind);
  const SizedChoice* found = entry == nullptr ? nullptr : choice_for(entry->choices, key.bytes);
  const Algorithm* order = found == nullptr ? nullptr : found->choice.algorithm;
  return order != nullptr && serves(*order, key.collective) && why_not(*order, key) == Reason::none ? order : nullptr;
}

Selection select_in_node(const NeighborKey& key) {
  if (const Algorithm* order = measured_order(key)) {
    return {plain(key.collective, order->name), {Reason::measured_in_a_node}};
  }
  return {plain(key.collective, "rings"), {Reason::shared_node}};
}

Selection select_by_cost(const NeighborKey& key) {
  if (key.in_node) return select_in_node(key);
  if (key.costs != nullptr && key.sizes_known && key.bytes > 0) {
    const NeighborEntry* measured = measured_for(key);
    // Else nothing is known of waiting: for ranks that share processors it costs more than the messages that are saved.
    const bool may_pay = key.rounds_are_cheap || is_fitted(key) || measured != nullptr;
    Selection combining = may_pay ? select_combining(key, measured) : Selection();
    if (combining.choice.algorithm != nullptr) return combining;
  }
  if (key.by_ourselves) return {plain(key.collective, "direct"), {Reason::mpis_mix_edges}};
  return {plain(key.collective, "mpi"), {Reason::no_gain_by_combining}};
}

}  // namespace

Reason why_not(const Algorithm& algorithm, const NeighborKey& key) {
  if (algorithm.needs.device_mpi && !key.mpi_collects_devices) return Reason::no_device_mpi;
  if (algorithm.needs.one_node && !key.in_node) return Reason::no_node_memory;
  if (algorithm.needs.load_store && !key.load_store) return Reason::no_load_store;
  if (algorithm.needs.isomorphic && !key.isomorphic) return Reason::not_isomorphic;
  return algorithm.needs.equal_sizes && !key.sizes_known ? Reason::sizes_unknown : Reason::none;
}

bool kind_of(const CombiningCosts& costs, NeighborhoodKind& kind, std::int64_t saved) {
  const CombiningCost* fewest = nullptr;
  for (const CombiningCost& one : costs.algorithms) {
    if (one.rounds + saved > costs.neighbors) continue;
    const bool better =
        fewest == nullptr || std::tie(one.rounds, one.volume) < std::tie(fewest->rounds, fewest->volume);
    if (better) fewest = &one;
  }
  if (fewest == nullptr || fewest->rounds == 0) return false;
  kind = {costs.neighbors, fewest->rounds, fewest->volume};
  return true;
}

bool is_obeyed(const NeighborKey& key, const Choice& forced) {
  return forced.algorithm != nullptr && why_not(*forced.algorithm, key) == Reason::none;
}

Selection select_neighbors(const NeighborKey& key, const Choice& forced) {
  if (forced.algorithm == nullptr) return select_by_cost(key);
  const Reason obstacle = why_not(*forced.algorithm, key);
  if (obstacle == Reason::none) return {forced, {Reason::forced}};
  Selection other = select_by_cost(key);
  other.why = cannot(Reason::forced_cannot, *forced.algorithm, {obstacle});
  return other;
}

// ---- Memory of devices ----
//
// Which algorithms may serve calls with a device's memory, where the MPI takes it (Namugwanya et al., section 3: its
// two families, and the MPI's own).

namespace {

// Also for a NeighborKey.
template <class Key>
bool may_serve_devices(const Algorithm& one, const Key& key) {
  const bool sends = one.from_device && key.mpi_sends_devices && one.trial.is_tried_on_devices;
  return (one.sees_to_devices || sends) && serves(one, key.collective) && why_not(one, key) == Reason::none;
}

// With the standard values of its parameters; by leaders, too, where it knows them, as several ranks may share a
// device. What has another algorithm exchange its data between nodes has the MPI's own do it, or what serves the host.
std::vector<Choice> values_of(const Algorithm& one, Collective collective, const Choice& host, bool between_nodes) {
  if (!one.sees_to_devices) return {plain(collective, one.name)};
  std::vector<Choice> all = variants_on_devices(one, !between_nodes);
  const bool has_inner = one.engine == Engine::pipeline && between_nodes;
  if (has_inner && !is_of_the_mpi(*host.algorithm) && is_of_the_host(*host.algorithm)) {
    all.push_back(all.front());
    all.back().inner = std::make_shared<const Choice>(Choice{host.algorithm, host.parameters});
  }
  return all;
}

// What stands at first, and what is to be tried against it.
template <class Key>
Selection untried(const Key& key, const Choice& host, bool by_the_mpi, bool may_try, bool between_nodes) {
  Selection selection;
  if (by_the_mpi) {
    selection.choice = plain(key.collective, "cuda-aware-mpi");
    selection.why = {Reason::mpi_takes_devices};
    if (may_try && !is_of_the_mpi(*host.algorithm)) selection.rivals.push_back(host);
  } else {
    selection.choice = host;
    selection.why = {Reason::mpi_lacks_devices};
  }
  if (!may_try) return selection;
  for (const Algorithm& one : algorithms()) {
    if (!may_serve_devices(one, key)) continue;
    for (const Choice& choice : values_of(one, key.collective, host, between_nodes)) {
      if (to_string(choice) != to_string(host)) selection.rivals.push_back(choice);
    }
  }
  return selection;
}

// ---- Between nodes, by the model ----

bool has_model(const GlobalKey& key) {
  return key.nodes > 1 && is_sized(key.collective) && key.model != nullptr && key.costs != nullptr &&
         key.device_model != nullptr;
}

// What serves the host: messages go straight, if the MPI takes them. Else what a rank sends goes to the host, and what
// it receives comes back, each once.
Priced as_on_the_host(const GlobalKey& key, const Choice& host) {
  if (why_no_cost(*host.algorithm) != Reason::none) return {};
  const Model& straight = key.device_model->straight;
  if (host.algorithm->from_device && key.mpi_sends_devices) {
    return straight.quadrille == plan::Machine{} ? Priced() : price(host, even_load(key.bytes), straight, *key.costs);
  }
  const double sent = is_allgather(key.collective) ? 1 : key.ranks, received = key.ranks;
  const Bus& bus = key.device_model->bus;
  Priced priced = price(host, even_load(key.bytes), *key.model, *key.costs);
  priced.seconds += bus.call + bus.byte * (sent + received) * static_cast<double>(key.bytes);
  return priced;
}

Priced by_the_mpi(const GlobalKey& key) {
  const Model& straight = key.device_model->straight;
  if (!key.mpi_collects_devices || straight.mpi == plan::Machine{}) return {};
  Priced own = price(plain(key.collective, "mpi"), even_load(key.bytes), straight, *key.costs);
  own.choice = plain(key.collective, "cuda-aware-mpi");
  return own;
}

Priced fastest_straight(const GlobalKey& key) {
  const Model& straight = key.device_model->straight;
  if (straight.quadrille == plan::Machine{}) return {};
  return fastest(even_load(key.bytes), straight, *key.costs,
                 [&](const Algorithm& one) { return one.from_device && may_serve_devices(one, key); });
}

// What stands at first stays unless another takes less than model_margin of its time.
void look_at_model(const GlobalKey& key, const Choice& host, bool may_try, Selection& selection) {
  const Priced own = by_the_mpi(key), as_host = as_on_the_host(key, host);
  const Priced& usual = key.mpi_collects_devices ? own : as_host;
  if (usual.choice.algorithm == nullptr) return;
  Priced best = fastest_straight(key);
  // The MPI's own on the host's memory is no other way: it would get the device's pointers.
  const bool is_another = key.mpi_collects_devices && !is_of_the_mpi(*host.algorithm);
  if (is_another && as_host.seconds < best.seconds) best = as_host;
  if (best.seconds >= model_margin * usual.seconds) {
    selection.why.then.push_back({Reason::nothing_modelled_faster});
  } else if (may_try) {
    std::erase_if(selection.rivals, [&](const Choice& one) { return to_string(one) == to_string(best.choice); });
    selection.rivals.insert(selection.rivals.begin(), std::move(best.choice));
  } else {
    selection.choice = std::move(best.choice);
    selection.why = {.reason = Reason::modelled_on_devices, .number = best.seconds * 1e6};
  }
}

// Null: nothing was measured, or it cannot serve such calls.
const SizedChoice* measured_for(const GlobalKey& key, const SizedChoices* measured) {
  if (measured == nullptr || !is_sized(key.collective)) return nullptr;
  const SizedChoice* const found = choice_for(*measured, key.bytes);
  if (found == nullptr || found->choice.algorithm == nullptr) return nullptr;
  return why_not(found->choice, key).reason == Reason::none ? found : nullptr;
}

}  // namespace

Selection select_for_devices(const GlobalKey& key, const Choice& host, const SizedChoices* measured) {
  if (const SizedChoice* found = measured_for(key, measured)) return {found->choice, {Reason::measured_on_devices}};
  const bool may_try = key.nodes == 1 ? key.tries : key.tries_between;
  Selection selection = untried(key, host, key.mpi_collects_devices, may_try, key.nodes > 1);
  if (has_model(key)) look_at_model(key, host, may_try, selection);
  return selection;
}

Selection select_for_devices(const NeighborKey& key, const Choice& host) {
  const bool by_the_mpi = key.mpi_collects_devices && !key.by_ourselves;
  return untried(key, host, by_the_mpi, key.tries, false);  // nothing that sees to devices serves neighbours
}

}  // namespace quadrille::choose
