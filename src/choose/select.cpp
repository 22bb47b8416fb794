#include "choose/select.hpp"

#include <fmt/core.h>

namespace quadrille::choose {
namespace {

// Up to so many ranks the sparse exchange goes by rounds.
constexpr int most_ranks_for_rounds = 16;

bool is_large(const GlobalKey& key) { return is_sized(key.collective) && key.bytes > key.inbox_limit; }

// No memory is shared, so only the number of ranks counts.
Selection select_exchange(const GlobalKey& key, const Choice& forced) {
  if (forced.algorithm != nullptr) return {forced, "forced"};
  if (key.ranks <= most_ranks_for_rounds) {
    return {plain(key.collective, "bruck"), "few ranks: a few rounds need no barrier"};
  }
  return {plain(key.collective, "consensus"), "many ranks: each block goes straight to its place"};
}

// Over several nodes, by the model alone.
Selection select_by_model(const GlobalKey& key, const std::string& obstacle) {
  Selection own{plain(key.collective, "mpi"), obstacle};
  if (key.model == nullptr || key.costs == nullptr || key.nodes == 1) return own;
  if (!is_sized(key.collective)) {
    const auto can_serve = [&](const Algorithm& algorithm) { return why_not(algorithm, key).empty(); };
    if (!worth_agreeing(*key.model, *key.costs, can_serve)) return own;
    own.why = "the cost model chooses by the load";
    own.by_load = true;
    return own;
  }
  const auto bytes = static_cast<double>(key.bytes);
  const Priced best = fastest(key, {bytes, bytes});
  return {best.choice, is_of_the_mpi(*best.choice.algorithm)
                           ? "the cost model finds nothing faster"
                           : fmt::format("the cost model expects {:.1f} us", best.seconds * 1e6)};
}

// A node needs so many ranks for the order of its copies to count.
constexpr int fewest_ranks_for_orders = 8;

// The orders of copies that may replace single-copy, which copies row by row.
std::vector<Choice> orders(const GlobalKey& key) {
  if (!key.tries || !key.load_store || key.ranks < fewest_ranks_for_orders || !is_sized(key.collective)) return {};
  std::vector<Choice> all;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.engine == Engine::node && serves(algorithm, key.collective) &&
        !is_another_on_one_node(algorithm, key.ranks)) {
      all.push_back(plain(key.collective, algorithm.name));
    }
  }
  return all;
}

Choice named(Collective collective, const std::string& text) {
  Choice choice;
  parse_choice(collective, text, choice);
  return choice;
}

// Above this leaders would send blocks in many pieces.
constexpr std::size_t most_for_leaders = std::size_t{64} << 10;

// Through leaders: one, two, and all ranks of each node.
void add_leaders(const GlobalKey& key, std::vector<Choice>& rivals) {
  if (find(key.collective, "leaders") == nullptr || (is_sized(key.collective) && key.bytes > most_for_leaders)) return;
  for (const int leaders : {1, 2, key.ranks_on_node}) {
    if (leaders > key.ranks_on_node || (leaders == 2 && key.ranks_on_node == 2)) continue;
    rivals.push_back(named(key.collective, fmt::format("leaders:leaders={}", leaders)));
  }
}

// Blocks that are small enough to be passed on.
constexpr std::size_t most_passed_on = 1024;

// With one rank a node there is no memory to share: what sends fewer messages.
void add_fewer_messages(const GlobalKey& key, std::vector<Choice>& rivals) {
  if (is_sized(key.collective) && key.bytes > most_passed_on) return;
  for (const char* text : {"zero-rotation-bruck", "two-phase-bruck:radix=2", "two-phase-bruck:radix=4", "mn-co"}) {
    if (const Choice choice = named(key.collective, text); choice.algorithm != nullptr) rivals.push_back(choice);
  }
}

// The ranks of a node may share memory for their part of a call, in their order or in that of HINT, or for all of it.
Selection try_between_nodes(const GlobalKey& key, Selection own) {
  const bool alone = key.ranks == key.nodes;
  if (!key.tries_between || (!alone && !key.direct) || key.nodes == 1 || own.by_load) return own;
  if (!is_of_the_mpi(*own.choice.algorithm)) own.rivals.push_back(plain(key.collective, "mpi"));
  if (alone) {
    add_fewer_messages(key, own.rivals);
    return own;
  }
  own.rivals.push_back(plain(key.collective, "single-copy"));
  add_leaders(key, own.rivals);
  return own;
}

// What was measured to be best for blocks of this size; without algorithm: nothing was measured for it.
Selection select_measured(const GlobalKey& key) {
  const SizedChoice* found = key.measured == nullptr ? nullptr : choice_for(*key.measured, key.bytes);
  if (found == nullptr) return {};
  const Algorithm* algorithm = found->choice.algorithm;
  const std::string obstacle = algorithm == nullptr ? "" : why_not(*algorithm, key);
  if (algorithm != nullptr && obstacle.empty()) return {found->choice, "measured before, says the tuning table"};
  GlobalKey unmeasured = key;
  unmeasured.measured = nullptr;
  unmeasured.tries = unmeasured.tries_between = false;
  Selection selection = select(unmeasured, {});
  selection.why += algorithm == nullptr
                       ? "; nothing faster was measured before, says the tuning table"
                       : fmt::format("; the measured {} cannot serve it: {}", algorithm->name, obstacle);
  return selection;
}

}  // namespace

Choice plain(Collective collective, std::string_view name) {
  Choice choice;
  parse_choice(collective, name, choice);
  return choice;
}

std::string why_not(const Algorithm& algorithm, const GlobalKey& key) {
  const EngineRow& engine = row_of(algorithm.engine);
  if (engine.why_not != nullptr) {
    if (std::string why = engine.why_not(key); !why.empty()) return why;
  }
  if (algorithm.needs.one_node && key.nodes != 1) return fmt::format("the ranks live on {} nodes", key.nodes);
  if (!algorithm.needs.load_store) return {};
  if (!key.direct) return "memory of the node cannot be shared";
  return key.load_store ? "" : "not all ranks of a node reach each other's memory by load and store";
}

Priced fastest(const GlobalKey& key, const Load& load) {
  return fastest(load, *key.model, *key.costs, [&](const Algorithm& algorithm) { return why_not(algorithm, key).empty(); });
}

Selection select(const GlobalKey& key, const Choice& forced) {
  if (row_of(key.collective).partners == Partners::named) return select_exchange(key, forced);
  if (forced.algorithm != nullptr) {
    const std::string obstacle = why_not(*forced.algorithm, key);
    if (obstacle.empty()) return {forced, "forced"};
    return {plain(key.collective, "mpi"),
            fmt::format("the forced {} cannot serve it: {}", forced.algorithm->name, obstacle)};
  }
  if (Selection measured = select_measured(key); measured.choice.algorithm != nullptr) return measured;
  if (const std::string obstacle = why_no_inbox(key); !obstacle.empty()) {
    return try_between_nodes(key, select_by_model(key, obstacle));
  }
  if (is_sized(key.collective) && (!is_large(key) || (!key.direct && key.bytes <= key.slot_limit))) {
    return {plain(key.collective, "inbox"), "one node, and the block fits the inboxes"};
  }
  if (key.direct) {
    return {plain(key.collective, "single-copy"),
            is_sized(key.collective) ? "one node, and the block is large: one copy is better"
                                     : "one node; each block goes by the best way for its size",
            false, orders(key)};
  }
  if (is_large(key)) return {plain(key.collective, "mpi"), too_large(key)};
  return {plain(key.collective, "inbox"), "one node; blocks that fit go through inboxes"};
}

}  // namespace quadrille::choose
