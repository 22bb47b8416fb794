// The experiments of the paper on non-uniform Bruck, with as many ranks as there are: of its own numbers nothing
// follows from that, but which variant is the faster, and how lines lie. bruck_list.cpp has the same at the paper's
// numbers, simulated.
#include <fmt/core.h>

#include <algorithm>

#include "lab/figure/claims.hpp"
#include "lab/figure/figure.hpp"

namespace quadrille::tools {
namespace measured_bruck {
namespace {

const std::string paper =
    "Fan et al., Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication (HPDC 2022), figure ";
constexpr int most_ranks = 32768;

// As the paper has them: radix 2, sizes in messages of their own.
const Variant two_phase = {"two-phase", "two-phase-bruck:radix=2,eager=0"};
const Variant padded = {"padded", "padded-bruck:radix=2"};
const Variant padded_alltoall = {"padded-alltoall", "padded-alltoall"};
const Variant spread_out = {"spread-out", "spread-out"};

Figure figure_of(std::string name, std::string number, const std::string& title) {
  Figure f;
  f.name = std::move(name);
  f.title = "Non-uniform Bruck, figure " + number + ": " + title;
  f.source = paper + number;
  f.paper_machine = "Theta, a Cray XC40, 64 ranks a node, 128 to 32,768 ranks, Cray MPI";
  f.how = "Messages only (--no-node): each rank is taken for a node of its own.";
  f.no_node = true;
  f.least_ranks = 128, f.most_ranks = most_ranks;
  return f;
}

Plot plot_of(std::string title, Collective collective, std::string sizes, std::vector<Variant> variants,
             std::string distribution, int ranks) {
  Plot plot{std::move(title), collective, std::move(sizes), false, std::move(variants)};
  plot.distribution = std::move(distribution);
  plot.ranks = ranks;
  return plot;
}

// Powers of two up to all of them, and all.
std::vector<int> counts_up_to(int ranks) {
  std::vector<int> counts;
  for (int count = 4; count < ranks; count *= 2) counts.push_back(count);
  counts.push_back(ranks);
  return counts;
}

Figure figure_2(int ranks) {
  Figure f = figure_of("bruck-2", "2", "six uniform variants");
  f.least_ranks = 256, f.most_ranks = 4096;
  const auto line = [](const char* label, const char* algorithm) { return Variant{label, algorithm}; };
  const std::vector<Variant> lines = {
      line("zero-rotation", "zero-rotation-bruck:radix=2"), line("basic", "basic-bruck:radix=2"),
      line("basic-dt", "basic-bruck-dt:radix=2"),           line("modified", "modified-bruck:radix=2"),
      line("modified-dt", "modified-bruck-dt:radix=2"),     line("zero-copy-dt", "zero-copy-bruck-dt:radix=2")};
  f.how += " The share of the rotations is what zero-rotation saves, as the rounds of messages are the same. ";
  f.how += about_percent;
  for (const int count : counts_up_to(ranks)) {
    f.plots.push_back(plot_of(fmt::format("{} ranks", count), Collective::alltoall, "8:2K:x4", lines, "equal", count));
  }
  const std::size_t last = f.plots.size() - 1;
  f.claims = {
      {"32 bytes: zero-rotation is faster than basic", last, "zero-rotation", "basic", 32, 32, "above 1"},
      {"32 bytes: zero-rotation is faster than modified", last, "zero-rotation", "modified", 32, 32, "above 1"},
      {"32 bytes: basic is faster without derived datatypes", last, "basic", "basic-dt", 32, 32, "above 1"},
      {"32 bytes: modified is faster without derived datatypes", last, "modified", "modified-dt", 32, 32, "above 1"},
      {"32 bytes: zero-copy is the slowest: basic-dt is faster", last, "basic-dt", "zero-copy-dt", 32, 32, "above 1"},
      {"32 bytes: zero-copy is the slowest: modified-dt is faster", last, "modified-dt", "zero-copy-dt", 32, 32,
       "above 1"},
      {"32 bytes, 256 ranks: zero-rotation 39.64% faster than basic", last, "zero-rotation", "basic", 32, 32,
       faster_by(39.64), 256, 256},
      {"32 bytes, 4,096 ranks: 7.13% faster", last, "zero-rotation", "basic", 32, 32, faster_by(7.13), 4096, 4096},
      {"32 bytes, 256 ranks: zero-rotation 18.80% faster than modified", last, "zero-rotation", "modified", 32, 32,
       faster_by(18.80), 256, 256},
      {"32 bytes, 4,096 ranks: 0.83% faster", last, "zero-rotation", "modified", 32, 32, faster_by(0.83), 4096, 4096}};
  return f;
}

Figure figure_6(int ranks) {
  Figure f = figure_of("bruck-6", "6", "block sizes uniform in 0..N");
  for (const int count : counts_up_to(ranks)) {
    f.plots.push_back(plot_of(fmt::format("{} ranks", count), Collective::alltoallv, "16:2K:x2",
                              {two_phase, padded, padded_alltoall, spread_out}, "uniform", count));
  }
  f.how += std::string(" ") + about_percent;
  const std::size_t last = f.plots.size() - 1;
  f.claims = {{"two-phase ahead of the MPI up to N = 1,024, 256 to 4,096 ranks", last, "two-phase", "mpi", 16, 1024,
               "above 1", 256, 4096},
              {"two-phase ahead of the MPI up to N = 128, 32,768 ranks", last, "two-phase", "mpi", 16, 128, "above 1",
               most_ranks, most_ranks},
              {"padded ahead of two-phase at N = 16, at most numbers of ranks", last, "padded", "two-phase", 16, 16,
               "above 1", 128, most_ranks},
              {"padded 28.7% faster than two-phase at N = 16, 1,024 ranks", last, "padded", "two-phase", 16, 16,
               faster_by(28.7), 1024, 1024},
              {"padded 60.0% faster than the MPI at N = 16, 1,024 ranks", last, "padded", "mpi", 16, 16,
               faster_by(60.0), 1024, 1024},
              {"two-phase ahead of padded from N = 512 on, 4,096 ranks", last, "two-phase", "padded", 512, 2048,
               "above 1", 4096, 4096},
              {"padded takes 202.9 ms and two-phase 91.6 at N = 512, 4,096 ranks", last, "two-phase", "padded", 512,
               512, "2.22", 4096, 4096},
              {"two-phase 50.1% to 30.8% faster than the MPI at N = 256, 512 to 4,096 ranks", last, "two-phase", "mpi",
               256, 256, faster_by(30.8, 50.1), 512, 4096}};
  for (const char* other : {"spread-out", "padded-alltoall"}) {
    f.claims.push_back({fmt::format("two-phase ahead of {} up to N = 1,024, 256 to 4,096 ranks", other), last,
                        "two-phase", other, 16, 1024, "above 1", 256, 4096});
  }
  return f;
}

Figure figure_7(int ranks) {
  Figure f = figure_of("bruck-7", "7", "weak scaling");
  f.how += " The panels are numbers of ranks; in each there are the two N of the figure. ";
  f.how += about_percent;
  for (const int count : counts_up_to(ranks)) {
    f.plots.push_back(plot_of(fmt::format("{} ranks", count), Collective::alltoallv, "64,512", {two_phase, padded},
                              "uniform", count));
  }
  const std::size_t last = f.plots.size() - 1;
  f.claims = {{"N = 64: two-phase ahead of the MPI, 128 to 32,768 ranks", last, "two-phase", "mpi", 64, 64, "above 1",
               128, most_ranks},
              {"N = 512: two-phase ahead of the MPI, 128 to 8,192 ranks", last, "two-phase", "mpi", 512, 512, "above 1",
               128, 8192},
              {"N = 64: two-phase 39.8% faster than the MPI, 8,192 ranks", last, "two-phase", "mpi", 64, 64,
               faster_by(39.8), 8192, 8192}};
  return f;
}

Figure figure_8(int ranks) {
  Figure f = figure_of("bruck-8", "8", "windows of sizes");
  f.how += " Blocks are uniform from (100 - r) percent of N to N; a panel is called (100 - r)-r.";
  for (const int r : {100, 80, 50, 20, 0}) {
    const std::string title = fmt::format("{}-{}", 100 - r, r);
    f.claims.push_back({title + ": two-phase ahead of the MPI up to N = 512, 4,096 ranks", f.plots.size(), "two-phase",
                        "mpi", 16, 512, "above 1", 4096, 4096});
    f.claims.push_back({title + ": two-phase ahead of padded up to N = 512, 4,096 ranks", f.plots.size(), "two-phase",
                        "padded", 16, 512, "above 1", 4096, 4096});
    f.claims.push_back(
        {fmt::format("{}: {} the MPI at N = 1,024, 4,096 ranks", title, r >= 80 ? "as fast as" : "slower than"),
         f.plots.size(), "two-phase", "mpi", 1024, 1024, r >= 80 ? "1" : "below 1", 4096, 4096});
    if (r < 80) f.claims.back().near_least = 16, f.claims.back().near_most = 512;
    f.plots.push_back(
        plot_of(title, Collective::alltoallv, "16:1K:x4", {two_phase, padded}, fmt::format("window:{}", r), ranks));
  }
  // 0.6 N and 0.9 N in the mean.
  for (const char* line : {"two-phase", "mpi"}) {
    f.claims.push_back({fmt::format("time is in proportion to the data: {} with 20-80 against 80-20", line), 1, line,
                        line, 256, 1024, "1.5", 4096, 4096, 3});
  }
  return f;
}

Figure figure_9(int ranks) {
  Figure f = figure_of("bruck-9", "9", "which is the fastest, N by P");
  f.has_map = true;
  for (const int count : counts_up_to(ranks)) {
    f.plots.push_back(plot_of(fmt::format("{} ranks", count), Collective::alltoallv, "16:2K:x2",
                              {two_phase, padded, spread_out}, "uniform", count));
  }
  const std::size_t last = f.plots.size() - 1;
  f.claims = {{"two-phase is ahead of the MPI from the smallest N to 1,024, 256 to 4,096 ranks", last, "two-phase",
               "mpi", 16, 1024, "above 1", 256, 4096},
              {"padded is ahead of two-phase where N and P are small: N = 16, 128 ranks", last, "padded", "two-phase",
               16, 16, "above 1", 128, 128}};
  return f;
}

Figure figure_10(int ranks) {
  Figure f = figure_of("bruck-10", "10", "power laws and a normal distribution");
  f.how += " The paper's second base is 0.995: the total that it gives, 203,928 bytes, is that of it.";
  f.how += " With power laws the paper has 24.0% in the mean by one of them and 54.4% by the other, not saying which. ";
  f.how += about_percent;
  for (const char* distribution : {"power:0.99", "power:0.995", "normal"}) {
    const std::string title = distribution;
    const bool is_power = title.starts_with("power");
    const std::size_t panel = f.plots.size();
    f.claims.push_back(
        {title + fmt::format(": two-phase ahead of the MPI up to N = {}, 4,096 and 8,192 ranks", is_power ? 1024 : 256),
         panel, "two-phase", "mpi", 16, is_power ? 1024U : 256U, "above 1", 4096, 8192});
    if (is_power) {
      f.claims.push_back({title + ": 24.0% or 54.4% faster than the MPI in the mean, 8,192 ranks", panel, "two-phase",
                          "mpi", 16, 1024, faster_by(24.0, 54.4), 8192, 8192});
      f.claims.push_back({title + ": padded poor at all N, 4,096 and 8,192 ranks", panel, "padded", "two-phase", 16,
                          1024, "below 1", 4096, 8192});
    } else {
      f.claims.push_back({title + ": the MPI ahead of two-phase from N = 1,024 on, 4,096 and 8,192 ranks", panel, "mpi",
                          "two-phase", 1024, 1024, "above 1", 4096, 8192});
      f.claims.back().near_least = 16, f.claims.back().near_most = 256;
      f.claims.push_back({title + ": 33.9% faster than the MPI in the mean, 8,192 ranks", panel, "two-phase", "mpi", 16,
                          1024, faster_by(33.9), 8192, 8192});
    }
    f.plots.push_back(plot_of(title, Collective::alltoallv, "16:1K:x4", {two_phase, padded}, distribution, ranks));
  }
  for (const int other : {1, 2}) {
    const std::string& title = f.plots[static_cast<std::size_t>(other)].title;
    f.claims.push_back({"two-phase takes less time with power:0.99 than with " + title + " in the mean", 0, "two-phase",
                        "two-phase", 16, 1024, "above 1", 4096, 8192, other});
  }
  return f;
}

}  // namespace
}  // namespace measured_bruck

std::vector<Figure> bruck_figures(int ranks) {
  using namespace measured_bruck;
  return {figure_2(ranks), figure_6(ranks), figure_7(ranks), figure_8(ranks), figure_9(ranks), figure_10(ranks)};
}

}  // namespace quadrille::tools
