// Several whole runs of a figure become one: each number is the median of those of the runs, and has a least and a
// most.
#pragma once

#include <vector>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {

// [run][plot], each with the same rows, as they were measured; what some run lacks is left out.
std::vector<PlotRows> combine_runs(const std::vector<std::vector<PlotRows>>& runs);

}  // namespace quadrille::tools
