// The closed forms against the schedules, and what the cost model says against the paper.
#include "choose/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "choose/asking.hpp"
#include "plan/algorithms.hpp"
#include "plan/closed_forms.hpp"

namespace quadrille::choose {
namespace {

plan::Counts built(plan::Build build, int ranks, int radix) {
  const plan::NodeMap nodes = plan::one_node(ranks);
  plan::Counts counts = plan::count(build({ranks, 0, &nodes, {{"radix", radix}}}));
  counts.derived_messages = 0;
  return counts;
}

TEST(ClosedForms, EqualTheSchedules) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    EXPECT_EQ(plan::count_spread_out(ranks), built(plan::spread_out, ranks, 2)) << ranks;
    for (const int radix : {2, 3, 4, 5, 8, 16, 69, 100}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, radix " << radix);
      EXPECT_EQ(plan::count_two_phase_bruck(ranks, radix), built(plan::two_phase_bruck, ranks, radix));
      EXPECT_EQ(plan::count_sloav(ranks, radix), built(plan::sloav, ranks, radix));
      EXPECT_EQ(plan::count_zero_rotation_bruck(ranks, radix),
                built(plan::zero_rotation_bruck, ranks, radix));
    }
  }
}

TEST(ClosedForms, SizesTravelAloneWhereTheDataAreLarge) {
  for (const int ranks : {2, 3, 8, 16, 37}) {
    for (const int radix : {2, 3, 8}) {
      const auto all = plan::count_two_phase_bruck(ranks, radix).size_messages;
      EXPECT_EQ(plan::count_sizes_alone(ranks, radix, 100, 0), all);
      EXPECT_EQ(plan::count_sizes_alone(ranks, radix, 100, 1e9), 0u);
    }
  }
  // P = 8: 4 blocks go in each round; sizes in the first two.
  EXPECT_EQ(plan::count_sizes_alone(8, 2, 10, 39), 2u);
  EXPECT_EQ(plan::count_sizes_alone(8, 2, 10, 40), 0u);
}

TEST(Cost, CountsBlocksAndRounds) {
  plan::Machine machine{0, 0, 0};
  machine.delta = 3;
  machine.rho = 100;
  const plan::Counts counts = plan::count_zero_rotation_bruck(8, 2);
  EXPECT_DOUBLE_EQ(plan::time(counts, machine, 1e6), 3.0 * (1 + 2 * 12) + 300);
}

// Figure 6 of the paper: for which N two-phase Bruck is ahead of spread-out, with its own formulas.
TEST(FanModel, TwoPhaseIsAheadWhereThePaperMeasuredIt) {
  const plan::Machine machine = aries().quadrille;
  const auto ahead = [&](int ranks, double largest) {
    return plan::fan_two_phase_bruck(ranks, largest, machine) < plan::fan_spread_out(ranks, largest, machine);
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
      const bool padded = plan::fan_padded_bruck(ranks, largest, machine) <
                          plan::fan_two_phase_bruck(ranks, largest, machine);
      EXPECT_EQ(padded, (largest - 8) * (ranks + 1) * machine.beta < 4 * machine.alpha)
          << ranks << " ranks, N = " << largest;
    }
  }
  EXPECT_LT(plan::fan_padded_bruck(1024, 16, machine), plan::fan_two_phase_bruck(1024, 16, machine));
  EXPECT_GT(plan::fan_padded_bruck(4096, 16, machine), plan::fan_two_phase_bruck(4096, 16, machine));
}

std::string best(Collective collective, int ranks, double largest, const Model& model = aries()) {
  return std::string(fastest(collective, ranks, {largest / 2, largest}, model).choice.algorithm->name);
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
  EXPECT_EQ(fastest(Collective::alltoallv, 512, load, model).choice.algorithm->name, "padded-bruck");
  model.quadrille.beta = 1e-9;  // and padding doubles the bytes
  EXPECT_EQ(fastest(Collective::alltoallv, 512, {2048, 40960}, model).choice.algorithm->name, "two-phase-bruck");
}

TEST(Model, AsksForTheLoadOnlyIfItCanMatter) {
  EXPECT_TRUE(worth_agreeing(Collective::alltoallv, 256, aries()));
  EXPECT_FALSE(worth_agreeing(Collective::alltoallv, 3, aries())) << "two rounds, as two messages";
  Model fast_mpi = aries();
  fast_mpi.mpi.alpha = fast_mpi.mpi.beta = 0;
  EXPECT_FALSE(worth_agreeing(Collective::alltoallv, 256, fast_mpi));
}

// In an alternation every call is asked about; while nothing changes ever fewer are, and at most 8 calls keep what
// may have become wrong.
TEST(Model, AsksLessOftenWhileTheAnswerStays) {
  const auto calls = [](const std::vector<bool>& is_mpi_by_call) {
    Asking asking;
    std::string asked;
    for (const bool is_mpi : is_mpi_by_call) {
      const bool asks = must_ask(asking);
      asked += asks ? 'a' : '-';
      if (asks) note_answer(asking, is_mpi);
    }
    return asked;
  };
  const std::vector<bool> ours(40, false), theirs(40, true);
  EXPECT_EQ(calls(ours), "aa-a--a----a--------a--------a--------a-");
  EXPECT_EQ(calls(theirs), "aa-a--a----a--------a----------------a--");
  EXPECT_EQ(calls({true, false, true, false, false, false, false}), "aaaaa-a");
  std::vector<bool> changes(12, false);
  changes.insert(changes.end(), 12, true);  // seen when the eight calls that keep it are over
  EXPECT_EQ(calls(changes), "aa-a--a----a--------aa-a");
}

// Each candidate of a choice has finite time, and radices are in range.
TEST(Model, ChoicesAreSound) {
  for (int ranks = 2; ranks <= 100; ++ranks) {
    for (const double largest : {0.0, 1.0, 100.0, 5000.0}) {
      const Prediction found = fastest(Collective::alltoallv, ranks, {largest / 2, largest}, aries());
      EXPECT_TRUE(std::isfinite(found.seconds));
      Choice parsed;
      EXPECT_EQ(parse_choice(Collective::alltoallv, to_string(found.choice), parsed), "");
    }
  }
}

}  // namespace
}  // namespace quadrille::choose
