// Pairs of an order, as tests print them.
#pragma once

#include <ostream>

#include "plan/order.hpp"

namespace quadrille::plan {

inline void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.source << "->" << pair.destination; }

}  // namespace quadrille::plan
