// Fitting the constants of the cost model to measured times.
#pragma once

#include <array>
#include <span>

#include "plan/cost.hpp"

namespace quadrille::tools {

// What one measured call cost, in the units of plan::Machine: time = sum of amount * constant.
struct Sample {
  double messages = 0;       // alpha
  double bytes = 0;          // beta
  double copied_bytes = 0;   // gamma
  double copied_blocks = 0;  // delta
  double rounds = 0;         // rho
  double seconds = 0;        // measured, > 0
};

double modelled(const Sample& sample, const plan::Machine& machine);

// The constants, none of them negative, for which the sum of the squares of the relative errors is
// least.
plan::Machine fit(std::span<const Sample> samples);

// The median over the samples of |modelled / measured - 1|. There is at least one sample.
double median_error(std::span<const Sample> samples, const plan::Machine& machine);

}  // namespace quadrille::tools
