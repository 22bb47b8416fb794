// Figures 2 and 6 to 10 of Fan et al., "Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication", at
// the paper's numbers of ranks, which nobody here has: simulated. So are figures 12 and 13 of the cache-oblivious
// paper.
#pragma once

#include "lab/figure/computed.hpp"

namespace quadrille::tools {

std::vector<ComputedFigure> simulations();

}  // namespace quadrille::tools
