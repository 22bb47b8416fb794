// What becomes of a claim of a paper on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/figure/figure.hpp"
#include "lab/figure/verdict.hpp"

namespace quadrille::tools {

// Between which numbers here a number of the paper is confirmed: "above 1" from 1 on, "0.8 to 1" and "up to 1.1" in
// that range, and "3.11" if the number here over the paper's is between 0.8 and 1.25, and a difference at all where the
// paper has one of a tenth. None if the paper has none ("-", "towards 1").
std::optional<std::pair<double, double>> bounds_of(const std::string& paper);

// What the paper means by "30% faster", as a range of numbers of times: one that confirms it. Also of several
// percentages.
std::string faster_by(double percent);
std::string faster_by(double least, double most);
// What a page says of that.
inline constexpr const char* about_percent =
    "\"30% faster\" may mean that it takes 30% less time or that it gets done 30% more: what lies between agrees, and "
    "up to a tenth more or less, but nothing below 1. ";

// Empty if `ranks` is within what a claim is about, or it says nothing of that. Sizes and ratios have a meaning at any
// number, so there is a verdict all the same; but it is one about this scale.
std::string other_scale(int least, int most, int ranks);

// The claim as a page has it: where the paper's MPI is another than that of the run, it says which one was here.
std::string text_of(const Claim& claim, const FigureRun& run);

// A claim's number in each run, and what follows.
struct ClaimResult {
  double here = 0, least = 0, most = 0;  // median, minimum and maximum over the runs
  std::size_t sizes = 0;                 // 0: nothing was measured
  Verdict verdict;
};
// "agrees", "disagrees" or "cannot be told"; empty if the paper has no number, or does not say it at all.
std::string status_of(const Claim& claim, const ClaimResult& result);
ClaimResult result_of(const Figure& figure, const Claim& claim, const FigureRun& run,
                      const std::vector<PlotRows>& plots);

// The noise floor: how far two measurements of one line lie apart, as a factor from 1 on.
struct Noise {
  double mean = 0, most = 0;  // geometric mean and maximum over the sizes; 0: no line was measured twice
  std::size_t at = 0;         // bytes
  std::string line{};
};
Noise noise_of(const Plot& plot, const PlotRows& measured);

}  // namespace quadrille::tools
