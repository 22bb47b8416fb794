#include "plan/closed_forms.hpp"

#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {
namespace {

using bruck::largest_digit;

// Blocks with digit `digit` at weight `weight`.
std::uint32_t blocks_with(int ranks, std::int64_t radix, std::int64_t weight, int digit) {
  const std::int64_t period = weight * radix;
  const std::int64_t rest = ranks % period - digit * weight;
  return static_cast<std::uint32_t>(ranks / period * weight + std::clamp<std::int64_t>(rest, 0, weight));
}

// Those of them that move on later.
std::uint32_t moving_on(int ranks, std::int64_t weight, int digit, std::uint32_t blocks) {
  return bruck::told_blocks(bruck::Told::moving_on, ranks, weight, digit, blocks);
}

// Calls visit(weight, digit, blocks) for each message that a rank sends.
template <class Visit>
void for_each_message(int ranks, std::int64_t radix, Visit visit) {
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    for (int digit = 1; digit <= largest_digit(ranks, radix, weight); ++digit) {
      visit(weight, digit, blocks_with(ranks, radix, weight, digit));
    }
  }
}

Counts count_bruck(int ranks, std::int64_t radix) {
  const bruck::Totals sum = bruck::totals(ranks, radix);
  Counts counts;
  counts.rounds = static_cast<std::uint64_t>(sum.rounds);
  counts.messages = sum.messages;
  counts.blocks_sent = sum.blocks;
  counts.blocks_copied = 1 + 2 * sum.blocks;
  counts.scratch_blocks = 2 * static_cast<std::uint64_t>(sum.most_blocks);
  return counts;
}

// Slots for blocks in flight.
std::uint64_t slots(int ranks) { return ranks > 1 ? static_cast<std::uint64_t>(ranks) : 0; }

double blocks_of_fan(int ranks) { return static_cast<double>(bruck::positions(ranks, 2)) * (ranks + 1) / 2; }

}  // namespace

Counts count_spread_out(int ranks) {
  Counts counts;
  counts.rounds = ranks > 1 ? 1 : 0;
  counts.messages = counts.blocks_sent = static_cast<std::uint64_t>(ranks - 1);
  counts.blocks_copied = 1;
  return counts;
}

Counts count_zero_rotation_bruck(int ranks, std::int64_t radix) { return count_bruck(ranks, radix); }

Counts count_two_phase_bruck(int ranks, std::int64_t radix) {
  Counts counts = count_bruck(ranks, radix);
  counts.scratch_blocks += static_cast<std::uint64_t>(bruck::waiting_blocks(ranks, radix));
  for_each_message(ranks, radix, [&](std::int64_t weight, int digit, std::uint32_t blocks) {
    const std::uint32_t told = moving_on(ranks, weight, digit, blocks);
    counts.sizes_sent += told;
    counts.size_messages += told > 0 ? 1 : 0;
  });
  return counts;
}

Counts count_sloav(int ranks, std::int64_t radix) {
  Counts counts = count_bruck(ranks, radix);
  counts.scratch_blocks += slots(ranks);
  counts.blocks_copied += static_cast<std::uint64_t>(ranks - 1);
  counts.sizes_sent = counts.blocks_sent;
  counts.size_messages = counts.messages;
  return counts;
}

std::uint64_t count_sizes_alone(int ranks, std::int64_t radix, double block_bytes, double eager) {
  std::uint64_t alone = 0;
  for_each_message(ranks, radix, [&](std::int64_t weight, int digit, std::uint32_t blocks) {
    const bool is_large = static_cast<double>(blocks) * block_bytes > eager;
    if (moving_on(ranks, weight, digit, blocks) > 0 && is_large) ++alone;
  });
  return alone;
}

double fan_spread_out(int ranks, double largest, const Machine& machine) {
  return (ranks - 1) * (machine.alpha + machine.beta * largest / 2);
}

double fan_padded_bruck(int ranks, double largest, const Machine& machine) {
  return machine.alpha * bruck::positions(ranks, 2) + machine.beta * blocks_of_fan(ranks) * largest;
}

double fan_two_phase_bruck(int ranks, double largest, const Machine& machine) {
  return 2 * machine.alpha * bruck::positions(ranks, 2) + machine.beta * blocks_of_fan(ranks) * (4 + largest / 2);
}

}  // namespace quadrille::plan
