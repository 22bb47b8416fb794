// What the algorithms for uneven data cost, without building a schedule: for choosing, and for maps of many
// numbers of ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/cost.hpp"

namespace quadrille::plan {

// Equal to count() of the schedules of one rank, except that derived_messages is 0.
Counts count_spread_out(int ranks);
Counts count_zero_rotation_bruck(int ranks, std::int64_t radix);
Counts count_two_phase_bruck(int ranks, std::int64_t radix);
Counts count_sloav(int ranks, std::int64_t radix);

// Of the size messages of two-phase Bruck, those whose data, of blocks of `block_bytes` bytes, are more than
// `eager` bytes: they travel alone, the others with their data (run/carried.hpp).
std::uint64_t count_sizes_alone(int ranks, std::int64_t radix, double block_bytes, double eager);

// The formulas of Fan et al., HPDC 2022, section 3.3, for radix 2 and sizes uniform in 0..N bytes: log P is
// rounded up. Seconds. They leave out the agreement on N, and all copies.
double fan_spread_out(int ranks, double largest, const Machine& machine);
double fan_padded_bruck(int ranks, double largest, const Machine& machine);     // equation 1
double fan_two_phase_bruck(int ranks, double largest, const Machine& machine);  // equation 2

}  // namespace quadrille::plan
