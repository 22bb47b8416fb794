#include "lab/figure/claims.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "lab/figure/same.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace {

constexpr double any = std::numeric_limits<double>::infinity();
// A number here over the paper's is between 1 / 1.25 = 0.8 and 1.25.
constexpr double a_quarter = 1.25;
// A number of the paper says that two lines differ from here on; one here that is smaller than the other says nothing.
constexpr double a_difference = 1.1, just_above = 1.01;

// The numbers of "0.8 to 1".
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    const bool is_one = end != at && *at >= '0' && *at <= '9';
    if (is_one) numbers.push_back(number);
    at = is_one ? end : at + 1;
  }
  return numbers;
}

const Variant* find_line(const Plot& plot, const std::string& label) {
  const auto found =
      std::find_if(plot.variants.begin(), plot.variants.end(), [&](const Variant& v) { return v.label == label; });
  return found == plot.variants.end() ? nullptr : &*found;
}

// A line that another algorithm served, or with wrong bytes.
std::string why_not_as_named(const Plot& plot, const PlotRows& measured, const Claim& claim) {
  for (const BenchRow& row : measured.rows) {
    if (claim.fast != switching && row.algorithm != claim.fast && row.algorithm != claim.slow) continue;
    if (row.measured.bytes < claim.least || row.measured.bytes > claim.most) continue;
    if (row.errors > 0) return because(not_measured, "wrong bytes were delivered");
    const Variant* line = find_line(plot, row.algorithm);
    if (line != nullptr && line->algorithm != "default" && !row.served_by.starts_with(line->algorithm)) {
      return because(not_measured, fmt::format("{} served {}", row.served_by, row.algorithm));
    }
  }
  return "";
}

bool are_all_same(const PlotRows& measured, const Claim& claim) {
  bool any_size = false;
  for (const BenchRow& row : measured.rows) {
    const std::size_t bytes = row.measured.bytes;
    if (bytes < claim.least || bytes > claim.most) continue;
    any_size = true;
    if (first_like(measured, bytes, claim.fast) != first_like(measured, bytes, claim.slow)) return false;
  }
  return any_size;
}

std::string scale_of(const Figure& figure, const Claim& claim, const FigureRun& run) {
  const bool own = claim.most_ranks > 0;
  const int least = own ? claim.least_ranks : figure.least_ranks, most = own ? claim.most_ranks : figure.most_ranks;
  return other_scale(least, most, ranks_of(figure.plots[claim.plot], run.ranks));
}

// "Intel MPI 5.0" is that of a run on any Intel MPI.
bool is_of(const std::string& rival, const FigureRun& run) {
  return run.header.mpi.find(rival.substr(0, rival.find(' '))) != std::string::npos;
}

std::string why_untestable(const Figure& figure, const Claim& claim, const FigureRun& run, const PlotRows& measured,
                           std::size_t sizes) {
  if (!measured.skipped.empty()) return because(no_machine, measured.skipped);
  if (measured.rows.empty()) return not_measured;
  if (claim.slow_plot < 0 && are_all_same(measured, claim)) {
    return because(no_other_way,
                   fmt::format("by {} and {} each rank makes the same copies here", claim.fast, claim.slow));
  }
  if (!claim.reason.empty()) return claim.reason;
  if (sizes == 0) return because(not_measured, "none of its sizes");
  if (claim.needs_rival && !is_of(claim.rival, run))
    return because(not_measured, fmt::format("the claim is about {}, the run has {}", claim.rival, run.header.mpi));
  if (figure.needs_cores && run.ranks > run.hosts * run.processors) {
    return because(no_machine, fmt::format("{} ranks shared {} processors", run.ranks, run.hosts * run.processors));
  }
  return why_not_as_named(figure.plots[claim.plot], measured, claim);
}

// "towards 1": what a line gains goes as blocks grow.
bool is_trend(const Claim& claim) { return claim.paper.starts_with("towards"); }

