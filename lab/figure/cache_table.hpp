// Tables 1 and 2 of the cache-oblivious paper: cache misses of an allgather and an all-to-all inside a node, counted by
// simulated caches (lab/cache/misses.hpp), beside the paper's counters and its equations.
#pragma once

#include "lab/figure/computed.hpp"

namespace quadrille::tools {

std::vector<ComputedFigure> cache_tables();

}  // namespace quadrille::tools
