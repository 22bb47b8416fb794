// What the cost model makes of all algorithms on nodes of several ranks.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "choose/model.hpp"
#include "lab/map/closed_model.hpp"
#include "tests/plan/maps.hpp"
#include "tool/explain/assumed.hpp"

namespace quadrille::choose {
namespace {

using plan::map_of;
using plan::Term;
using tools::aries_nodes;

plan::NodeMap nodes_of(int nodes, int per_node) {
  return map_of(fmt::format("blocked:{}", per_node), nodes * per_node);
}

bool any(const Algorithm& algorithm) { return !algorithm.needs.one_node; }

const std::vector<Collective>& dense() {
  static const std::vector<Collective> list = those(is_dense);
  return list;
}

Load equal(double bytes) { return {bytes, bytes}; }

double seconds_of(Collective collective, const char* name, const plan::NodeMap& map, double bytes,
                  const Model& model = aries_nodes()) {
  Costs costs(collective, map, {model.processors, {2, 4}});
  return best_of(*find(collective, name), equal(bytes), model, costs).seconds;
}

// Nothing that is registered is left out silently.
TEST(ModelCosts, EveryAlgorithmHasATimeOrAReason) {
  for (const Collective collective : dense()) {
    Costs costs(collective, nodes_of(3, 4), {});
    for (const Algorithm& algorithm : algorithms()) {
      if (!serves(algorithm, collective)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name_of(collective), algorithm.name));
      if (why_no_cost(algorithm) != Reason::none) {
        EXPECT_TRUE(algorithm.needs.device_mpi || (algorithm.build == nullptr && !is_of_the_mpi(algorithm)));
        continue;
      }
      const Priced best = best_of(algorithm, equal(64), aries_nodes(), costs);
      EXPECT_TRUE(std::isfinite(best.seconds) && best.seconds > 0);
      Choice again;
      EXPECT_EQ(parse_choice(collective, to_string(best.choice), again), "");
      EXPECT_EQ(again.parameters, best.choice.parameters);
    }
  }
}

TEST(ModelCosts, TimesAreTheSumOfTheirTerms) {
  const Model model = aries_nodes();
  Costs costs(Collective::alltoallv, nodes_of(3, 4), {});
  for (const char* name : {"mpi", "leaders", "padded-alltoall", "padded-bruck", "single-copy"}) {
    const Priced one = best_of(*find(Collective::alltoallv, name), {50, 100}, model, costs);
    EXPECT_DOUBLE_EQ(one.seconds, plan::time(one.ours, model.quadrille) + plan::time(one.mpis, model.mpi)) << name;
  }
}

// One rank a node, one class of messages: what the closed forms say.
TEST(ModelCosts, EqualTheClosedForms) {
  Model model{plan::one_class({1.5e-6, 0.5e-9, 0.1e-9, 7e-9, 2e-6}), plan::one_class({1e-6, 0.4e-9, 0})};
  for (const int ranks : {2, 7, 16, 33}) {
    Costs costs(Collective::alltoallv, nodes_of(ranks, 1), {});
    Costs uniform(Collective::alltoall, nodes_of(ranks, 1), {});
    for (const double bytes : {1.0, 30.0, 1000.0, 50000.0}) {
      for (const char* text : {"spread-out", "two-phase-bruck:radix=2", "two-phase-bruck:radix=3", "sloav", "mpi"}) {
        // Where sizes travel alone only in some rounds, the closed form waits for them in all.
        if (bytes > 30 && text[0] == 't') continue;
        Choice choice;
        parse_choice(Collective::alltoallv, text, choice);
        EXPECT_NEAR(
            price(choice, equal(bytes), model, costs).seconds / lab::predict(choice, ranks, equal(bytes), model), 1,
            1e-9)
            << text << ' ' << ranks << ' ' << bytes;
      }
      Choice choice;
      parse_choice(Collective::alltoall, "zero-rotation-bruck:radix=4", choice);
      EXPECT_NEAR(
          price(choice, equal(bytes), model, uniform).seconds / lab::predict(choice, ranks, equal(bytes), model), 1,
          1e-9);
    }
  }
}

TEST(ModelRanking, BruckIsAheadForSmallBlocksWithOneRankANode) {
  for (const int nodes : {16, 64, 256}) {
    const plan::NodeMap map = nodes_of(nodes, 1);
    EXPECT_LT(seconds_of(Collective::alltoall, "zero-rotation-bruck", map, 8),
              seconds_of(Collective::alltoall, "spread-out", map, 8))
        << nodes;
    EXPECT_LT(seconds_of(Collective::alltoallv, "two-phase-bruck", map, 8),
              seconds_of(Collective::alltoallv, "spread-out", map, 8))
        << nodes;
    EXPECT_LT(seconds_of(Collective::allgather, "bruck", map, 8), seconds_of(Collective::allgather, "ring", map, 8))
        << nodes;
  }
}

TEST(ModelRanking, LeadersAreAheadForSmallBlocksWithSeveralRanksANode) {
  for (const int nodes : {2, 4, 16}) {
    for (const int per_node : {8, 32}) {
      const plan::NodeMap map = nodes_of(nodes, per_node);
      for (const Collective collective : dense()) {
        if (collective == Collective::exchange) continue;
        EXPECT_LT(seconds_of(collective, "leaders", map, 8), seconds_of(collective, "spread-out", map, 8))
            << name_of(collective) << ' ' << nodes << ' ' << per_node;
      }
    }
  }
}

// Large blocks go directly to their ranks: no algorithm that forwards them is faster than all direct ones.
TEST(ModelRanking, DirectAlgorithmsWinForLargeBlocks) {
  for (const auto& [nodes, per_node] : {std::pair(16, 1), std::pair(64, 1), std::pair(8, 8)}) {
    for (const Collective collective : {Collective::alltoall, Collective::alltoallv}) {
      const plan::NodeMap map = nodes_of(nodes, per_node);
      Costs costs(collective, map, {0, {2, 4}});
      const Priced best = fastest(equal(1 << 20), aries_nodes(), costs, [](const Algorithm& algorithm) {
        return any(algorithm) && !is_of_the_mpi(algorithm);
      });
      EXPECT_EQ(best.choice.algorithm->name.find("bruck"), std::string_view::npos) << best.choice.algorithm->name;
      EXPECT_NE(best.choice.algorithm->name, "leaders");
      EXPECT_LE(best.seconds, seconds_of(collective, "spread-out", map, 1 << 20));
    }
  }
}

TEST(ModelRanking, WhatWinsIsTheLeastOfAll) {
  for (const double bytes : {8.0, 500.0, 40000.0}) {
    Costs costs(Collective::alltoall, nodes_of(4, 8), {});
    const Priced best = fastest(equal(bytes), aries_nodes(), costs, any);
    for (const Algorithm& algorithm : algorithms()) {
      if (!serves(algorithm, Collective::alltoall) || !any(algorithm) || is_of_the_mpi(algorithm)) continue;
      if (why_no_cost(algorithm) != Reason::none) continue;
      EXPECT_GE(best_of(algorithm, equal(bytes), aries_nodes(), costs).seconds,
                is_of_the_mpi(*best.choice.algorithm) ? model_margin * best.seconds : best.seconds);
    }
  }
}

// The MPI's own stays unless something else is a tenth faster.
TEST(ModelRanking, TheMpiStaysWithinTheMargin) {
  Model model = aries_nodes();
  Costs costs(Collective::alltoallv, nodes_of(4, 1), {});
  const Load load = equal(1 << 20);
  const auto scaled = [&](double factor) {
    for (const plan::TermRow& row : plan::term_rows) model.mpi.*row.constant = factor * model.quadrille.*row.constant;
    return std::string(fastest(load, model, costs, any).choice.algorithm->name);
  };
  EXPECT_EQ(scaled(1), "mpi");
  EXPECT_EQ(scaled(1.08), "mpi");
  EXPECT_NE(scaled(1.3), "mpi");
}

// Larger blocks, and dearer machines, never take less time.
TEST(ModelMonotony, TimesGrowWithBlocksAndConstants) {
  for (const Collective collective : dense()) {
    Costs costs(collective, map_of("ragged:3,1,4", 16), {0, {2, 4}});
    for (const Algorithm& algorithm : algorithms()) {
      if (!serves(algorithm, collective) || why_no_cost(algorithm) != Reason::none) continue;
      SCOPED_TRACE(fmt::format("{} {}", name_of(collective), algorithm.name));
      double before = 0;
      for (double bytes = 1; bytes < 4e6; bytes *= 1.7) {
        // From here on blocks inside the node are copied once, and not through inboxes.
        if (algorithm.engine == Engine::exchange || algorithm.engine == Engine::inbox) break;
        const double seconds = best_of(algorithm, equal(bytes), aries_nodes(), costs).seconds;
        EXPECT_GE(seconds, before * (1 - 1e-9)) << bytes;
        before = seconds;
      }
      for (const plan::TermRow& row : plan::term_rows) {
        Model dearer = aries_nodes();
        dearer.quadrille.*row.constant += 1e-6;
        dearer.mpi.*row.constant += 1e-6;
        EXPECT_GE(best_of(algorithm, equal(100), dearer, costs).seconds,
                  best_of(algorithm, equal(100), aries_nodes(), costs).seconds)
            << row.name;
      }
    }
  }
}

// More nodes never take less time, and fewer processors neither.
TEST(ModelMonotony, TimesGrowWithNodesAndFallWithProcessors) {
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv, Collective::allgather}) {
    for (const char* name : {"spread-out", "leaders", "single-copy", "hint-row", "mpi"}) {
      double before = 0;
      for (const int nodes : {2, 4, 8, 16}) {
        const double seconds = seconds_of(collective, name, nodes_of(nodes, 4), 64);
        EXPECT_GT(seconds, before) << name_of(collective) << ' ' << name << ' ' << nodes;
        before = seconds;
      }
      before = 0;
      for (const double processors : {4.0, 2.0, 1.0}) {
        Model model = aries_nodes();
        model.processors = processors;
        const double seconds = seconds_of(collective, name, nodes_of(4, 4), 64, model);
        EXPECT_GE(seconds, before) << name_of(collective) << ' ' << name << ' ' << processors;
        before = seconds;
      }
    }
  }
}