// Of each run, how near to 1 the ratio comes from the smallest blocks to the claim's: 0 at 1, 1 as far as there.
std::vector<double> left_of_gain(const Claim& claim, const PlotRows& measured, const std::vector<double>& large) {
  Claim small = claim;
  small.least = 1, small.most = 64;
  std::size_t sizes = 0;
  std::vector<double> left = speedups_of_runs(small, measured, measured, sizes);
  left.resize(std::min(left.size(), large.size()));
  for (std::size_t run = 0; run < left.size(); ++run) {
    left[run] = left[run] > 1 ? std::log(std::max(large[run], 1.0)) / std::log(left[run]) : -1;
  }
  return left;
}

void decide(Verdict& verdict, Verdict::Word word) {
  verdict.word = word == Verdict::Word::runs_differ ? Verdict::Word::cannot_be_told : word;
  if (word == Verdict::Word::runs_differ) verdict.reason = the_runs_differ;
}

// Both must agree.
Verdict::Word both(Verdict::Word one, Verdict::Word other) {
  for (const Verdict::Word word : {Verdict::Word::disagrees, Verdict::Word::runs_differ}) {
    if (one == word || other == word) return word;
  }
  return Verdict::Word::agrees;
}

// Behind from some size on is a crossover only if the same line is ahead below.
Verdict::Word word_of_crossover(const Claim& claim, const PlotRows& measured, Verdict::Word far, Verdict& verdict) {
  Claim near = claim;
  near.least = claim.near_least, near.most = claim.near_most;
  std::size_t sizes = 0;
  const std::vector<double> ratios = speedups_of_runs(near, measured, measured, sizes);
  if (ratios.empty()) return far;
  const bool is_below = claim.paper.starts_with("below");
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const Verdict::Word word = word_of(is_below ? std::pair{1.0, any} : std::pair{0.0, 1.0}, *least, *most);
  if (word != Verdict::Word::agrees) {
    verdict.note = fmt::format("no crossover: {:.2f} ({:.2f}..{:.2f}) at {} to {} bytes", quantile(ratios, 0.5), *least,
                               *most, near.least, near.most);
  }
  return both(word, far);
}

void judge_trend(const std::vector<double>& left, Verdict& verdict) {
  if (left.empty() || std::any_of(left.begin(), left.end(), [](double one) { return one < 0; })) {
    verdict.reason = because(no_other_way, "small blocks have no advantage that could diminish");
    return;
  }
  const auto [least, most] = std::minmax_element(left.begin(), left.end());
  decide(verdict, word_of({0.0, 1.0}, *least, *most));
}

// Whether a claim is that one line is faster, by whatever it may be.
bool is_of_direction(const std::pair<double, double>& bounds) {
  return (bounds.first == 1 && bounds.second == any) || (bounds.first == 0 && bounds.second == 1);
}

}  // namespace

std::string_view to_text(Verdict::Word word) {
  switch (word) {
    case Verdict::Word::agrees:
      return "agrees";
    case Verdict::Word::disagrees:
      return "disagrees";
    case Verdict::Word::runs_differ:
      return "the runs differ";
    case Verdict::Word::cannot_be_told:
      break;
  }
  return "cannot be told";
}

std::string because(const char* reason, const std::string& detail) { return fmt::format("{}: {}", reason, detail); }

Verdict::Word word_of(const std::pair<double, double>& bounds, double least, double most) {
  const auto is_in = [&](double number) { return bounds.first <= number && number <= bounds.second; };
  if (is_in(least) && is_in(most)) return Verdict::Word::agrees;
  return most < bounds.first || least > bounds.second ? Verdict::Word::disagrees : Verdict::Word::runs_differ;
}

std::string other_scale(int least, int most, int ranks) {
  if (most == 0 || (least <= ranks && ranks <= most)) return "";
  const std::string about = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  return fmt::format("the paper has {} ranks, the run {}", about, ranks);
}

std::string text_of(const Claim& claim, const FigureRun& run) {
  if (claim.rival.empty() || claim.needs_rival || is_of(claim.rival, run)) return claim.text;
  return fmt::format("{} (here {})", claim.text, run.header.mpi);
}

std::string faster_by(double percent) { return faster_by(percent, percent); }

