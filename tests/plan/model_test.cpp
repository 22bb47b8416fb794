// The closed forms against the schedules, and what the cost model says against the paper.
#include "choose/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "choose/asking.hpp"
#include "lab/map/closed_model.hpp"
#include "plan/algorithms.hpp"
#include "tool/explain/assumed.hpp"

namespace quadrille::choose {
namespace {

using tools::aries;

plan::Counts built(plan::Build build, int ranks, int radix) {
  const plan::NodeMap nodes = plan::one_node(ranks);
  plan::Counts counts = plan::count(build({ranks, 0, &nodes, {{"radix", radix}}}));
  counts.derived_messages = 0;
  return counts;
}

TEST(ClosedForms, EqualTheSchedules) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    EXPECT_EQ(lab::count_spread_out(ranks), built(plan::spread_out, ranks, 2)) << ranks;
    for (const int radix : {2, 3, 4, 5, 8, 16, 69, 100}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, radix " << radix);
      EXPECT_EQ(lab::count_two_phase_bruck(ranks, radix), built(plan::two_phase_bruck, ranks, radix));
      EXPECT_EQ(lab::count_sloav(ranks, radix), built(plan::sloav, ranks, radix));
      EXPECT_EQ(lab::count_zero_rotation_bruck(ranks, radix), built(plan::zero_rotation_bruck, ranks, radix));
    }
  }
}

TEST(ClosedForms, SizesTravelAloneWhereTheDataAreLarge) {
  for (const int ranks : {2, 3, 8, 16, 37}) {
    for (const int radix : {2, 3, 8}) {
      const auto all = lab::count_two_phase_bruck(ranks, radix).size_messages;
      EXPECT_EQ(lab::count_sizes_alone(ranks, radix, 100, 0), all);
      EXPECT_EQ(lab::count_sizes_alone(ranks, radix, 100, 1e9), 0u);
    }
  }
  // P = 8: 4 blocks go in each of 3 rounds.
  EXPECT_EQ(lab::count_sizes_alone(8, 2, 10, 39), 3u);
  EXPECT_EQ(lab::count_sizes_alone(8, 2, 10, 40), 0u);
}