// Each copies eight blocks, all of them together 64.
TEST(ModelCosts, RanksShareTheProcessorsOfTheirNodeInside) {
  const auto blocks = [](double processors) {
    return of(Costs(Collective::alltoallv, nodes_of(2, 8), {processors}).inside().per_byte, Term::shared_byte);
  };
  EXPECT_EQ(blocks(0), 8) << "as many processors as ranks";
  EXPECT_EQ(blocks(8), 8);
  EXPECT_EQ(blocks(2), 32);
}

// Of four leaders among sixteen ranks one is looked at. It stands for all of them, and for nobody else.
TEST(ModelCosts, LeadersStandForLeaders) {
  Choice choice;
  ASSERT_EQ(parse_choice(Collective::alltoall, "leaders:leaders=4", choice), "");
  const auto of_node = [&](int ranks_looked_at) {
    Costs costs(Collective::alltoall, nodes_of(4, 16), {0, {4, ranks_looked_at}});
    const plan::PlacedCost& cost = costs.of(choice);
    return std::pair(of(cost.fixed, Term::node_message), of(cost.per_byte, Term::node_byte));
  };
  const auto [messages, bytes] = of_node(16);
  EXPECT_GT(messages, 0);
  for (const int some : {3, 4, 6}) {
    EXPECT_DOUBLE_EQ(of_node(some).first, messages) << some;
    EXPECT_DOUBLE_EQ(of_node(some).second, bytes) << some;
  }
}

