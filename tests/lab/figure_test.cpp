// The figures: that they are measurable, and that the page says what was measured.
#include "lab/figure/figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/figure/hosts.hpp"
#include "lab/figure/setup_table.hpp"

namespace quadrille::tools {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BenchRow row(std::size_t bytes, const std::string& label, double mpi, double quadrille) {
  BenchRow row;
  row.measured.bytes = bytes;
  row.algorithm = label;
  row.served_by = label == "a" ? "alg-a" : "alg-b";
  row.mpi.median = mpi;
  row.quadrille.median = quadrille;
  return row;
}

const PlotRows measured = {{row(8, "a", 8, 2), row(8, "b", 8, 4), row(64, "a", 16, 2), row(64, "b", 16, 16)}};

Figure figure() {
  Figure f;
  f.name = "test-1";
  f.title = "A figure";
  f.plots = {{"MPI_Alltoall", Collective::alltoall, "8,64", false, {{"a", "alg-a", {}}, {"b", "alg-b", {}}}}};
  f.claims = {{"a is better", 0, "a", "b", 1, 64, "1.5"}, {"large", 0, "a", "b", 65, 99, "2"}};
  return f;
}

TEST(Figures, CanAllBeMeasured) {
  for (const Figure& f : figures(1 << 20, 8)) {
    EXPECT_NE(f.plots.empty(), f.setups.empty()) << f.name;
    for (const Plot& plot : f.plots) {
      BenchOptions options;
      options.collective = name_of(plot.collective);
      options.sizes = plot.sizes;
      options.neighborhood = plot.neighborhood;
      options.distribution = plot.distribution;
      options.grid = plot.grid;
      BenchPlan plan;
      EXPECT_EQ(understand(options, plan), "") << f.name << ": " << plot.title;
      for (const Variant& variant : plot.variants) {
        choose::Choice choice;
        EXPECT_EQ(choose::parse_choice(plot.collective, variant.algorithm, choice), "");
      }
    }
  }
}

TEST(Figures, ClaimsAreAboutWhatIsMeasured) {
  for (const Figure& f : figures(1 << 20, 8)) {
    EXPECT_EQ(f.claims.empty(), f.plots.empty()) << f.name;
    for (const Claim& claim : f.claims) {
      ASSERT_LT(claim.plot, f.plots.size());
      const Plot& plot = f.plots[claim.plot];
      std::vector<std::size_t> sizes;
      parse_sizes(plot.sizes, sizes);
      EXPECT_TRUE(std::any_of(sizes.begin(), sizes.end(),
                              [&](std::size_t size) { return claim.least <= size && size <= claim.most; }))
          << f.name << ": " << claim.text;
      for (const std::string& label : {claim.fast, claim.slow}) {
        const bool known =
            label == "mpi" || label == switching ||
            std::any_of(plot.variants.begin(), plot.variants.end(), [&](const Variant& v) { return v.label == label; });
        EXPECT_TRUE(known) << f.name << ": " << label;
      }
    }
  }
}

Figure named(const std::string& name, int ranks) {
  for (Figure& f : figures(1 << 20, ranks)) {
    if (f.name == name) return std::move(f);
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

std::vector<int> ranks_of_panels(const Figure& f, int ranks_of_run) {
  std::vector<int> counts;
  for (const Plot& plot : f.plots) counts.push_back(ranks_of(plot, ranks_of_run));
  return counts;
}

// Neighbours of each panel, in order.
std::vector<int> neighbors_of(const Figure& f) {
  std::vector<int> sizes;
  for (const Plot& plot : f.plots) {
    BenchOptions options;
    options.collective = name_of(plot.collective);
    options.neighborhood = plot.neighborhood;
    BenchPlan plan;
    understand(options, plan);
    sizes.push_back(plan.neighborhood.size());
  }
  return sizes;
}

TEST(Figures, HaveThePapersNeighborhoods) {
  EXPECT_THAT(neighbors_of(named("iso-2", 8)), testing::ElementsAre(8, 26, 80, 242, 342, 63, 48));
  EXPECT_THAT(neighbors_of(named("iso-4", 8)), testing::ElementsAre(124, 32, 342, 1396, 342, 1396));
  EXPECT_THAT(neighbors_of(named("iso-5", 8)), testing::ElementsAre(26, 26, 342, 342, 63, 63));
  EXPECT_THAT(neighbors_of(named("iso-6", 8)), testing::ElementsAre(342));
  EXPECT_THAT(neighbors_of(named("iso-7", 8)), testing::ElementsAre(80, 242));
  EXPECT_THAT(neighbors_of(named("iso-8", 8)), testing::ElementsAre(80, 242));
  EXPECT_THAT(neighbors_of(named("iso-basis", 8)), testing::ElementsAre(26, 342, 244));
  EXPECT_THAT(neighbors_of(named("co-10-neighbors", 8)), testing::ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(neighbors_of(named("co-11-neighbors", 8)), testing::ElementsAre(6, 6, 6, 6));
}

// Two collectives, with blocks of one size and of different ones, each from cold caches.
TEST(Figures, OfNeighborsInMortonOrderHaveThePapersPanels) {
  using enum Collective;
  for (const char* name : {"co-10-neighbors", "co-11-neighbors"}) {
    const Figure f = named(name, 8);
    ASSERT_EQ(f.plots.size(), 4u);
    const Collective collectives[] = {neighbor_alltoall, neighbor_allgather, neighbor_alltoallv, neighbor_allgatherv};
    for (std::size_t p = 0; p < 4; ++p) {
      EXPECT_EQ(f.plots[p].collective, collectives[p]) << name;
      EXPECT_EQ(f.plots[p].distribution, p < 2 ? "equal" : "uniform") << name;
      EXPECT_TRUE(f.plots[p].cold) << name;
    }
  }
}

// Claims about a rank a node are judged by the panel of as many ranks as hosts, those of several by all ranks.
TEST(Figures, BetweenHostsHaveAPanelOfARankOnEach) {
  Figure f = named("co-12", 32);
  EXPECT_TRUE(f.between_hosts);
  count_on_hosts(f, 16);
  EXPECT_THAT(ranks_of_panels(f, 32), ElementsAre(16, 32, 32));
  Figure of_one = named("bruck-7", 4);
  count_on_hosts(of_one, 16);
  EXPECT_THAT(ranks_of_panels(of_one, 4), ElementsAre(4));
}

TEST(Figures, BetweenHostsWantSeveral) {
  EXPECT_THAT(why_not_on_hosts(named("co-12", 4), 1, 4),
              HasSubstr("all ranks are on one host; tests/cluster/hosts.py"));
  EXPECT_THAT(why_not_on_hosts(named("co-13", 4), 4, 4), HasSubstr("there are 4 ranks on 4 hosts"));
  EXPECT_EQ(why_not_on_hosts(named("bruck-2", 4), 1, 4), "");
}

TEST(Figures, WhatTheRivalsLackHereIsNoVerdict) {
  const Figure f = named("co-13", 32);
  PlotRows plot;
  for (const char* line : {"topo MN-CO", "recursive doubling", "ring"}) {
    plot.rows.push_back(row(8, line, 8, std::string(line) == "topo MN-CO" ? 2 : 4));
    plot.rows.back().served_by = f.plots[0].variants[plot.rows.size() - 1].algorithm;
  }
  FigureRun run;
  run.ranks = 32, run.hosts = 16;
  const std::string page = figure_page(f, run, {plot});
  EXPECT_THAT(page, HasSubstr("| 1.88 | 2.00 | 1 | cannot be told: not built: the rivals' overlap"));
  EXPECT_THAT(page, HasSubstr("| - | 2.00 | 1 | no number to compare with |"));
}

TEST(Figures, TheRingHasAllRanks) {
  EXPECT_EQ(named("iso-4", 8).plots[4].grid, "8x1x1");
  EXPECT_EQ(named("iso-4", 3).plots[5].grid, "3x1x1");
  EXPECT_THAT(named("iso-4", 8).how, HasSubstr("a grid of 8x1x1, distances in the first dimension take up to 4 hops"));
}

TEST(Figures, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Figure& f : figures(1 << 20, 8)) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_THAT(known_figures(), HasSubstr(f.name));
  }
}

TEST(Figures, TheTableOfSetUpsHasEachDimensionAndRadius) {
  std::set<std::pair<int, int>> cells;
  for (const SetupCase& one : named("iso-table-2", 8).setups) {
    cells.insert({one.dimensions, one.radius});
    EXPECT_GT(one.general, one.adjacent);  // in each cell of the paper
  }
  EXPECT_EQ(cells.size(), 12u);
  for (const SetupFunction& function : setup_functions()) {
    choose::Choice choice;
    if (*function.algorithm == '\0') continue;
    EXPECT_EQ(choose::parse_choice(Collective::neighbor_alltoall, function.algorithm, choice), "");
  }
}

TEST(Figures, ThePageOfSetUpsHasTheNumbersBesideThePapers) {
  SetupRow row{{2, 1, 0.2, 27, 0.02, 0.1}, 8, 7, {10, 25, 40, 5, 30, 20, 15}};
  FigureRun run;
  run.ranks = 8;
  const std::string page = setup_page(named("iso-table-2", 8), run, {row});
  EXPECT_THAT(page, HasSubstr("MPI_Dist_graph_create                                  40.00        27000\n"));
  EXPECT_THAT(page, HasSubstr("Quadrille_Neighbor_alltoall_init, direct               30.00            -\n"));
  EXPECT_THAT(page, HasSubstr("MPI_Cart_rank, MPI_Dist_graph_create_adjacent          25.00            -\n"));
  EXPECT_THAT(page,
              HasSubstr("Quadrille_Iso_neighborhood_create over MPI_Cart_rank, MPI_Dist_graph_create_adjacent | - | "
                        "- | 5.00 | no number to compare with |\n"));
  EXPECT_THAT(page,
              HasSubstr("MPI_Dist_graph_create_adjacent over MPI_Dist_graph_create | above 1.25 | 135.00 | 4.00 | "
                        "agrees at this scale: the paper has 480 ranks, the run 8 |\n"));
  EXPECT_THAT(page, HasSubstr("repetitions: 7."));
}

// The two sentences of the paper: a quarter more is significant, a quarter less the same ballpark.
TEST(Figures, TheTableOfSetUpsHasVerdicts) {
  const Figure f = named("iso-table-2", 8);
  const auto verdicts = [&](double general, double created, int ranks) {
    FigureRun run;
    run.ranks = ranks;
    std::vector<std::string> words;
    for (const auto& claim :
         setup_claims(f, run, {{{2, 1, 0.2, 27, 0.02, 0.1}, 8, 7, {10, 25, general, created, 30, 20, 15}}})) {
      if (!claim.at("verdict").is_null()) words.push_back(claim.at("verdict"));
    }
    return words;
  };
  EXPECT_THAT(verdicts(40, 12, 480), ElementsAre("agrees", "agrees"));
  EXPECT_THAT(verdicts(11, 20, 480), ElementsAre("disagrees", "disagrees"));
  EXPECT_THAT(verdicts(40, 5, 8), ElementsAre("agrees", "agrees"));
}

TEST(Figures, ThePageSaysWhatWasNotMeasured) {
  const std::string page = figure_page(figure(), {}, {{{}, "blocks need 9 MiB, and 8 are free"}});
  EXPECT_THAT(page, HasSubstr("MPI_Alltoall: not measured. blocks need 9 MiB, and 8 are free.\n"));
  EXPECT_THAT(
      page,
      HasSubstr("| a is better | a over b | 1.5 | - | 0 | cannot be told: no machine: blocks need 9 MiB, and 8 are "
                "free |\n"));
}

TEST(Figures, SpeedupIsTheGeometricMeanOverTheSizes) {
  std::size_t sizes = 0;
  const auto speedups = [&](const Claim& claim) { return speedups_of_runs(claim, measured, measured, sizes); };
  EXPECT_THAT(speedups({"", 0, "a", "b", 1, 64, ""}), ElementsAre(DoubleEq(4)));  // 2 and 8
  EXPECT_EQ(sizes, 2u);
  EXPECT_THAT(speedups({"", 0, "a", "mpi", 9, 64, ""}), ElementsAre(DoubleEq(8)));
  EXPECT_EQ(sizes, 1u);
  EXPECT_THAT(speedups({"", 0, "a", "b", 65, 99, ""}), IsEmpty());
  EXPECT_EQ(sizes, 0u);
}

TEST(Figures, ThePageHasTheNumbersBesideThePapers) {
  FigureRun run;
  run.command = "mpirun -n 4 quadrille-lab bench --figure test-1";
  run.ranks = 4;
  run.processors = 4;
  const std::string page = figure_page(figure(), run, {measured});
  EXPECT_TRUE(page.starts_with("# A figure\n"));
  EXPECT_THAT(page, HasSubstr("        64        16.00         2.00        16.00\n"));
  EXPECT_THAT(page, HasSubstr("| a is better | a over b | 1.5 | 4.00 | 2 | disagrees |\n"));
  EXPECT_THAT(page, HasSubstr("| large | a over b | 2 | - | 0 | cannot be told: not measured: none of its sizes |\n"));
  EXPECT_THAT(page, testing::Not(HasSubstr("Beware")));
  EXPECT_THAT(page, testing::Not(HasSubstr("time slices")));
}

TEST(Figures, ThePageWarns) {
  FigureRun run;
  run.ranks = 4;
  run.processors = 2;
  PlotRows odd = measured;
  odd.rows[0].served_by = "mpi";
  odd.rows[1].errors = 3;
  const std::string page = figure_page(figure(), run, {odd});
  EXPECT_THAT(page, HasSubstr("`mpi` served `a`"));
  EXPECT_THAT(page, HasSubstr("3 wrong bytes"));
  EXPECT_THAT(page, HasSubstr("4 ranks on 2 processors"));
  run.hosts = 2;
  const std::string several = figure_page(figure(), run, {measured});
  EXPECT_THAT(several, HasSubstr("4 ranks on 2 hosts with 2 processors"));
  EXPECT_THAT(several, testing::Not(HasSubstr("time slices")));
}

}  // namespace
}  // namespace quadrille::tools