// In closed forms as in counts of schedules: one rank a node, where messages of a call are about as long.
TEST(Model, RoundsOfLongMessagesWaitForAnAnswer) {
  Model model = aries(), waits = aries();
  waits.quadrille.handshake = waits.mpi.handshake = 1;
  waits.eager = 4000;
  const auto extra = [&](const char* text, double block) {
    Choice choice;
    EXPECT_EQ(parse_choice(Collective::alltoall, text, choice), "");
    return std::round(lab::predict(choice, 16, {block, block}, waits) -
                      lab::predict(choice, 16, {block, block}, model));
  };
  EXPECT_EQ(extra("spread-out", 4000), 0);
  EXPECT_EQ(extra("spread-out", 4001), 1);
  EXPECT_EQ(extra("mpi", 4001), 1);
  EXPECT_EQ(extra("zero-rotation-bruck:radix=2", 500), 0) << "8 blocks a message";
  EXPECT_EQ(extra("zero-rotation-bruck:radix=2", 501), 4);
  plan::NodeMap nodes = plan::node_map_from_labels({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  Costs costs(Collective::alltoall, nodes, {});
  Choice bruck;
  EXPECT_EQ(parse_choice(Collective::alltoall, "zero-rotation-bruck:radix=2", bruck), "");
  const auto counted = [&](double block) {
    return std::round(price(bruck, {block, block}, waits, costs).seconds -
                      price(bruck, {block, block}, model, costs).seconds);
  };
  EXPECT_EQ(counted(500), 0);
  EXPECT_EQ(counted(501), 4);
}

TEST(Cost, CountsBlocksAndRounds) {
  plan::Machine machine{0, 0, 0};
  machine.delta = 3;
  machine.rho = 100;
  const plan::Counts counts = lab::count_zero_rotation_bruck(8, 2);
  EXPECT_DOUBLE_EQ(lab::time(counts, machine, 1e6), 3.0 * (1 + 2 * 12) + 300);
}

// Figure 6 of the paper: for which N two-phase Bruck is ahead of spread-out, with its own formulas.
TEST(FanModel, TwoPhaseIsAheadWhereThePaperMeasuredIt) {
  const plan::Machine machine = aries().quadrille;
  const auto ahead = [&](int ranks, double largest) {
    return lab::fan_two_phase_bruck(ranks, largest, machine) < lab::fan_spread_out(ranks, largest, machine);
  };
  for (int ranks = 256; ranks <= 4096; ranks *= 2) EXPECT_TRUE(ahead(ranks, 1024)) << ranks;
  EXPECT_TRUE(ahead(32768, 128));
  // And it loses its lead as blocks and ranks grow.
  EXPECT_FALSE(ahead(4096, 4096));
  EXPECT_FALSE(ahead(32768, 1024));
}

// "certainly for N < 8", equation 3: (N - 8) (P + 1) beta < 4 alpha, where P is a power of two.
TEST(FanModel, PaddedIsAheadOfTwoPhaseForSmallBlocksAndFewRanks) {
  const plan::Machine machine = aries().quadrille;
  for (int ranks = 2; ranks <= 32768; ranks *= 2) {
    for (const double largest : {4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1024.0}) {
      const bool padded =
          lab::fan_padded_bruck(ranks, largest, machine) < lab::fan_two_phase_bruck(ranks, largest, machine);
      EXPECT_EQ(padded, (largest - 8) * (ranks + 1) * machine.beta < 4 * machine.alpha)
          << ranks << " ranks, N = " << largest;
    }
  }
  EXPECT_LT(lab::fan_padded_bruck(1024, 16, machine), lab::fan_two_phase_bruck(1024, 16, machine));
  EXPECT_GT(lab::fan_padded_bruck(4096, 16, machine), lab::fan_two_phase_bruck(4096, 16, machine));
}

std::string best(Collective collective, int ranks, double largest, const Model& model = aries()) {
  return std::string(lab::fastest(collective, ranks, {largest / 2, largest}, model).choice.algorithm->name);
}

TEST(Model, ChoosesBruckForSmallBlocksAndTheMpiForLargeOnes) {
  for (int ranks = 64; ranks <= 32768; ranks *= 2) {
    EXPECT_EQ(best(Collective::alltoallv, ranks, 64), "two-phase-bruck") << ranks;
    EXPECT_EQ(best(Collective::alltoallw, ranks, 64), "two-phase-bruck") << ranks;
    EXPECT_EQ(best(Collective::alltoall, ranks, 16), "zero-rotation-bruck") << ranks;
    EXPECT_EQ(best(Collective::alltoallv, ranks, 1e6), "mpi") << ranks;
    EXPECT_EQ(best(Collective::alltoall, ranks, 1e6), "mpi") << ranks;
  }
  EXPECT_EQ(best(Collective::allgather, 64, 8), "mpi");
}

TEST(Model, PadsWhereWaitingCostsMoreThanPadding) {
  // Blocks too large to travel with their sizes: then two-phase waits twice a round.
  Model model{{0, 0, 0}, {1e-4, 0, 0}};
  model.quadrille.rho = 1e-3;
  const Load load{4096, 4096};
  EXPECT_EQ(lab::fastest(Collective::alltoallv, 512, load, model).choice.algorithm->name, "padded-bruck");
  model.quadrille.beta = 1e-9;  // and padding doubles the bytes
  EXPECT_EQ(lab::fastest(Collective::alltoallv, 512, {2048, 40960}, model).choice.algorithm->name, "two-phase-bruck");
}

TEST(Model, AsksForTheLoadOnlyIfItCanMatter) {
  const auto all = [](const Algorithm& algorithm) { return !algorithm.needs.one_node; };
  const auto apart = [](int ranks) {
    plan::NodeMap map;
    plan::parse_node_map("blocked:1", ranks, map);
    return Costs(Collective::alltoallv, map, {0, {2, 2}});
  };
  Costs many = apart(256), few = apart(4);
  EXPECT_TRUE(worth_agreeing(aries(), many, all));
  EXPECT_FALSE(worth_agreeing(aries(), few, all));
  Model fast_mpi = aries();
  fast_mpi.mpi.alpha = fast_mpi.mpi.beta = 0;
  EXPECT_FALSE(worth_agreeing(fast_mpi, many, all));
}

// What becomes of the calls of a program.
struct Asked {
  int asks = 0;   // of the last 1000 calls
  int wrong = 0;  // calls that ran what the call before them was right for
};
template <class AnswerOfCall>
Asked ask_for(int calls, const AnswerOfCall& right) {
  Asking asking;
  Asked result;
  for (int call = 0; call < calls; ++call) {
    const bool asks = must_ask(asking);
    if (asks) note_answer(asking, right(call));
    if (call >= calls - 1000) result.asks += asks ? 1 : 0;
    result.wrong += asking.now != static_cast<int>(right(call)) ? 1 : 0;
  }
  return result;
}

TEST(Model, AsksLessOftenWhileTheAnswerStays) {
  EXPECT_LT(ask_for(2000, [](int) { return Answer::mpi; }).asks, 50);
  EXPECT_LT(ask_for(2000, [](int) { return Answer::ours; }).asks, 300);
  EXPECT_EQ(ask_for(2000, [](int) { return Answer::ours_for_once; }).asks, 1000) << "padding is never kept";
}

// Whatever the period and the phase in which a program's calls change, they are asked about in the end, and few ran
// what was wrong for them until then.
TEST(Model, ChangingCallsAreAskedAbout) {
  for (int period = 2; period <= 40; ++period) {
    for (int phase = 0; phase < period; ++phase) {
      const Asked often =
          ask_for(20'000, [&](int call) { return call % period == phase ? Answer::mpi : Answer::ours; });
      EXPECT_GT(often.asks, 999) << period << ' ' << phase;
      EXPECT_LT(often.wrong, 100) << period << ' ' << phase;
    }
  }
  // One change for good costs at most the calls that still keep the old answer.
  const Asked once = ask_for(2000, [](int call) { return call < 500 ? Answer::ours : Answer::mpi; });
  EXPECT_LE(once.wrong, 8);
  EXPECT_LT(once.asks, 50);
}

// Each candidate of a choice has finite time, and radices are in range.
TEST(Model, ChoicesAreSound) {
  for (int ranks = 2; ranks <= 100; ++ranks) {
    for (const double largest : {0.0, 1.0, 100.0, 5000.0}) {
      const lab::Prediction found = lab::fastest(Collective::alltoallv, ranks, {largest / 2, largest}, aries());
      EXPECT_TRUE(std::isfinite(found.seconds));
      Choice parsed;
      EXPECT_EQ(parse_choice(Collective::alltoallv, to_string(found.choice), parsed), "");
    }
  }
}

}  // namespace
}  // namespace quadrille::choose
