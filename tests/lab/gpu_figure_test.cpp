// Figures of the paper on GPUs: what they compare, and how claims get their verdicts.
#include "lab/figure/gpu/gpu_figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "choose/registry.hpp"
#include "lab/figure/gpu/lines.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(GpuFigures, AreTheTenOfThePaper) {
  const std::vector<GpuFigure> all = gpu_figures();
  ASSERT_EQ(all.size(), 10u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].about.name, "gpu-" + std::to_string(i + 1));
    EXPECT_EQ(all[i].needs_device, i != 5) << "only figure 6 is of the host";
    EXPECT_FALSE(all[i].claims.empty());
    EXPECT_THAT(known_figures(), HasSubstr(all[i].about.name));
  }
  EXPECT_FALSE(gpu_figure("gpu-11"));
}

TEST(GpuFigures, LinesAreAlgorithmsOfAlltoallv) {
  for (const GpuFigure& f : gpu_figures()) {
    for (const GpuPlot& plot : f.plots) {
      for (const Variant& line : plot.lines) {
        choose::Choice choice;
        if (line.algorithm == "default") continue;
        EXPECT_EQ(choose::parse_choice(Collective::alltoallv, line.algorithm, choice), "") << line.label;
        // As it is named where it runs, so that another one in its place is seen.
        EXPECT_THAT(choose::to_string(choice), testing::StartsWith(line.algorithm)) << line.label;
      }
    }
  }
}

bool has_line(const GpuPlot& plot, const std::string& label) {
  return label == "mpi" ||
         std::any_of(plot.lines.begin(), plot.lines.end(), [&](const Variant& line) { return line.label == label; });
}

TEST(GpuFigures, ClaimsOnThemAreAboutWhatIsMeasured) {
  for (const GpuFigure& f : gpu_figures()) {
    for (const GpuClaim& one : f.claims) {
      ASSERT_LT(one.plot, f.plots.size()) << one.text;
      const GpuPlot& plot = f.plots[one.plot];
      for (const std::string& label : one.fast) EXPECT_TRUE(has_line(plot, label)) << one.text << ": " << label;
      for (const std::string& label : one.slow) EXPECT_TRUE(has_line(plot, label)) << one.text << ": " << label;
      EXPECT_EQ(one.slow.empty(), one.compare == Compare::growth) << one.text;
      EXPECT_LT(one.from, one.to) << one.text;
      for (const int end : {one.least_ranks, one.most_ranks}) {
        EXPECT_THAT(plot.ranks, testing::Contains(end)) << one.text;
      }
      EXPECT_TRUE(std::any_of(plot.sizes.begin(), plot.sizes.end(), [&](std::size_t size) {
        return one.least <= size && size <= one.most;
      })) << one.text;
    }
  }
}

TEST(GpuFigures, SizesAreThoseOfAPairARankOrAll) {
  EXPECT_EQ(block_of(SizeOf::pair, 4096, 8), 4096u);
  EXPECT_EQ(block_of(SizeOf::rank, 4096, 8), 512u);
  EXPECT_EQ(block_of(SizeOf::all, 4096, 8), 64u);
}

TEST(GpuFigures, AreMeasuredWithAsManyRanksAsThereAre) {
  GpuPlot plot;
  plot.ranks = {8, 16, 32};
  EXPECT_THAT(counts_of(plot, 9), ElementsAre(9));
  EXPECT_THAT(counts_of(plot, 64), ElementsAre(32));
  plot.over_ranks = true;
  EXPECT_THAT(counts_of(plot, 64), ElementsAre(8, 16, 32));
  EXPECT_THAT(counts_of(plot, 20), ElementsAre(8, 16));
  EXPECT_THAT(counts_of(plot, 8), ElementsAre(8));
  EXPECT_THAT(counts_of(plot, 7), ElementsAre(2, 4, 7));
  EXPECT_THAT(counts_of(plot, 1), ElementsAre(1));
}

// ---- Verdicts on made-up numbers: 2 and 4 ranks, sizes 10 and 20, lines a (CUDA-aware) and b (over the host) ----

