#include "choose/model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "plan/bruck.hpp"

namespace quadrille::choose {
namespace {

// The smallest load that is looked at when asking whether anything can win.
constexpr double small_block = 8;
// Blocks of up to so many bytes go through inboxes inside a node: written and read, so copied twice.
constexpr double most_of_inbox = 1024;
constexpr int most_passes = 3;
constexpr int most_values = 1000;
// Of an uneven block its size lies in its place, too.
constexpr double size_beside = 4;

plan::BlockBytes bytes_of(const Load& load) { return {load.mean, load.node < 0 ? load.mean : load.node, load.largest}; }
// All blocks as large as the largest.
plan::BlockBytes padded(const Load& load) { return {load.largest, load.largest, load.largest}; }

// A reduction of 16 bytes among all ranks.
plan::Amounts agreement_amounts(const Costs& costs) {
  const double steps = plan::bruck::positions(costs.node_map().ranks(), 2);
  plan::Amounts amounts{};
  of(amounts, plan::Term::message) = of(amounts, plan::Term::round) = steps;
  of(amounts, plan::Term::node_message) = steps * costs.per_node();
  of(amounts, plan::Term::byte) = 16 * steps;
  return amounts;
}

// Padding writes and reads each block once more.
plan::Amounts padding_amounts(const Load& load, const Costs& costs) {
  plan::Amounts amounts = agreement_amounts(costs);
  const double blocks = 2.0 * costs.node_map().ranks();
  of(amounts, plan::Term::copied_block) += blocks;
  of(amounts, plan::Term::copied_byte) += blocks * load.mean;
  return amounts;
}

// The blocks inside a node that go pair by pair through its memory.
plan::Amounts pairs_in_node(const Load& load, const Costs& costs) {
  plan::Amounts sum = plan::amounts(costs.inside(), bytes_of(load));
  if (load.mean <= most_of_inbox) plan::add(sum, sum);
  return sum;
}

// Of uneven blocks those that no place holds go straight to their ranks: of sizes from 0 to the largest so many.
plan::Amounts leaders_amounts(const Choice& choice, const Load& load, const Model& model, Costs& costs) {
  const plan::PlacedCost& cost = costs.of(choice);
  const bool uneven = leaders_kind_of(costs.collective()) == plan::LeadersKind::uneven;
  const double at_once = sent_at_once(model);
  if (!uneven || load.largest <= cost.piece) return plan::amounts(cost, bytes_of(load), at_once);
  const double share = load.mean >= load.largest ? 1 : (load.largest - cost.piece) / load.largest;
  const double left = std::min(load.mean, cost.piece) * (1 - share);
  plan::Amounts sum = plan::amounts(cost, {left, left, left}, at_once);
  plan::add(sum, plan::amounts(costs.of(plain(costs.collective(), "spread-out")), bytes_of(load), at_once), share);
  return sum;
}

// For which of ours the MPI's own may be taken.
std::span<const std::string_view> stand_ins(Collective collective) {
  static constexpr std::string_view exchanges[] = {"spread-out", "zero-rotation-bruck"};
  static constexpr std::string_view gathers[] = {"ring", "bruck", "recursive-doubling"};
  if (is_allgather(collective)) return gathers;
  return std::span(exchanges).first(is_sized(collective) ? 2 : 1);  // what forwards blocks knows their size
}

// By the one of its stand-ins that is fastest.
Priced price_mpi(const plan::BlockBytes& bytes, const Model& model, Costs& costs) {
  Priced best;
  for (const std::string_view name : stand_ins(costs.collective())) {
    const Choice choice = plain(costs.collective(), name);
    const plan::Amounts amounts = plan::amounts(costs.of(choice), bytes, sent_at_once(model));
    const double seconds = plan::time(amounts, model.mpi);
    if (seconds < best.seconds) best = {{}, seconds, {}, amounts, to_string(choice)};
  }
  return best;
}

plan::Amounts amounts_of(const Choice& choice, const Load& load, const Model& model, Costs& costs) {
  const Engine engine = choice.algorithm->engine;
  if (engine == Engine::leaders) return leaders_amounts(choice, load, model, costs);
  const bool pads = engine == Engine::padded;
  plan::Amounts sum = pads ? padding_amounts(load, costs) : plan::Amounts{};
  if (choice.algorithm->build != nullptr)
    plan::add(sum, plan::amounts(costs.of(choice), pads ? padded(load) : bytes_of(load), sent_at_once(model)));
  if (engine == Engine::inbox || engine == Engine::exchange) plan::add(sum, pairs_in_node(load, costs));
  return sum;
}

// The values of a parameter that are worth trying.
std::vector<std::int64_t> values_to_try(const Algorithm& algorithm, const ParameterRange& range, const Costs& costs) {
  std::vector<std::int64_t> values;
  const int per_node = costs.per_node();
  // Those between whom messages go.
  const int group =
      row_of(algorithm.engine).plans == Plans::leaders ? costs.node_map().nodes : costs.node_map().ranks();
  const auto doubling = [&](std::int64_t from, std::int64_t most) {
    for (std::int64_t value = from; value < most; value *= 2) values.push_back(value);
    values.push_back(std::max<std::int64_t>(most, 1));
  };
  const bool is_seen = range.name != "order" && range.name != "rows" && range.name != "way";  // by counts
  if (is_seen && !range.names.empty()) {
    for (std::int64_t value = range.least; value <= range.most; ++value) values.push_back(value);
  } else if (range.name == "radix") {
    std::set<std::int64_t> all = radices(group);
    // Some go by digits inside the node alone.
    if (per_node > 2 && group != per_node) all.merge(radices(per_node));
    values.assign(all.begin(), all.end());
  } else if (range.name == "stride" || range.name == "burst") {
    doubling(2, std::min(group, 64));
  } else if (range.name == "leaders") {
    doubling(1, per_node);
  } else {
    values.push_back(range.standard);
    if (range.name == "group" && per_node >= 8) values.insert(values.end(), {per_node / 2, per_node / 4});
  }
  return values;
}

}  // namespace

Costs::Costs(Collective collective, plan::NodeMap map, const CostsSetting& setting)
    : collective_(collective),
      map_(std::move(map)),
      setting_(setting),
      per_node_(map_.ranks_on_fullest_node()),
      sampled_(plan::sample_ranks(map_, setting.limits)) {
  plan::RoundWork exchange;
  exchange.shared = exchange.shared_data = per_node_;
  plan::CostSum sum(plan::Sizes::known, setting_.processors);
  sum.add({{exchange}}, per_node_);
  sum.end_node(per_node_);
  inside_ = sum.take();
}

const plan::PlacedCost& Costs::of(const Choice& choice) {
  const std::string key = to_string(choice);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, count(choice)).first->second;
}

