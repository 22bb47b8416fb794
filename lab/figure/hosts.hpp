// Figures about several hosts.
#pragma once

#include <string>
#include <vector>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {

// Those of the cache-oblivious paper between nodes.
std::vector<Figure> host_figures();
// Panels of a rank on each host are measured with that many ranks.
void count_on_hosts(Figure& figure, int hosts);
// Empty, or why a figure about several hosts cannot be measured by these ranks. Collective; the same on all ranks.
std::string why_not_on_hosts(const Figure& figure, int hosts, int ranks);

}  // namespace quadrille::tools
