// Fitting the constants of the cost model to measured times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/cost.hpp"

namespace quadrille::tools {

// What one measured call cost, in the units of plan::Machine.
struct Sample {
  plan::Amounts amounts{};
  double seconds = 0;  // measured, > 0
};

// The constants, none of them negative, for which the sum of the squares of the relative errors is
// least.
plan::Machine fit(std::span<const Sample> samples);

// Where samples have nothing of a term, its constant is not known: it is taken for that of its like, a message inside a
// node for one between nodes, a copy for another, a fence for a round.
void fill_unknown(plan::Machine& machine, std::span<const Sample> samples);

// What the samples do not say, in words: terms that none has, and terms whose amounts are, over all samples, so nearly
// in proportion to those of another, or to a sum of others, that the constants could be traded for each other.
std::vector<std::string> not_told_apart(std::span<const Sample> samples);

// The median over the samples of |modelled / measured - 1|. There is at least one sample.
double median_error(std::span<const Sample> samples, const plan::Machine& machine);

}  // namespace quadrille::tools
