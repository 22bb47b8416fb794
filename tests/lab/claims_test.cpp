// Lines that are one and the same, the noise, several runs, and the verdicts that follow.
#include "lab/figure/claims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "../temp_folder.hpp"
#include "lab/figure/bruck_list.hpp"
#include "lab/figure/runs.hpp"
#include "lab/figure/same.hpp"
#include "lab/figure/stored.hpp"

namespace quadrille::tools {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t l2 = 1 << 20;

Figure figure_named(const std::string& name, int ranks) {
  for (Figure& f : figures(l2, ranks)) {
    if (f.name == name) return std::move(f);
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

bool is_same(const Plot& plot, int ranks, std::size_t bytes, const std::string& line, const std::string& as,
             bool in_sequence = true, const std::vector<int>& domains = {}) {
  const std::vector<SameLine> same = same_lines(plot, ranks, domains);
  const SameLine* found = find_same(same, bytes, line);
  return found != nullptr && found->as == as && found->in_sequence == in_sequence;
}

// Which ranks make two orders one is nobody's list: the schedules say it.
TEST(SameLines, OfTwoRanksEachMakesTheSameCopiesInBothOrders) {
  for (const char* name : {"co-10", "co-10-neighbors"}) {
    for (const Plot& plot : figure_named(name, 2).plots) {
      EXPECT_TRUE(is_same(plot, 2, 8, "SH-CO", "SH-Naive", false)) << name << plot.title;
    }
    EXPECT_FALSE(is_same(figure_named(name, 3).plots[0], 3, 8, "SH-CO", "SH-Naive", false)) << name;
    EXPECT_FALSE(is_same(figure_named(name, 8).plots[0], 8, 8, "SH-CO", "SH-Naive", false)) << name;
  }
}

TEST(SameLines, OneDomainMakesTheOrderForDomainsOneWithMorton) {
  const Plot plot = figure_named("co-11", 8).plots[0];
  EXPECT_TRUE(is_same(plot, 8, 8, "SH-NUMA-CO", "SH-CO"));
  EXPECT_FALSE(is_same(plot, 8, 8, "SH-NUMA-CO", "SH-CO", true, {0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(SameLines, PackingMakesADifferenceThatNoScheduleShows) {
  const Plot plot = figure_named("iso-basis", 2).plots[0];
  EXPECT_FALSE(is_same(plot, 2, 8, "zero copy", "packed"));
  EXPECT_TRUE(is_same(plot, 2, 8, "basis, packed", "packed"));
}

TEST(SameLines, BlocksThatFitTheCachedPartAreCopiedAsOrdinaryOnes) {
  const Plot plot = figure_named("hint-10", 8).plots[0];  // T is 128 KiB
  EXPECT_TRUE(is_same(plot, 8, 128 << 10, "hybrid T", "temporal"));
  EXPECT_FALSE(is_same(plot, 8, 256 << 10, "hybrid T", "temporal"));
  EXPECT_FALSE(is_same(plot, 8, 128 << 10, "hybrid T/2", "temporal"));
  EXPECT_FALSE(is_same(plot, 8, 16 << 10, "streaming", "temporal"));
}

TEST(SameLines, OneHopIsTheSameByTorusAndTorusDirect) {
  const Figure f = figure_named("iso-4", 8);
  EXPECT_TRUE(is_same(f.plots[0], 8, 1, "torus-direct", "torus"));   // 2 x 2 x 2
  EXPECT_FALSE(is_same(f.plots[4], 8, 1, "torus-direct", "torus"));  // a ring of 8
  EXPECT_FALSE(is_same(f.plots[0], 8, 1, "torus", "straightforward"));
}

TEST(SameLines, ATextHasTheRangesOfSizes) {
  const std::vector<SameLine> same = {{8, "b", "a"}, {64, "b", "a"}, {8, "c", "a"}, {8, "d", "a", false}};
  EXPECT_EQ(same_text(same, true), "b is a (8 to 64 bytes), c is a (8 to 8 bytes)");
  EXPECT_EQ(same_text(same, false), "d is a (8 to 8 bytes)");
}

TEST(Claims, BoundsFollowFromWhatThePaperSays) {
  const double any = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bounds_of("above 1"), (std::pair{1.0, any}));
  EXPECT_EQ(bounds_of("below 1"), (std::pair{0.0, 1.0}));
  EXPECT_EQ(bounds_of("0.8 to 1"), (std::pair{0.8, 1.0}));
  EXPECT_EQ(bounds_of("up to 1.2"), (std::pair{1.0, 1.2}));
  EXPECT_EQ(bounds_of("about 3"), (std::pair{2.4, 3.75}));
  EXPECT_EQ(bounds_of("1.15"), (std::pair{1.01, 1.15 * 1.25})) << "no difference is none";
  EXPECT_EQ(bounds_of("0.85"), (std::pair{0.85 / 1.25, 1 / 1.01}));
  EXPECT_EQ(bounds_of("1"), (std::pair{0.8, 1.25}));
  EXPECT_EQ(bounds_of("-"), std::nullopt);
  EXPECT_EQ(bounds_of("towards 1"), std::nullopt);
  for (const Figure& f : figures(l2, 8)) {
    for (const Claim& claim : f.claims) {
      const auto bounds = bounds_of(claim.paper);
      if (bounds) {
        EXPECT_LT(bounds->first, bounds->second) << f.name << ": " << claim.paper;
      }
    }
  }
}

// A panel of some of the ranks.
TEST(Panels, OfTheFirstRanksAreJudgedByTheirNumber) {
  const Figure f = figure_named("bruck-6", 16);
  ASSERT_EQ(f.plots.size(), 3U);
  EXPECT_EQ(ranks_of(f.plots[0], 16), 4);
  EXPECT_EQ(ranks_of(f.plots[2], 16), 16);
  EXPECT_EQ(ranks_of(figure_named("hint-6", 16).plots[0], 16), 16);
  EXPECT_EQ(figure_named("bruck-6", 12).plots.back().ranks, 12);
  EXPECT_EQ(figure_named("bruck-6", 2).plots.size(), 1U);
}

BenchRow row_of_line(std::size_t bytes, const std::string& label, double mpi, double quadrille) {
  BenchRow row;
  row.measured.bytes = bytes;
  row.algorithm = label;
  row.served_by = label == "a" || label == "a again" ? "alg-a" : "alg-b";
  row.mpi.median = row.mpi.least = mpi;
  row.quadrille.median = row.quadrille.least = quadrille;
  return row;
}

Figure small_figure() {
  Figure f;
  f.name = "test-1";
  f.plots = {{"MPI_Alltoall", Collective::alltoall, "8,64", false, {{"a", "alg-a", {}}, {"b", "alg-b", {}}}}};
  f.claims = {{"a is better", 0, "a", "b", 1, 64, "above 1"}};
  return f;
}

FigureRun run_of(int ranks, int processors) {
  FigureRun run;
  run.ranks = ranks;
  run.processors = processors;
  return run;
}

const PlotRows two_lines = {{row_of_line(8, "a", 8, 4), row_of_line(8, "b", 8, 5), row_of_line(8, "a again", 8, 4.4)}};

TEST(Panels, AClaimIsAboutTheRanksOfItsPanel) {
  Figure f = small_figure();
  f.claims[0].least_ranks = f.claims[0].most_ranks = 4;
  FigureRun run;
  run.ranks = run.processors = 8;
  EXPECT_EQ(result_of(f, f.claims[0], run, {two_lines}).verdict.scale, "the paper has 4 ranks, the run 8");
  f.plots[0].ranks = 4;
  EXPECT_EQ(result_of(f, f.claims[0], run, {two_lines}).verdict.scale, "");
}

TEST(Panels, LinesAreTheSameAtTheRanksOfTheirPanel) {
  Figure f = figure_named("co-10", 8);
  FigureRun run;
  run.ranks = run.processors = 8;
  std::vector<PlotRows> plots(f.plots.size());
  f.plots[0].ranks = 2;
  mark_same(f, run, plots);
  EXPECT_NE(find_same(plots[0].same, 8, "SH-CO"), nullptr);
  EXPECT_EQ(find_same(plots[1].same, 8, "SH-CO"), nullptr);
}

TEST(Panels, AMapHasTheFastestOfEachPanel) {
  Figure f = small_figure();
  f.has_map = true;
  f.plots[0].variants[0].algorithm = "padded-bruck:radix=2";
  FigureRun run;
  run.ranks = run.processors = 8;
  EXPECT_THAT(figure_page(f, run, {two_lines}), HasSubstr("   N \\ P       8\n       8      P2\n"));
  f.plots[0].ranks = 4;
  EXPECT_THAT(figure_page(f, run, {two_lines}), HasSubstr("   N \\ P       4\n       8      P2\n"));
  f.has_map = false;
  EXPECT_THAT(figure_page(f, run, {two_lines}), testing::Not(HasSubstr("N \\ P")));
}

Verdict verdict_with(const Figure& f, const FigureRun& run, const PlotRows& plot = two_lines) {
  return result_of(f, f.claims[0], run, {plot}).verdict;
}

TEST(Claims, HaveAVerdictWithItsReason) {
  Figure f = small_figure();
  EXPECT_EQ(verdict_with(f, run_of(4, 4)).word, Verdict::Word::agrees);
  f.claims[0].paper = "3";
  EXPECT_EQ(verdict_with(f, run_of(4, 4)).word, Verdict::Word::disagrees);
  f.needs_cores = true;
  EXPECT_THAT(verdict_with(f, run_of(4, 2)).reason, StartsWith("no machine: 4 ranks shared 2"));
  EXPECT_EQ(verdict_with(f, run_of(4, 4)).reason, "");
}

// With other numbers of ranks than the paper's a verdict is one about this scale: the claim's own, else the figure's.
TEST(Claims, AreAboutAScale) {
  Figure f = small_figure();
  const auto status = [&](int ranks) {
    return status_of(f.claims[0], result_of(f, f.claims[0], run_of(ranks, 8), {two_lines}));
  };
  f.least_ranks = 6, f.most_ranks = 8;
  EXPECT_EQ(status(8), "agrees");
  EXPECT_EQ(status(4), "agrees");
  EXPECT_EQ(verdict_with(f, run_of(4, 4)).scale, "the paper has 6 to 8 ranks, the run 4");
  f.claims[0].least_ranks = f.claims[0].most_ranks = 4;
  EXPECT_EQ(status(4), "agrees");
  f.claims[0].paper = "3";
  EXPECT_EQ(status(8), "disagrees");
  EXPECT_THAT(figure_page(f, run_of(8, 8), {two_lines}),
              HasSubstr("| disagrees at this scale: the paper has 4 ranks, the run 8 |"));
}

PlotRows with_runs(const std::vector<double>& a, const std::vector<double>& b) {
  PlotRows plot = two_lines;
  plot.runs = {{a, a}, {b, b}, {a, a}};
  return plot;
}

// The number of each run counts, not that in the middle.
TEST(Claims, OfWhichTheRunsDifferHaveNoVerdict) {
  const Figure f = small_figure();
  EXPECT_EQ(verdict_with(f, run_of(4, 4), with_runs({4, 4, 4}, {5, 6, 7})).word, Verdict::Word::agrees);
  EXPECT_EQ(verdict_with(f, run_of(4, 4), with_runs({4, 4, 4}, {3.9, 6, 7})).word, Verdict::Word::cannot_be_told);
  EXPECT_EQ(verdict_with(f, run_of(4, 4), with_runs({4, 4, 4}, {3.9, 6, 7})).reason, the_runs_differ);
  EXPECT_EQ(verdict_with(f, run_of(4, 4), with_runs({4, 4, 4}, {2, 3, 2})).word, Verdict::Word::disagrees);
}

// Behind at 64 bytes is a crossover only where the line is ahead at 8.
TEST(Claims, OfACrossoverNeedBothSides) {
  Figure f = small_figure();
  f.claims[0] = {"a falls behind", 0, "a", "b", 64, 64, "below 1"};
  f.claims[0].near_least = f.claims[0].near_most = 8;
  const auto verdict = [&](std::vector<double> b_at_8) {
    PlotRows plot;
    for (const std::size_t bytes : {8, 64}) {
      const std::vector<double> b = bytes == 8 ? b_at_8 : std::vector<double>{3, 3};
      plot.rows.push_back(row_of_line(bytes, "a", 8, 4)), plot.runs.push_back({{8, 8}, {4, 4}});
      plot.rows.push_back(row_of_line(bytes, "b", 8, b[0])), plot.runs.push_back({{8, 8}, b});
    }
    return verdict_with(f, run_of(4, 4), plot);
  };
  EXPECT_EQ(verdict({5, 6}).word, Verdict::Word::agrees);
  EXPECT_EQ(verdict({5, 6}).note, "");
  EXPECT_EQ(verdict({3, 2}).word, Verdict::Word::disagrees);
  EXPECT_EQ(verdict({3, 2}).note, "no crossover: 0.62 (0.50..0.75) at 8 to 8 bytes");
  EXPECT_EQ(verdict({3, 5}).reason, the_runs_differ);
  f.claims[0].near_most = 0;
  EXPECT_EQ(verdict({3, 2}).word, Verdict::Word::agrees) << "of no crossover";
}

// Every reason is one of six.
TEST(Claims, HaveAReasonThatIsKnown) {
  const auto is_known = [](const std::string& reason) {
    for (const char* one : {the_runs_differ, the_networks_differ, no_other_way, no_machine, not_measured, not_built}) {
      if (reason == one || reason.starts_with(std::string(one) + ": ")) return true;
    }
    return reason.empty();
  };
  for (const Figure& f : figures(l2, 8)) {
    for (const Claim& claim : f.claims) EXPECT_TRUE(is_known(claim.reason)) << f.name << ": " << claim.reason;
  }
  std::vector<SimulatedFigure> simulated = simulated_bruck_figures();
  for (SimulatedFigure& f : simulated_node_figures()) simulated.push_back(std::move(f));
  for (const SimulatedFigure& f : simulated) {
    for (const SimulatedClaim& claim : f.claims) EXPECT_TRUE(is_known(claim.reason)) << f.name << ": " << claim.reason;
  }
}

// From 8 to 512 bytes what a line gains goes, or not.
TEST(Claims, MayBeATrend) {
  Figure f = small_figure();
  f.claims[0].least = f.claims[0].most = 512;
  f.claims[0].paper = "towards 1";
  PlotRows plot = two_lines;  // 1.25 at 8 bytes
  const auto word = [&](double b) {
    plot.rows.resize(3);
    plot.rows.push_back(row_of_line(512, "a", 8, 4)), plot.rows.push_back(row_of_line(512, "b", 8, b));
    return verdict_with(f, run_of(4, 4), plot).word;
  };
  EXPECT_EQ(word(4.4), Verdict::Word::agrees);
  EXPECT_EQ(word(3), Verdict::Word::agrees) << "gone";
  EXPECT_EQ(word(6), Verdict::Word::disagrees);
  plot.rows[1].quadrille.median = 3;
  EXPECT_THAT(verdict_with(f, run_of(4, 4), plot).reason,
              StartsWith("could not have come out otherwise: small blocks"));
}

TEST(Claims, MayBeAboutTwoPanels) {
  Figure f = small_figure();
  f.plots.push_back(f.plots[0]);
  f.claims[0].slow = "a";
  f.claims[0].slow_plot = 1;
  PlotRows other = two_lines;
  other.rows[0].quadrille.median = 12;
  EXPECT_DOUBLE_EQ(result_of(f, f.claims[0], run_of(4, 4), {two_lines, other}).here, 3);
  EXPECT_EQ(result_of(f, f.claims[0], run_of(4, 4), {two_lines}).verdict.reason, "not measured");
}

TEST(Claims, OfAThingWithItselfCannotBeTested) {
  PlotRows plot = two_lines;
  plot.same = {{8, "b", "a", false}};
  EXPECT_THAT(verdict_with(small_figure(), run_of(4, 4), plot).reason,
              StartsWith("could not have come out otherwise: by a and b each rank"));
  plot.same = {{64, "b", "a"}};  // at another size
  EXPECT_EQ(verdict_with(small_figure(), run_of(4, 4), plot).reason, "");
}

// At 8 bytes both lines are one, so what they differ by there is nobody's gain.
TEST(Claims, LeaveOutSizesAtWhichTheirLinesAreOne) {
  PlotRows plot = two_lines;
  plot.rows.push_back(row_of_line(64, "a", 8, 2)), plot.rows.push_back(row_of_line(64, "b", 8, 6));
  const Figure f = small_figure();
  const auto result = [&] { return result_of(f, f.claims[0], run_of(4, 4), {plot}); };
  EXPECT_EQ(result().sizes, 2U);
  plot.same = {{8, "b", "a"}};
  EXPECT_EQ(result().sizes, 1U);
  EXPECT_DOUBLE_EQ(result().here, 3);
  plot.same = {{8, "a", "c"}, {8, "b", "c", false}};
  EXPECT_EQ(result().sizes, 1U) << "both are like a third";
  plot.same.push_back({64, "b", "a"});
  EXPECT_EQ(result().sizes, 0U);
  EXPECT_THAT(result().verdict.reason, StartsWith("could not have come out otherwise: by a and b each rank"));
}

// In the first run it takes what was faster in the others, b, though a is faster in that one.
TEST(Claims, MayBeAboutALineThatSwitches) {
  Figure f = small_figure();
  f.claims[0] = {"switching", 0, switching, "a", 1, 64, "up to 1.2"};
  PlotRows plot = with_runs({4, 6, 6}, {5, 5, 5});
  const ClaimResult result = result_of(f, f.claims[0], run_of(4, 4), {plot});
  EXPECT_DOUBLE_EQ(result.least, 4.0 / 5);
  EXPECT_DOUBLE_EQ(result.most, 1);
  EXPECT_DOUBLE_EQ(result_of(f, f.claims[0], run_of(4, 4), {two_lines}).here, 1) << "one run has no others";
  plot.rows[1].served_by = "mpi";
  EXPECT_EQ(verdict_with(f, run_of(4, 4), plot).reason, "not measured: mpi served b") << "it may have been taken";
}

TEST(Claims, SayWhichMpiWasThereForThePapers) {
  Figure f = small_figure();
  f.claims[0].slow = "mpi";
  f.claims[0].rival = "Intel MPI 5.0";
  FigureRun run = run_of(4, 4);
  run.header.mpi = "Open MPI v4.1.4";
  EXPECT_EQ(text_of(f.claims[0], run), "a is better (here Open MPI v4.1.4)");
  EXPECT_EQ(verdict_with(f, run).word, Verdict::Word::agrees);
  EXPECT_THAT(figure_page(f, run, {two_lines}), HasSubstr("| a is better (here Open MPI v4.1.4) | a over mpi |"));
  f.claims[0].needs_rival = true;
  EXPECT_EQ(verdict_with(f, run).reason, "not measured: the claim is about Intel MPI 5.0, the run has Open MPI v4.1.4");
  run.header.mpi = "Intel(R) MPI Library 2021.11";
  EXPECT_EQ(verdict_with(f, run).word, Verdict::Word::agrees);
  EXPECT_EQ(text_of(f.claims[0], run), "a is better");
}

TEST(Claims, MayBeBeyondWhatIsMeasured) {
  Figure f = small_figure();
  f.claims[0].reason = "so";
  EXPECT_EQ(verdict_with(f, run_of(4, 4)).reason, "so");
  EXPECT_EQ(status_of(f.claims[0], result_of(f, f.claims[0], run_of(4, 4), {two_lines})), "cannot be told");
  f.claims[0].paper = "-";
  EXPECT_EQ(status_of(f.claims[0], result_of(f, f.claims[0], run_of(4, 4), {two_lines})), "") << "nobody claims it";
  EXPECT_THAT(figure_page(f, run_of(4, 4), {two_lines}), HasSubstr("| no number to compare with: so |"));
}

// 1 / 0.7 and 1.3, a tenth more or less; of 7.13% nothing below 1.
TEST(Claims, OfPercentHaveBothReadings) {
  EXPECT_EQ(faster_by(30), "1.18 to 1.57");
  EXPECT_EQ(faster_by(7.13), "1.00 to 1.18");
  EXPECT_EQ(faster_by(24.0, 54.4), "1.13 to 2.41");
}

TEST(Claims, OfPercentHaveOneRuleMeasuredAndSimulated) {
  const auto of_papers = [](const auto& claims, const std::string& text) {
    for (const auto& claim : claims) {
      if (claim.text.find(text) != std::string::npos) return claim.paper;
    }
    return std::string("none");
  };
  for (const char* percent : {"39.64%", "7.13%", "18.80%", "0.83%"}) {
    EXPECT_EQ(of_papers(figure_named("bruck-2", 16).claims, percent),
              of_papers(simulated_bruck_figures()[0].claims, percent));
  }
}

// Where an order is what differs, nothing else may: no line finds out for itself whether to stream.
TEST(Orders, AreCopiedInTheOrdinaryWay) {
  for (const char* name : {"hint-6", "co-10", "co-11", "co-10-neighbors", "co-11-neighbors"}) {
    const Figure f = figure_named(name, 8);
    EXPECT_THAT(f.how, HasSubstr("ordinary ones, through the caches"));
    for (const Plot& plot : f.plots) {
      for (const Variant& variant : plot.variants) {
        if (variant.label == "rings") continue;  // what Quadrille takes by itself
        ASSERT_TRUE(variant.copying) << name << ": " << variant.label;
        EXPECT_FALSE(variant.copying->tuner) << name << ": " << variant.label;
        EXPECT_EQ(variant.copying->stream_from, SIZE_MAX) << name << ": " << variant.label;
      }
    }
  }
}

// "close to the ratio of number of neighbors to 2d"
TEST(Figures, OfNeighborhoodsCompareWithThePapersRatio) {
  const Figure f = figure_named("iso-2", 8);
  const double ratios[] = {8 / 4.0, 26 / 6.0, 80 / 8.0, 242 / 10.0, 342 / 6.0, 0, 48 / 4.0};
  int found = 0;
  for (const Claim& claim : f.claims) {
    if (claim.text.find("over 2d") == std::string::npos) continue;
    EXPECT_NEAR(std::stod(claim.paper), ratios[claim.plot], 0.05) << claim.text;
    ++found;
  }
  EXPECT_EQ(found, 6);
}

// A loss is no small advantage.
TEST(Figures, ALittleAdvantageIsNoLoss) {
  for (const Claim& claim : figure_named("iso-8", 8).claims) {
    if (claim.text.find("little advantage") == std::string::npos) continue;
    EXPECT_EQ(word_of(*bounds_of(claim.paper), 0.86, 0.88), Verdict::Word::disagrees);
    EXPECT_EQ(word_of(*bounds_of(claim.paper), 1.0, 1.1), Verdict::Word::agrees);
  }
}

TEST(Claims, BelowTheNoiseSayNothing) {
  PlotRows plot = two_lines;
  plot.rows[1].quadrille.median = 4.2;  // 1.05, where the same line differs by 1.1
  EXPECT_THAT(verdict_with(small_figure(), run_of(4, 4), plot).reason, HasSubstr("below the noise of 1.10"));
  plot.rows[2].quadrille.median = 4.04;
  EXPECT_EQ(verdict_with(small_figure(), run_of(4, 4), plot).word, Verdict::Word::agrees);
}

TEST(Claims, OfLinesThatSomethingElseCarriedOutSayNothing) {
  PlotRows plot = two_lines;
  plot.rows[1].served_by = "mpi";
  EXPECT_EQ(verdict_with(small_figure(), run_of(4, 4), plot).reason, "not measured: mpi served b");
}

TEST(Runs, BecomeMediansWithTheirEnds) {
  std::vector<std::vector<PlotRows>> runs;
  for (const double b : {5.0, 9.0, 6.0}) {
    runs.push_back({two_lines});
    runs.back()[0].rows[1].quadrille.median = b;
    runs.back()[0].rows[2].errors = 1;
  }
  const std::vector<PlotRows> plots = combine_runs(runs);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_DOUBLE_EQ(plots[0].rows[1].quadrille.median, 6);
  EXPECT_EQ(plots[0].rows[2].errors, 3u);
  EXPECT_THAT(plots[0].runs[1].quadrille, testing::ElementsAre(5, 9, 6));
  FigureRun run = run_of(4, 4);
  run.facts.runs = 3;
  const ClaimResult result = result_of(small_figure(), small_figure().claims[0], run, plots);
  EXPECT_DOUBLE_EQ(result.here, 1.5);
  EXPECT_DOUBLE_EQ(result.least, 1.25);
  EXPECT_DOUBLE_EQ(result.most, 2.25);
  const std::string page = figure_page(small_figure(), run, plots);
  EXPECT_THAT(page, HasSubstr(" 6.00 (5.00..9.00)"));
  EXPECT_THAT(page, HasSubstr("| a is better | a over b | above 1 | 1.50 (1.25..2.25) | 1 | agrees |"));
}

TEST(Runs, LeaveOutWhatOneOfThemLacks) {
  std::vector<std::vector<PlotRows>> runs(2, std::vector<PlotRows>{two_lines});
  runs[1][0].rows.pop_back();
  const std::vector<PlotRows> plots = combine_runs(runs);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_EQ(plots[0].rows.size(), two_lines.rows.size() - 1);
  EXPECT_EQ(plots[0].runs.size(), plots[0].rows.size());
}

// What a file has is enough for the page; what does not belong to today's figure is found.
class Stored : public testing::Test {
 protected:
  void SetUp() override {
    figure_ = figure_named("hint-8", 2);
    run_ = run_of(2, 2);
    run_.command = "mpirun -n 2 quadrille-lab bench --figure hint-8";
    run_.header.date = "2026-01-01T00:00:00Z";
    run_.facts.kernel = "Linux 6.1";
    run_.facts.l2 = l2;
    run_.facts.binding = {"0", "1"};
    run_.facts.domains = {0, 0};
    run_.facts.runs = 2;
    std::vector<PlotRows> plots(1);
    for (const std::size_t bytes : {4096, 8192}) {
      double time = 10;
      for (const char* label : {"temporal", "streaming", "temporal again"}) {
        plots[0].rows.push_back(row_of_line(bytes, label, 20, time++));
        plots[0].rows.back().served_by = "hint-hilbert";
      }
    }
    plots_ = combine_runs({plots, plots});
    json_ = figure_json(figure_, run_, plots_);
  }

  std::string problem() const {
    StoredFigure stored;
    return read_stored(json_, stored);
  }

  Figure figure_;
  FigureRun run_;
  std::vector<PlotRows> plots_;
  nlohmann::ordered_json json_;
};

TEST_F(Stored, DataGiveThePageAgain) {
  StoredFigure stored;
  ASSERT_EQ(read_stored(json_, stored), "");
  EXPECT_EQ(page_of(stored), figure_page(figure_, run_, plots_));
}

TEST_F(Stored, DataOfAnOlderFigureAreFound) {
  EXPECT_EQ(problem(), "");
  const nlohmann::ordered_json good = json_;
  json_["plots"][0]["title"] = "MPI_Allgather";
  EXPECT_THAT(problem(), HasSubstr("there is no panel 'MPI_Allgather'"));
  json_ = good;
  for (auto& row : json_["plots"][0]["rows"]) {
    if (row["line"] == "streaming") row["line"] = "flowing";
  }
  EXPECT_THAT(problem(), HasSubstr("other lines"));
  json_ = good;
  json_["figure"] = "hint-7";
  EXPECT_EQ(problem(), "there is no figure 'hint-7'");
  json_ = good;
  json_.erase("ranks");
  EXPECT_THAT(problem(), HasSubstr("no data of a figure"));
}

// A row has the runs' medians with four digits, who served it, and how many samples there were.
TEST_F(Stored, RowsAreShort) {
  plots_[0].runs[0] = {{12.3456, 0.00123456}, {123456, 1}};
  plots_[0].rows[0].batches = 7;
  const nlohmann::ordered_json row = figure_json(figure_, run_, plots_)["plots"][0]["rows"][0];
  EXPECT_EQ(row.dump(),
            R"({"line":"temporal","bytes":4096,"us":[123500.0,1.0],"mpi_us":[12.35,0.001235],"by":"hint-hilbert",)"
            R"("errors":0,"samples":7})");
}

TEST_F(Stored, FilesAreJudged) {
  const test::TempFolder folder;
  const std::string file = folder.file("hint-8.json");
  const auto judge = [&](const std::string& text, bool as_json) {
    std::ofstream(file) << text;
    testing::internal::CaptureStdout();
    const int status = judge_command({file}, as_json);
    return std::pair{status, testing::internal::GetCapturedStdout()};
  };
  EXPECT_EQ(judge(json_.dump(), false), std::pair(0, figure_page(figure_, run_, plots_)));
  const auto [status, text] = judge(json_.dump(), true);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(nlohmann::ordered_json::parse(text)[file], claims_json(figure_, run_, plots_));
  EXPECT_EQ(judge("{}", true).first, 1);
  EXPECT_EQ(judge("no JSON", false).first, 1);
}

TEST_F(Stored, PanelsThatCameLaterAreNotMeasuredYet) {
  figure_ = figure_named("iso-4", 8);
  run_.ranks = 8;
  json_ = figure_json(figure_, run_, std::vector<PlotRows>(6));
  EXPECT_TRUE(json_["plots"].empty());
  StoredFigure stored;
  ASSERT_EQ(read_stored(json_, stored), "");
  EXPECT_THAT(page_of(stored), HasSubstr("d = 3, radius 2, 124 neighbours: not measured."));
  EXPECT_THAT(page_of(stored), HasSubstr("| - | 0 | cannot be told: not measured |"));
}

}  // namespace
}  // namespace quadrille::tools