GpuRow made_row(int ranks, std::size_t size, const std::string& label, double mpi, double quadrille) {
  GpuRow one;
  one.size = size;
  one.row.measured.ranks = ranks;
  one.row.algorithm = label;
  one.row.served_by = label == "a" ? "pairwise" : "copy-to-cpu:buffers=kept,inner=mpi";
  one.row.path = label == "a" ? "straight" : "over host";
  one.row.mpi.median = mpi;
  one.row.quadrille.median = quadrille;
  return one;
}

class Verdicts : public testing::Test {
 protected:
  Verdicts() {
    figure_.plots = {
        {"plot", true, {2, 4}, {10, 20}, SizeOf::rank, {{"a", "pairwise", {}}, {"b", "copy-to-cpu:buffers=kept", {}}}}};
    GpuPlotRows& plot = measured_.plots.emplace_back();
    plot.rows = {made_row(2, 10, "a", 8, 4),  made_row(2, 10, "b", 8, 8),  made_row(2, 20, "a", 8, 2),
                 made_row(2, 20, "b", 8, 16), made_row(4, 10, "a", 16, 1), made_row(4, 10, "b", 16, 32),
                 made_row(4, 20, "a", 16, 8), made_row(4, 20, "b", 16, 4)};
    DeviceFacts facts;
    facts.gpus = 4, facts.ranks_a_gpu = 1, facts.mpi_device = DeviceUse::all;
    plot.devices = {{2, facts}, {4, facts}};
    claim_ = {"text", 0, {"a"}, {"mpi"}, 2, 4, 0, 100, "2", 1, 100, Compare::mean, ""};
  }
  Verdict verdict(int ranks = 4) const { return verdict_of(figure_, claim_, measured_, ranks); }
  void expect_not(const std::string& reason, int ranks = 4) const {
    const Verdict got = verdict(ranks);
    EXPECT_EQ(got.word, Verdict::Word::cannot_be_told);
    EXPECT_THAT(got.reason, HasSubstr(reason));
    const auto json = to_json(figure_, run_of(ranks), measured_)["claims"];
    EXPECT_TRUE(json.empty());  // the figure has none: the claim is ours
  }
  static FigureRun run_of(int ranks) {
    FigureRun run;
    run.ranks = ranks;
    return run;
  }
  DeviceFacts& facts(std::size_t count) { return measured_.plots[0].devices[count].second; }

  GpuFigure figure_;
  GpuClaim claim_;
  GpuMeasured measured_;
};

TEST_F(Verdicts, AreOfTheNumberHere) {
  Verdict got = verdict();  // 2, 4, 16, 2
  EXPECT_EQ(got.word, Verdict::Word::agrees);
  EXPECT_DOUBLE_EQ(got.here, 4);
  EXPECT_EQ(got.points, 4u);
  claim_.from = 4.01;
  EXPECT_EQ(verdict().word, Verdict::Word::disagrees);
  claim_.from = 1, claim_.to = 3.99;
  EXPECT_EQ(verdict().word, Verdict::Word::disagrees);
}

TEST_F(Verdicts, AreAboutTheClaimsPoints) {
  claim_.least_ranks = 4;
  EXPECT_NEAR(verdict().here, std::sqrt(16.0 * 2), 1e-9);
  claim_.most = 10;
  EXPECT_DOUBLE_EQ(verdict().here, 16);
  EXPECT_EQ(verdict().points, 1u);
}

TEST_F(Verdicts, CompareInSeveralWays) {
  claim_.compare = Compare::best;
  EXPECT_DOUBLE_EQ(verdict().here, 16);
  claim_.compare = Compare::worst;
  EXPECT_DOUBLE_EQ(verdict().here, 2);
  claim_.fast = {"a", "b"};  // the fastest of both
  claim_.compare = Compare::best;
  EXPECT_DOUBLE_EQ(verdict().here, 16);
  claim_.compare = Compare::each;  // b is slowest: 1, 0.5, 0.5, and a with 4 ranks and 20 bytes: 2
  EXPECT_DOUBLE_EQ(verdict().here, 0.5);
  claim_.fast = {"a"}, claim_.slow = {"mpi", "b"};  // the fastest of both: 8, 8, 16, 4
  claim_.compare = Compare::worst;
  EXPECT_DOUBLE_EQ(verdict().here, 0.5);
  claim_.slow = {}, claim_.most = 10;
  claim_.compare = Compare::growth;
  EXPECT_DOUBLE_EQ(verdict().here, 0.25);
}