std::string faster_by(double least, double most) {
  const double less = 1 + least / 100, more = 1 / (1 - most / 100);
  return fmt::format("{:.2f} to {:.2f}", std::max(less / 1.1, 1.0), more * 1.1);
}

std::string status_of(const Claim& claim, const ClaimResult& result) {
  const Verdict& verdict = result.verdict;
  // What the paper does not say has no verdict, whatever came of it.
  if (claim.paper == "-" || claim.paper == "not in the paper") return "";
  if (verdict.reason.empty() && !bounds_of(claim.paper) && !is_trend(claim)) return "";
  return std::string(to_text(verdict.word));
}

std::optional<std::pair<double, double>> bounds_of(const std::string& paper) {
  const std::vector<double> numbers = numbers_in(paper);
  if (numbers.empty() || paper.starts_with("towards")) return std::nullopt;
  if (paper.starts_with("above")) return std::pair{numbers[0], any};
  if (paper.starts_with("below")) return std::pair{0.0, numbers[0]};
  if (paper.starts_with("up to")) return std::pair{1.0, numbers[0]};
  if (numbers.size() > 1) return std::pair{numbers[0], numbers[1]};
  const double number = numbers[0];
  std::pair bounds{number / a_quarter, number * a_quarter};
  // No difference here is none of what the paper saw.
  if (number >= a_difference) bounds.first = std::max(bounds.first, just_above);
  if (number > 0 && number <= 1 / a_difference) bounds.second = std::min(bounds.second, 1 / just_above);
  return bounds;
}

Noise noise_of(const Plot& plot, const PlotRows& measured) {
  Noise noise;
  if (plot.variants.empty()) return noise;
  const std::string& line = plot.variants[0].label;
  std::vector<double> factors;
  for (const BenchRow& row : measured.rows) {
    if (row.algorithm != again(line)) continue;
    const double first = time_of(measured, row.measured.bytes, line), second = row.quadrille.median;
    if (first <= 0 || second <= 0) continue;
    factors.push_back(std::max(first / second, second / first));
    if (factors.back() > noise.most) noise = {0, factors.back(), row.measured.bytes, line};
  }
  noise.mean = geometric_mean(factors);
  return noise;
}

ClaimResult result_of(const Figure& figure, const Claim& claim, const FigureRun& run,
                      const std::vector<PlotRows>& plots) {
  ClaimResult result;
  if (claim.plot >= plots.size() || claim.slow_plot >= static_cast<int>(plots.size())) {
    result.verdict.reason = not_measured;
    return result;
  }
  const PlotRows& measured = plots[claim.plot];
  const PlotRows& of_slow = claim.slow_plot < 0 ? measured : plots[static_cast<std::size_t>(claim.slow_plot)];
  const std::vector<double> all = speedups_of_runs(claim, measured, of_slow, result.sizes);
  if (result.sizes > 0) {
    result.here = quantile(all, 0.5);
    result.least = *std::min_element(all.begin(), all.end());
    result.most = *std::max_element(all.begin(), all.end());
  }
  Verdict& verdict = result.verdict;
  verdict.here = result.here;
  verdict.reason = why_untestable(figure, claim, run, measured, result.sizes);
  verdict.scale = scale_of(figure, claim, run);
  if (verdict.reason.empty() && is_trend(claim)) {
    judge_trend(left_of_gain(claim, measured, all), verdict);
    return result;
  }
  const auto bounds = bounds_of(claim.paper);
  if (!verdict.reason.empty() || !bounds) return result;
  const double noise = noise_of(figure.plots[claim.plot], measured).mean;
  if (is_of_direction(*bounds) && std::max(result.here, 1 / result.here) < noise) {
    verdict.reason = because(the_runs_differ, fmt::format("the difference is below the noise of {:.2f}", noise));
    return result;
  }
  const Verdict::Word word = word_of(*bounds, result.least, result.most);
  decide(verdict, claim.near_most == 0 ? word : word_of_crossover(claim, measured, word, verdict));
  return result;
}

}  // namespace quadrille::tools
