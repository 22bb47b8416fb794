// Builders of copies in orders, by the names of their algorithms.
#pragma once

#include "plan/algorithms.hpp"

namespace quadrille::plan {

inline constexpr Build sh_co = node_copies<Order::morton, Pattern::alltoall>;
inline constexpr Build sh_numa_co = node_copies<Order::morton_numa, Pattern::alltoall>;
inline constexpr Build hint_row = node_copies<Order::row, Pattern::alltoall>;
inline constexpr Build hint_hilbert = node_copies<Order::hilbert, Pattern::alltoall>;
inline constexpr Build hint_hilbert_square = node_copies<Order::square_and_row, Pattern::alltoall>;
inline constexpr Build allgather_hint_column = node_copies<Order::column, Pattern::allgather>;

}  // namespace quadrille::plan
