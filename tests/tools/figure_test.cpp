// The figures: that they are measurable, and that the page says what was measured.
#include "tools/figure/figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::tools {
namespace {

using testing::HasSubstr;

BenchRow row(std::size_t bytes, const std::string& label, double mpi, double quadrille) {
  BenchRow row;
  row.measured.bytes = bytes;
  row.algorithm = label;
  row.served_by = label == "a" ? "alg-a" : "alg-b";
  row.mpi.median = mpi;
  row.quadrille.median = quadrille;
  return row;
}

const PlotRows measured = {
    {row(8, "a", 8, 2), row(8, "b", 8, 4), row(64, "a", 16, 2), row(64, "b", 16, 16)}};

Figure figure() {
  Figure f;
  f.name = "test-1";
  f.title = "A figure";
  f.plots = {{"MPI_Alltoall",
              choose::Collective::alltoall,
              "8,64",
              false,
              {{"a", "alg-a", {}}, {"b", "alg-b", {}}}}};
  f.claims = {{"a is better", 0, "a", "b", 1, 64, "1.5"}, {"large", 0, "a", "b", 65, 99, "2"}};
  return f;
}

TEST(Figures, CanAllBeMeasured) {
  for (const Figure& f : figures(1 << 20, 8)) {
    EXPECT_FALSE(f.plots.empty()) << f.name;
    for (const Plot& plot : f.plots) {
      std::vector<std::size_t> sizes;
      EXPECT_EQ(parse_sizes(plot.sizes, sizes), "");
      for (const Variant& variant : plot.variants) {
        choose::Choice choice;
        EXPECT_EQ(choose::parse_choice(plot.collective, variant.algorithm, choice), "");
      }
    }
  }
}

TEST(Figures, ClaimsAreAboutWhatIsMeasured) {
  for (const Figure& f : figures(1 << 20, 8)) {
    EXPECT_FALSE(f.claims.empty()) << f.name;
    for (const Claim& claim : f.claims) {
      ASSERT_LT(claim.plot, f.plots.size());
      const Plot& plot = f.plots[claim.plot];
      std::vector<std::size_t> sizes;
      parse_sizes(plot.sizes, sizes);
      EXPECT_TRUE(
          std::any_of(sizes.begin(), sizes.end(),
                      [&](std::size_t size) { return claim.least <= size && size <= claim.most; }))
          << f.name << ": " << claim.text;
      for (const std::string& label : {claim.fast, claim.slow}) {
        const bool known =
            label == "mpi" || std::any_of(plot.variants.begin(), plot.variants.end(),
                                          [&](const Variant& v) { return v.label == label; });
        EXPECT_TRUE(known) << f.name << ": " << label;
      }
    }
  }
}

TEST(Figures, SpeedupIsTheGeometricMeanOverTheSizes) {
  std::size_t sizes = 0;
  EXPECT_DOUBLE_EQ(speedup_of({"", 0, "a", "b", 1, 64, ""}, measured, sizes), 4);  // 2 and 8
  EXPECT_EQ(sizes, 2u);
  EXPECT_DOUBLE_EQ(speedup_of({"", 0, "a", "mpi", 9, 64, ""}, measured, sizes), 8);
  EXPECT_EQ(sizes, 1u);
  EXPECT_DOUBLE_EQ(speedup_of({"", 0, "a", "b", 65, 99, ""}, measured, sizes), 0);
  EXPECT_EQ(sizes, 0u);
}

TEST(Figures, ThePageHasTheNumbersBesideThePapers) {
  FigureRun run;
  run.command = "mpirun -n 4 quadrille bench --figure test-1";
  run.ranks = 4;
  run.processors = 4;
  const std::string page = figure_page(figure(), run, {measured});
  EXPECT_TRUE(page.starts_with("# A figure\n"));
  EXPECT_THAT(page, HasSubstr("        64        16.00         2.00        16.00\n"));
  EXPECT_THAT(page, HasSubstr("| a is better | a over b | 1.5 | 4.00 | 2 |\n"));
  EXPECT_THAT(page, HasSubstr("| large | a over b | 2 | - | 0 |\n"));
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
  EXPECT_THAT(page, HasSubstr("`a` was carried out by `mpi`"));
  EXPECT_THAT(page, HasSubstr("3 wrong bytes"));
  EXPECT_THAT(page, HasSubstr("4 ranks on 2 processors"));
  run.hosts = 2;
  const std::string several = figure_page(figure(), run, {measured});
  EXPECT_THAT(several, HasSubstr("4 ranks on 2 hosts with 2 processors"));
  EXPECT_THAT(several, testing::Not(HasSubstr("time slices")));
}

}  // namespace
}  // namespace quadrille::tools