TEST(ModelCosts, UnevenLoadsOfTheBusiestRankCount) {
  Costs costs(Collective::alltoallv, nodes_of(4, 4), {});
  const Algorithm& direct = *find(Collective::alltoallv, "spread-out");
  const auto with = [&](const Load& load) { return best_of(direct, load, aries_nodes(), costs).seconds; };
  EXPECT_GT(with({1000, 1000, 100}), with({100, 100, 100}));
  EXPECT_LT(with({1000, 1000, 100}), with({1000, 1000, 1000})) << "its node sends less";
  // Padding pays for the largest.
  const Algorithm& padded = *find(Collective::alltoallv, "padded-spread-out");
  EXPECT_GT(best_of(padded, {100, 10000}, aries_nodes(), costs).seconds,
            best_of(padded, {100, 100}, aries_nodes(), costs).seconds);
}

TEST(ModelCosts, LargeUnevenBlocksGoBesideLeaders) {
  Costs costs(Collective::alltoallv, nodes_of(4, 4), {});
  const Algorithm& leaders = *find(Collective::alltoallv, "leaders");
  const Priced small = best_of(leaders, equal(1000), aries_nodes(), costs);
  const Priced large = best_of(leaders, equal(100000), aries_nodes(), costs);
  EXPECT_EQ(of(small.ours, Term::near_message), 0);
  EXPECT_EQ(of(large.ours, Term::near_message), 3);
}

}  // namespace
}  // namespace quadrille::choose
