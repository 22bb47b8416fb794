#include "lab/figure/bruck_list.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lab/figure/claims.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace simulated_bruck {
namespace {

const SimulatedLine two_phase = {"two-phase", "two-phase-bruck:radix=2,eager=0", Collective::alltoallv, false, false,
                                 true};
const SimulatedLine padded = {"padded", "padded-bruck:radix=2", Collective::alltoallv, true};
const SimulatedLine spread_out = {"spread-out", "spread-out"};
const SimulatedLine padded_alltoall = {"padded-alltoall", "", Collective::alltoallv, true};
const SimulatedLine mpi_line = {"MPI", ""};

const std::vector<int> all_ranks = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
const std::vector<std::size_t> sizes_to_2048 = {16, 32, 64, 128, 256, 512, 1024, 2048};
const std::vector<std::size_t> sizes_to_1024 = {16, 32, 64, 128, 256, 512, 1024};

constexpr double nothing = -1;

SimulatedFigure figure_of(std::string name, const std::string& number, const std::string& title) {
  SimulatedFigure f;
  f.name = std::move(name);
  f.source =
      "Fan et al., Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication (HPDC 2022), figure " +
      number;
  f.title = "Non-uniform Bruck, figure " + number + ", simulated: " + title;
  f.constants = "Some of its constants are fitted to five numbers of the paper, which have no verdict here.";
  f.how =
      "There are 64 ranks a node on a Cray Aries; the paper measured on Theta, nodes of 64 cores. A block is taken for "
      "the mean of "
      "its distribution, a padded one for N; `two-phase` agrees on N first and sends sizes beside the data, as in the "
      "paper. `MPI` is the "
      "schedule that "
      "MPICH chooses, as the paper's Cray MPI, which descends from it, is not published. ";
  return f;
}

SimulatedClaim at(std::string text, std::size_t panel, std::string fast, std::string slow, int ranks, std::size_t bytes,
                  std::string paper) {
  const auto here = [=](const TimeOf& time) {
    const double f = time(panel, fast, ranks, bytes), s = time(panel, slow, ranks, bytes);
    return f > 0 && s > 0 ? s / f : nothing;
  };
  return {std::move(text), fast, slow, std::move(paper), here};
}

// No verdict: the number is here because of how the simulation is made.
SimulatedClaim without_verdict(SimulatedClaim claim, const std::string& reason) {
  claim.reason = reason;
  return claim;
}
const std::string is_fitted = because(no_other_way, "the constants of the network are fitted to it");
const std::string by_construction =
    because(no_other_way, "what is left are the same rounds of the same messages and copies");
const std::string is_figure_6 = because(no_other_way, "these are the points of figure 6, and judged there");
const std::string of_the_means =
    because(no_other_way, "it follows from the mean sizes, which are all that is simulated of a distribution");

// Where it is least ahead of the sizes up to `most`.
SimulatedClaim wherever(std::string text, std::size_t panel, std::string fast, std::string slow, int ranks,
                        std::size_t most, std::string paper) {
  const auto here = [=](const TimeOf& time) {
    double least = nothing;
    for (const std::size_t bytes : sizes_to_2048) {
      const double f = time(panel, fast, ranks, bytes), s = time(panel, slow, ranks, bytes);
      if (bytes <= most && f > 0 && s > 0 && (least < 0 || s / f < least)) least = s / f;
    }
    return least;
  };
  return {std::move(text), fast, slow, std::move(paper), here};
}

SimulatedClaim in_the_mean(std::string text, std::size_t panel, std::string fast, std::string slow, int ranks,
                           std::string paper) {
  const auto here = [=](const TimeOf& time) {
    std::vector<double> ratios;
    for (const std::size_t bytes : sizes_to_2048) {
      const double f = time(panel, fast, ranks, bytes), s = time(panel, slow, ranks, bytes);
      if (f > 0 && s > 0) ratios.push_back(s / f);
    }
    return ratios.empty() ? nothing : geometric_mean(ratios);
  };
  return {std::move(text), fast, slow, std::move(paper), here};
}

SimulatedClaim milliseconds(std::string text, std::size_t panel, std::string line, int ranks, std::size_t bytes,
                            std::string paper) {
  const auto here = [=](const TimeOf& time) { return time(panel, line, ranks, bytes) / 1000; };
  return {std::move(text), "milliseconds", line, std::move(paper), here};
}

SimulatedClaim untested(std::string text, std::string fast, std::string slow, std::string paper, std::string reason) {
  return {std::move(text),  std::move(fast), std::move(slow), std::move(paper), [](const TimeOf&) { return nothing; },
          std::move(reason)};
}

std::size_t place_of(int ranks) {
  return static_cast<std::size_t>(std::find(all_ranks.begin(), all_ranks.end(), ranks) - all_ranks.begin());
}

// ---- Figure 2 ----

SimulatedFigure figure_2() {
  SimulatedFigure f = figure_of("bruck-2-simulated", "2", "uniform variants of Bruck");
  f.how += std::string(
               "Blocks of 32 bytes. The lines without rotations are the same schedules without their first and last "
               "copies: what "
               "they save is the rotations' share. ") +
           about_percent;
  const auto line = [](const char* label, const char* algorithm, bool without) {
    return SimulatedLine{label, algorithm, Collective::alltoall, false, without};
  };
  f.panels = {
      {"32 bytes",
       true,
       {256, 512, 1024, 2048, 4096},
       {32},
       equal_mean(),
       {line("basic", "basic-bruck:radix=2", false), line("basic without rotations", "basic-bruck:radix=2", true),
        line("modified", "modified-bruck:radix=2", false),
        line("modified without rotation", "modified-bruck:radix=2", true),
        line("zero-rotation", "zero-rotation-bruck:radix=2", false)}}};
  f.claims = {
      at("256 ranks: zero-rotation 39.64% faster than basic", 0, "zero-rotation", "basic", 256, 32, faster_by(39.64)),
      at("4,096 ranks: 7.13% faster than basic", 0, "zero-rotation", "basic", 4096, 32, faster_by(7.13)),
      at("256 ranks: 18.80% faster than modified", 0, "zero-rotation", "modified", 256, 32, faster_by(18.80)),
      at("4,096 ranks: 0.83% faster than modified", 0, "zero-rotation", "modified", 4096, 32, faster_by(0.83))};
  for (const int ranks : {256, 4096}) {
    f.claims.push_back(
        without_verdict(at(fmt::format("{} ranks: without its rotations basic takes as long as zero-rotation", ranks),
                           0, "basic without rotations", "zero-rotation", ranks, 32, "0.9 to 1.1"),
                        by_construction));
  }
  f.claims.push_back({"the rotations' share of basic grows with the ranks", "share at 256", "share at 4,096", "above 1",
                      [](const TimeOf& time) {
                        const auto share = [&](int ranks) {
                          return 1 - time(0, "basic without rotations", ranks, 32) / time(0, "basic", ranks, 32);
                        };
                        return share(4096) / share(256);
                      }});
  f.claims.push_back(
      untested("with derived datatypes each variant is slower; zero-copy is the slowest", "packed", "derived types",
               "above 1", because(not_built, "the simulation does not know what an MPI takes for a derived datatype")));
  return f;
}

// ---- Figures 6, 7 and 9 ----

SimulatedFigure figure_6() {
  SimulatedFigure f = figure_of("bruck-6-simulated", "6", "sizes, 128 to 32,768 ranks");
  f.how += std::string("Blocks are uniform in 0..N. ") + about_percent;
  for (const int ranks : all_ranks) {
    f.panels.push_back({fmt::format("{} ranks", ranks),
                        false,
                        {ranks},
                        sizes_to_2048,
                        uniform_mean(),
                        {two_phase, padded, spread_out, padded_alltoall, mpi_line}});
  }
  f.claims = {at("1,024 ranks, N = 16: padded 28.7% faster than two-phase", place_of(1024), "padded", "two-phase", 1024,
                 16, faster_by(28.7)),
              at("1,024 ranks, N = 16: padded 60.0% faster than the MPI", place_of(1024), "padded", "MPI", 1024, 16,
                 faster_by(60.0)),
              wherever("128 ranks: padded ahead of two-phase up to N = 128", place_of(128), "padded", "two-phase", 128,
                       128, "above 1"),
              wherever("256 ranks: padded ahead of two-phase up to N = 128", place_of(256), "padded", "two-phase", 256,
                       128, "above 1"),
              at("4,096 ranks, N = 512: padded takes 202.9 ms and two-phase 91.6", place_of(4096), "two-phase",
                 "padded", 4096, 512, "2.22"),
              without_verdict(milliseconds("4,096 ranks, N = 512: two-phase takes 91.6 ms", place_of(4096), "two-phase",
                                           4096, 512, "91.6"),
                              is_fitted)};
  for (const char* other : {"spread-out", "padded-alltoall"}) {
    f.claims.push_back(wherever(fmt::format("4,096 ranks: two-phase ahead of {} up to N = 1,024", other),
                                place_of(4096), "two-phase", other, 4096, 1024, "above 1"));
    // The MPI's messages.
    if (other == spread_out.label) f.claims.back().reason = is_fitted;
  }
  const std::pair<int, double> at_256[] = {{512, 50.1}, {1024, 38.5}, {2048, 35.8}, {4096, 30.8}};
  for (const auto& [ranks, by] : at_256) {
    f.claims.push_back(at(fmt::format("{} ranks, N = 256: two-phase {}% faster than the MPI", ranks, by),
                          place_of(ranks), "two-phase", "MPI", ranks, 256, faster_by(by)));
    if (ranks == 512) f.claims.back().reason = is_fitted;
  }
  const std::pair<int, std::size_t> borders[] = {{256, 1024},  {512, 1024}, {1024, 1024}, {2048, 1024},
                                                 {4096, 1024}, {8192, 512}, {16384, 256}, {32768, 128}};
  for (const auto& [ranks, most] : borders) {
    f.claims.push_back(wherever(fmt::format("{} ranks: two-phase ahead of the MPI up to N = {}", ranks, most),
                                place_of(ranks), "two-phase", "MPI", ranks, most, "above 1"));
    if (ranks == 4096) f.claims.back().reason = is_fitted;
    f.claims.push_back(at(fmt::format("{} ranks: but not at N = {}", ranks, 2 * most), place_of(ranks), "two-phase",
                          "MPI", ranks, 2 * most, "below 1"));
    f.claims.back().near = wherever("", place_of(ranks), "two-phase", "MPI", ranks, most, "").here;
  }
  return f;
}

SimulatedFigure figure_7() {
  SimulatedFigure f = figure_of("bruck-7-simulated", "7", "weak scaling");
  f.how += std::string("Blocks are uniform in 0..N. ") + about_percent;
  for (const std::size_t bytes : {64, 512}) {
    f.panels.push_back(
        {fmt::format("N = {}", bytes), true, all_ranks, {bytes}, uniform_mean(), {two_phase, padded, mpi_line}});
  }
  f.claims = {
      without_verdict(at("N = 64, 8,192 ranks: two-phase 39.8% faster than the MPI", 0, "two-phase", "MPI", 8192, 64,
                         faster_by(39.8)),
                      is_fitted),
      at("N = 64: two-phase ahead of the MPI up to 32,768 ranks", 0, "two-phase", "MPI", 32768, 64, "above 1"),
      at("N = 512: ahead up to 8,192 ranks", 1, "two-phase", "MPI", 8192, 512, "above 1"),
      at("N = 512: but not at 16,384 ranks", 1, "two-phase", "MPI", 16384, 512, "below 1"),
      without_verdict(milliseconds("N = 64, 128 ranks: two-phase takes 0.47 ms", 0, "two-phase", 128, 64, "0.47"),
                      is_fitted),
      milliseconds("N = 64, 8,192 ranks: two-phase takes 34.2 ms", 0, "two-phase", 8192, 64, "34.2"),
      {"N = 64: from 128 to 8,192 ranks two-phase grows from 0.47 to 34.2 ms", "two-phase, 128", "two-phase, 8,192",
       "72.8", [](const TimeOf& time) { return time(0, "two-phase", 8192, 64) / time(0, "two-phase", 128, 64); }}};
  // Ahead on fewer ranks.
  f.claims[3].near = f.claims[2].here;
  return f;
}

// The largest N at which it is ahead, and at all smaller ones.
double border(const TimeOf& time, const std::string& fast, const std::string& slow, int ranks) {
  const std::size_t panel = place_of(ranks);
  double most = 0;
  for (const std::size_t bytes : sizes_to_2048) {
    if (time(panel, fast, ranks, bytes) >= time(panel, slow, ranks, bytes)) break;
    most = static_cast<double>(bytes);
  }
  return most;
}

SimulatedFigure figure_9() {
  SimulatedFigure f = figure_of("bruck-9-simulated", "9", "which is the fastest, N by P");
  f.how += "Blocks are uniform in 0..N. Compared are the largest N up to which one is ahead of the other.";
  f.has_map = true;
  for (const int ranks : all_ranks) {
    f.panels.push_back(
        {fmt::format("{} ranks", ranks), false, {ranks}, sizes_to_2048, uniform_mean(), {two_phase, padded, mpi_line}});
  }
  const std::pair<int, const char*> borders[] = {{256, "1024"},  {512, "1024"}, {1024, "1024"}, {2048, "1024"},
                                                 {4096, "1024"}, {8192, "512"}, {16384, "256"}, {32768, "128"}};
  for (const auto& [count, most] : borders) {
    const int ranks = count;
    f.claims.push_back({fmt::format("{} ranks: two-phase ahead of the MPI up to N = {}", ranks, most), "two-phase",
                        "MPI", most, [ranks](const TimeOf& time) { return border(time, "two-phase", "MPI", ranks); }});
    if (ranks == 4096) f.claims.back().reason = is_fitted;
  }
  for (const int ranks : {128, 256}) {
    f.claims.push_back({fmt::format("{} ranks: padded ahead of two-phase up to N = 128", ranks), "padded", "two-phase",
                        "128", [ranks](const TimeOf& time) { return border(time, "padded", "two-phase", ranks); }});
  }
  f.claims.push_back({"the range of two-phase shrinks from 4,096 to 32,768 ranks", "at 32,768", "at 4,096", "8",
                      [](const TimeOf& time) {
                        const double least = border(time, "two-phase", "MPI", 32768);
                        return least > 0 ? border(time, "two-phase", "MPI", 4096) / least : nothing;
                      }});
  return f;
}

// ---- Figures 8 and 10 ----

SimulatedFigure figure_8() {
  SimulatedFigure f = figure_of("bruck-8-simulated", "8", "windows of sizes, 4,096 ranks");
  f.how += "Blocks are uniform from (100 - r) percent of N to N; a panel is called (100 - r)-r, as in the paper.";
  const int windows[] = {100, 80, 50, 20, 0};
  for (const int r : windows) {
    const std::size_t panel = f.panels.size();
    f.panels.push_back({fmt::format("{}-{}", 100 - r, r),
                        false,
                        {4096},
                        sizes_to_1024,
                        window_mean(r),
                        {two_phase, padded, mpi_line}});
    const std::string& title = f.panels.back().title;
    const std::size_t first = f.claims.size();
    f.claims.push_back(wherever(title + ": two-phase ahead of the MPI up to N = 512", panel, "two-phase", "MPI", 4096,
                                512, "above 1"));
    if (r >= 80) f.claims.push_back(at(title + ": as fast at N = 1,024", panel, "two-phase", "MPI", 4096, 1024, "1"));
    if (r < 80) {
      f.claims.push_back(at(title + ": slower at N = 1,024", panel, "two-phase", "MPI", 4096, 1024, "below 1"));
      f.claims.back().near = wherever("", panel, "two-phase", "MPI", 4096, 512, "").here;
    }
    for (std::size_t claim = first; r == 100 && claim < f.claims.size(); ++claim) f.claims[claim].reason = is_figure_6;
  }
  f.claims.push_back(
      {"N = 512: two-phase takes time in proportion to the data, 20-80 against 80-20", "20-80", "80-20", "1.5",
       [](const TimeOf& time) { return time(3, "two-phase", 4096, 512) / time(1, "two-phase", 4096, 512); },
       of_the_means});
  return f;
}

const std::string as_uniform =
    because(no_other_way, "a block is taken for the mean of its distribution, so this is the same as figure 6");
const std::string empty_blocks =
    because(not_built, "by a power law most blocks are empty, and a simulation with blocks of the mean sends them all");

SimulatedFigure figure_10() {
  SimulatedFigure f =
      figure_of("bruck-10-simulated", "10", "power laws and a normal distribution, 4,096 and 8,192 ranks");
  f.how += std::string(
               "By a power law a rank's blocks are N, N b, N b^2 and so on, in whole bytes. The paper names the base "
               "0.99; its other one "
               "follows from the total that it gives, 203,928 bytes of a rank among 4,096 with N = 1,024: that is the "
               "sum for b = "
               "0.995. The normal distribution lies around N / 2, cut at 3 sigma, 0 and N. ") +
           about_percent;
  const std::pair<const char*, MeanOf> kinds[] = {
      {"power law 0.99", power_mean(0.99)}, {"power law 0.995", power_mean(0.995)}, {"normal", uniform_mean()}};
  for (const auto& [name, mean] : kinds) {
    for (const int ranks : {4096, 8192}) {
      const std::size_t panel = f.panels.size();
      const bool is_power = name[0] == 'p';
      f.panels.push_back(
          {fmt::format("{}, {} ranks", name, ranks), false, {ranks}, sizes_to_1024, mean, {two_phase, padded}});
      const std::string& title = f.panels.back().title;
      if (is_power) {
        f.claims.push_back(untested(title + ": two-phase ahead of the MPI up to N = 1,024", "two-phase", "MPI",
                                    "above 1", empty_blocks));
      } else {
        f.panels.back().lines.push_back(mpi_line);
        f.claims.push_back(wherever(title + ": two-phase ahead of the MPI up to N = 256", panel, "two-phase", "MPI",
                                    ranks, 256, "above 1"));
        f.claims.back().reason = as_uniform;
        f.claims.push_back(at(title + ": behind at N = 1,024", panel, "two-phase", "MPI", ranks, 1024, "below 1"));
        f.claims.back().near = wherever("", panel, "two-phase", "MPI", ranks, 256, "").here;
        f.claims.back().reason = as_uniform;
      }
      // The paper says so of power laws alone.
      if (is_power) {
        f.claims.push_back(wherever(title + ": padded behind two-phase at all N", panel, "two-phase", "padded", ranks,
                                    1024, "above 1"));
      }
    }
  }
  f.claims.push_back(untested("8,192 ranks, one power law: two-phase 24.0% faster in the mean", "two-phase", "MPI",
                              faster_by(24.0), empty_blocks));
  f.claims.push_back(
      untested("8,192 ranks, the other: 54.4% faster", "two-phase", "MPI", faster_by(54.4), empty_blocks));
  f.claims.push_back(in_the_mean("8,192 ranks, normal: 33.9% faster", 5, "two-phase", "MPI", 8192, faster_by(33.9)));
  f.claims.back().reason = as_uniform;
  for (const int ranks : {4096, 8192}) {
    const std::size_t first = ranks == 4096 ? 0 : 1;
    const std::pair<const char*, std::size_t> others[] = {{"0.995", first + 2}, {"normal", first + 4}};
    for (const auto& [name, panel] : others) {
      f.claims.push_back(
          {fmt::format("{} ranks: two-phase takes less time with 0.99 than with {}, in the mean", ranks, name), "0.99",
           name, "above 1", [=, panel = panel](const TimeOf& time) {
             std::vector<double> ratios;
             for (const std::size_t bytes : sizes_to_1024) {
               const double f = time(first, "two-phase", ranks, bytes), s = time(panel, "two-phase", ranks, bytes);
               if (f > 0 && s > 0) ratios.push_back(s / f);
             }
             return ratios.empty() ? nothing : geometric_mean(ratios);
           }});
      f.claims.back().reason = of_the_means;
    }
  }
  return f;
}

}  // namespace
}  // namespace simulated_bruck

std::vector<SimulatedFigure> simulated_bruck_figures() {
  using namespace simulated_bruck;
  return {figure_2(), figure_6(), figure_7(), figure_8(), figure_9(), figure_10()};
}

}  // namespace quadrille::tools