plan::PlacedCost Costs::count(const Choice& choice) const {
  const Algorithm& algorithm = *choice.algorithm;
  const bool leads = row_of(algorithm.engine).plans == Plans::leaders;
  double place = 0;
  const auto problem = [&](int rank) {
    return plan::Problem{map_.ranks(), rank, &map_, choice.parameters, {}, setting_.away_steps};
  };
  // An MPI looks each block of a derived datatype up, and most copy it into buffers of their own.
  const double scattered = algorithm.needs.derived_types ? 2 : 1;
  plan::Sizes sizes = plan::Sizes::known;
  const auto size_of = [&](const plan::SampledNode& node) {
    double all = 0;
    for (const plan::SampledRank& one : node) all += one.weight;
    return static_cast<int>(std::lround(all));
  };
  std::vector<std::vector<std::pair<plan::RankWork, double>>> nodes;
  for (const plan::SampledNode& node : sampled_) {
    auto& ranks = nodes.emplace_back();
    double looked_at[2] = {0, 0}, all[2] = {0, 0};
    std::vector<bool> leading;
    for (const plan::SampledRank& one : node) {
      if (leads) {
        const plan::LeadersPlan plan = plan::leaders_plan(problem(one.rank), leaders_kind_of(collective_));
        place = static_cast<double>(plan::most_a_place(plan));
        if (plan.kind == plan::LeadersKind::uneven) place = std::max(place - size_beside, size_beside);
        leading.push_back(plan.leads >= 0);
        // Of all that act as nodes in this node.
        all[1] = plan.leaders * static_cast<double>(size_of(node)) / plan.here(), all[0] = size_of(node) - all[1];
        looked_at[leading.back() ? 1 : 0] += 1;
        ranks.emplace_back(plan::work_of(plan, map_), one.weight);
      } else {
        const plan::Schedule schedule = algorithm.build(problem(one.rank));
        sizes = schedule.sizes;
        ranks.emplace_back(plan::work_of(schedule, one.rank, map_, scattered), one.weight);
      }
    }
    // Leaders do what others do not: each kind stands for its own.
    for (std::size_t i = 0; i < leading.size(); ++i) {
      const std::size_t kind = leading[i] ? 1 : 0;
      ranks[i].second = all[kind] / looked_at[kind];
    }
  }
  plan::CostSum sum(sizes, setting_.processors);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const auto& [work, weight] : nodes[n]) sum.add(work, weight);
    sum.end_node(size_of(sampled_[n]));
  }
  plan::PlacedCost cost = sum.take();
  cost.eager = static_cast<double>(plan::value_of(choice.parameters, "eager", 0));
  if (leads) cost.piece = std::min(place, static_cast<double>(plan::value_of(choice.parameters, "piece", 65536)));
  return cost;
}