TEST_F(Verdicts, NeedWhatThePaperHas) {
  expect_not("4 ranks are needed, and there were 3", [&] {
    auto& rows = measured_.plots[0].rows;
    rows.erase(rows.begin() + 4, rows.end());
    return 3;
  }());
  measured_.plots[0].skipped = {{4, 20, "blocks need 9 MiB, and 8 are free"}};
  expect_not("blocks need 9 MiB");
  measured_.plots[0].skipped.clear();
  expect_not("20 bytes with 4 ranks were not measured");
}

TEST_F(Verdicts, NeedAGpuForEachRank) {
  facts(1).ranks_a_gpu = 4, facts(1).gpus = 1;
  expect_not("one GPU for 4 ranks");
  facts(1).ranks_a_gpu = 2, facts(1).gpus = 2;
  expect_not("2 GPUs for 4 ranks");
  facts(0).standin = true;
  expect_not("a stand-in of a driver");
  measured_.no_device = "no driver libcuda.so.1 found";
  expect_not("no GPU");
}

TEST_F(Verdicts, NeedAnMpiThatTakesTheMemory) {
  figure_.needs_device = true;
  facts(0).stages_mpi = true;
  expect_not("the MPI was not given the memory of the GPUs");
  claim_.slow = {"b"};
  EXPECT_EQ(verdict().reason, "");
  measured_.plots[0].rows[0].row.path = "over host";
  expect_not("a went over the host");
  claim_.fast = {"b"}, claim_.slow = {"b"};
  EXPECT_EQ(verdict().reason, "");
  measured_.plots[0].rows[1].row.served_by = "mpi";
  expect_not("mpi served b");
}

TEST_F(Verdicts, NeedThePapersTimes) {
  measured_.plots[0].rows[3].row.late = LateColumns{};
  expect_not("a rank was late");
  measured_.plots[0].rows[3].row.late.reset();
  measured_.plots[0].rows[3].row.errors = 1;
  expect_not("wrong bytes were delivered");
  measured_.plots[0].rows[3].row.errors = 0;
  measured_.shrink = 2;
  expect_not("all sizes were divided by 2");
  measured_.shrink = 1;
  claim_.untestable = "Beatnik is not run";
  expect_not("Beatnik is not run");
  claim_.untestable = "";
  measured_.plots[0].left_out = true;
  expect_not("left out");
}

TEST_F(Verdicts, AreOnThePageAndInTheFile) {
  figure_.claims = {claim_, claim_};
  figure_.claims[1].most_ranks = 4, figure_.claims[1].from = 5;
  const auto json = to_json(figure_, run_of(4), measured_);
  EXPECT_EQ(json["plots"][0]["lines"].size(), 3u);
  EXPECT_EQ(json["plots"][0]["rows"].size(), 8u);
  EXPECT_EQ(json["plots"][0]["rows"][2]["size"], 20);
  EXPECT_EQ(json["claims"][0]["verdict"], "agrees");
  EXPECT_EQ(json["claims"][0]["here"], 4);
  EXPECT_TRUE(json["claims"][0]["agrees_from"] == 1 && json["claims"][0]["agrees_to"] == 100);
  EXPECT_EQ(json["claims"][1]["verdict"], "disagrees");
  measured_.no_device = "gpu-1 cannot be tested here: no driver";
  measured_.plots.clear();
  const auto nothing = to_json(figure_, run_of(4), measured_);
  EXPECT_EQ(nothing["claims"][0]["verdict"], "cannot be told");
  EXPECT_EQ(nothing["claims"][0]["reason"], "no GPU");
  EXPECT_TRUE(nothing["claims"][0]["here"].is_null());
  EXPECT_EQ(nothing["plots"][0]["lines"].size(), 3u);
  EXPECT_THAT(gpu_page(figure_, run_of(4), measured_),
              HasSubstr("| text | a over mpi | 2 | - | cannot be told: no GPU |"));
}

}  // namespace
}  // namespace quadrille::tools
