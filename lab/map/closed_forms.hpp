// What the algorithms for uneven data cost by formulas, without building a schedule: for maps of many numbers of ranks.
// Inline, so that the tests of plans, which hold them against schedules, need nothing else of the laboratory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plan/bruck.hpp"
#include "plan/cost.hpp"

namespace quadrille::lab {

using plan::Counts;
using plan::Machine;
namespace bruck = plan::bruck;

// Blocks with digit `digit` at weight `weight`.
inline std::uint32_t blocks_with(int ranks, std::int64_t radix, std::int64_t weight, int digit) {
  const std::int64_t period = weight * radix;
  const std::int64_t rest = ranks % period - digit * weight;
  return static_cast<std::uint32_t>(ranks / period * weight + std::clamp<std::int64_t>(rest, 0, weight));
}

inline Counts count_bruck(int ranks, std::int64_t radix) {
  Counts counts;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    ++counts.rounds;
    counts.messages += static_cast<std::uint64_t>(bruck::largest_digit(ranks, radix, weight));
    counts.blocks_sent += static_cast<std::uint64_t>(bruck::blocks_moved(ranks, radix, weight));
  }
  counts.blocks_copied = 1 + 2 * counts.blocks_sent;
  counts.scratch_blocks = 2 * static_cast<std::uint64_t>(bruck::most_blocks(ranks, radix));
  return counts;
}

// Slots for blocks in flight.
inline std::uint64_t slots(int ranks) { return ranks > 1 ? static_cast<std::uint64_t>(ranks) : 0; }

inline double blocks_of_fan(int ranks) { return static_cast<double>(bruck::positions(ranks, 2)) * (ranks + 1) / 2; }

// These four are equal to count() of the schedules of one rank, except that derived_messages is 0.
inline Counts count_spread_out(int ranks) {
  Counts counts;
  counts.rounds = ranks > 1 ? 1 : 0;
  counts.messages = counts.blocks_sent = static_cast<std::uint64_t>(ranks - 1);
  counts.blocks_copied = 1;
  return counts;
}

inline Counts count_zero_rotation_bruck(int ranks, std::int64_t radix) { return count_bruck(ranks, radix); }

inline Counts count_two_phase_bruck(int ranks, std::int64_t radix) {
  Counts counts = count_bruck(ranks, radix);
  counts.scratch_blocks += static_cast<std::uint64_t>(bruck::waiting_blocks(ranks, radix));
  counts.sizes_sent = counts.blocks_sent;
  counts.size_messages = counts.messages;
  return counts;
}

inline Counts count_sloav(int ranks, std::int64_t radix) {
  Counts counts = count_bruck(ranks, radix);
  counts.scratch_blocks += slots(ranks);
  counts.blocks_copied += static_cast<std::uint64_t>(ranks - 1);
  counts.sizes_sent = counts.blocks_sent;
  counts.size_messages = counts.messages;
  return counts;
}

// Of the size messages of two-phase Bruck, those whose data, of blocks of `block_bytes` bytes, are more than
// `eager` bytes: they travel alone, the others with their data (run/carried_blocks.hpp).
inline std::uint64_t count_sizes_alone(int ranks, std::int64_t radix, double block_bytes, double eager) {
  std::uint64_t alone = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    for (int digit = 1; digit <= bruck::largest_digit(ranks, radix, weight); ++digit) {
      alone += blocks_with(ranks, radix, weight, digit) * block_bytes > eager ? 1 : 0;
    }
  }
  return alone;
}

// The formulas of Fan et al., HPDC 2022, section 3.3, for radix 2 and sizes uniform in 0..N bytes: log P is
// rounded up. Seconds. They leave out the agreement on N, and all copies.
inline double fan_spread_out(int ranks, double largest, const Machine& machine) {
  return (ranks - 1) * (machine.alpha + machine.beta * largest / 2);
}

// Equation 1.
inline double fan_padded_bruck(int ranks, double largest, const Machine& machine) {
  return machine.alpha * bruck::positions(ranks, 2) + machine.beta * blocks_of_fan(ranks) * largest;
}

// Equation 2.
inline double fan_two_phase_bruck(int ranks, double largest, const Machine& machine) {
  return 2 * machine.alpha * bruck::positions(ranks, 2) + machine.beta * blocks_of_fan(ranks) * (4 + largest / 2);
}

// Seconds that one rank needs, with blocks of `block_bytes` bytes; in the mean, if sizes differ. A size takes
// 4 bytes. Each of `size_messages` costs alpha. All messages are between nodes of one rank, and those of a round are
// in flight together.
inline double time(const Counts& counts, const Machine& shared, double block_bytes) {
  constexpr double bytes_of_a_size = 4;
  const Machine machine = plan::flat(shared, 1);
  const auto messages = static_cast<double>(counts.messages);
  const double together = messages / static_cast<double>(std::max<std::uint64_t>(counts.rounds, 1));
  return machine.alpha * static_cast<double>(counts.messages + counts.size_messages) +
         machine.flight * messages * plan::doublings(std::max(together, 1.0)) +
         machine.beta * bytes_of_a_size * static_cast<double>(counts.sizes_sent) +
         machine.beta * block_bytes * static_cast<double>(counts.blocks_sent) +
         (machine.gamma * block_bytes + machine.delta) * static_cast<double>(counts.blocks_copied) +
         machine.rho * static_cast<double>(counts.rounds);
}

}  // namespace quadrille::lab
