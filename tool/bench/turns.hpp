// In which order implementations are measured against each other.
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille::tools {

// The order of `count` implementations in a round, as their numbers from 0 on. A pure function, so all ranks and
// threads have the same order.
//
// What is measured finds the caches as its predecessor left them, so no implementation may have one predecessor in most
// rounds: a mere rotation would do that. The order of an even round is drawn; the odd round after it has the reverse,
// so that of any two each comes first equally often, in few rounds too.
std::vector<std::size_t> order_of_round(std::size_t round, std::size_t count);

}  // namespace quadrille::tools