plan::SampleLimits limits_within_a_call(int ranks) {
  return ranks <= 256 ? plan::SampleLimits{2, 6} : plan::SampleLimits{1, 4};
}

Reason why_no_cost(const Algorithm& algorithm) {
  if (algorithm.needs.device_mpi) return Reason::of_the_mpi;
  if (is_of_the_mpi(algorithm) || algorithm.engine == Engine::inbox || algorithm.build != nullptr ||
      algorithm.engine == Engine::padded) {
    return Reason::none;
  }
  return Reason::no_schedule;
}

Priced price(const Choice& choice, const Load& load, const Model& model, Costs& costs) {
  assert(why_no_cost(*choice.algorithm) == Reason::none);
  Priced result;
  const bool pads = choice.algorithm->engine == Engine::padded;
  const bool by_the_mpi = is_of_the_mpi(*choice.algorithm) || (pads && choice.algorithm->build == nullptr);
  if (by_the_mpi) result = price_mpi(pads ? padded(load) : bytes_of(load), model, costs);
  result.choice = choice;
  if (!is_of_the_mpi(*choice.algorithm)) result.ours = amounts_of(choice, load, model, costs);
  result.seconds = plan::time(result.ours, model.quadrille) + plan::time(result.mpis, model.mpi);
  return result;
}

Priced best_of(const Algorithm& algorithm, const Load& load, const Model& model, Costs& costs) {
  Priced best = price({&algorithm, standard_parameters(algorithm)}, load, model, costs);
  for (int pass = 0; pass < most_passes; ++pass) {
    bool better = false;
    for (std::size_t p = 0; p < algorithm.parameters.size(); ++p) {
      int alike = 0;  // of a parameter that the others make useless not all values are tried
      for (const std::int64_t value : values_to_try(algorithm, algorithm.parameters[p], costs)) {
        Choice choice = best.choice;
        if (choice.parameters[p].value == value || alike == 2) continue;
        choice.parameters[p] = parameter_of(algorithm.parameters[p], value);
        Priced priced = price(choice, load, model, costs);
        alike = priced.seconds == best.seconds ? alike + 1 : -most_values;
        if (priced.seconds >= best.seconds) continue;
        best = std::move(priced);
        better = true;
      }
    }
    if (!better) break;
  }
  return best;
}

Priced fastest(const Load& load, const Model& model, Costs& costs,
               const std::function<bool(const Algorithm&)>& can_serve) {
  Priced best, own;
  for (const Algorithm& algorithm : algorithms()) {
    if (!serves(algorithm, costs.collective()) || why_no_cost(algorithm) != Reason::none || !can_serve(algorithm))
      continue;
    Priced priced = best_of(algorithm, load, model, costs);
    Priced& kept = is_of_the_mpi(algorithm) ? own : best;
    if (priced.seconds < kept.seconds) kept = std::move(priced);
  }
  return own.choice.algorithm == nullptr || best.seconds < model_margin * own.seconds ? best : own;
}

bool worth_agreeing(const Model& model, Costs& costs, const std::function<bool(const Algorithm&)>& can_serve) {
  const Load least{small_block, small_block};
  const Choice own = plain(costs.collective(), "mpi");
  const Priced best = fastest(least, model, costs, can_serve);
  return best.choice.algorithm != nullptr && !is_of_the_mpi(*best.choice.algorithm) &&
         best.seconds + agreement(costs.node_map().ranks(), model) <
             model_margin * price(own, least, model, costs).seconds;
}

std::set<std::int64_t> radices(int ranks) {
  std::set<std::int64_t> all = {2, 3, 4, 8};
  for (int rounds = 2; rounds <= 4; ++rounds) {
    std::int64_t radix = 2;
    while (plan::bruck::positions(ranks, radix) > rounds) ++radix;
    all.insert(radix);
  }
  std::erase_if(all, [&](std::int64_t radix) { return radix >= ranks && radix > 2; });
  return all;
}

double agreement(int ranks, const Model& model) {
  const plan::Machine m = plan::flat(model.mpi, 1);
  return plan::bruck::positions(ranks, 2) * (m.alpha + m.rho + m.beta * 2 * sizeof(std::uint64_t));
}

}  // namespace quadrille::choose
