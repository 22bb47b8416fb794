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

// Between which numbers here a number of the paper is confirmed: one of "above 1" from 1 on, "3.11" if it is at most a
// quarter larger or smaller and a difference at all where the paper has one of a tenth, "0.8 to 1" and "up to 1.1" in that range. None if the paper has none ("-", "towards 1").
std::optional<std::pair<double, double>> bounds_of(const std::string& paper);

// A claim's number in each run, and what follows.
struct ClaimResult {
  double here = 0, least = 0, most = 0;  // median, minimum and maximum over the runs
  std::size_t sizes = 0;                 // 0: nothing was measured
  Verdict verdict;
};
// "agrees", "disagrees", "the runs differ", these with " at this scale" behind them if the paper had other numbers of ranks;
// "cannot be tested here", "not measured yet"; empty if the paper has no number.
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
