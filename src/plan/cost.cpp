#include "plan/cost.hpp"

#include <algorithm>

namespace quadrille::plan {
namespace {

bool is_one_run(const Schedule& schedule, const Message& message) {
  for (std::uint32_t i = 1; i < message.spans.count; ++i) {
    const Span& last = schedule.spans[message.spans.first + i - 1];
    const Span& span = schedule.spans[message.spans.first + i];
    if (span.buffer != last.buffer || span.block != last.block + 1) return false;
  }
  return true;
}

std::uint64_t derived(const Schedule& schedule, Range messages) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < messages.count; ++i) {
    if (!is_one_run(schedule, schedule.messages[messages.first + i])) ++count;
  }
  return count;
}

bool has_some(const Schedule& schedule, Range messages, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < std::min<std::uint64_t>(end, messages.count); ++i) {
    if (!is_none(schedule.messages[messages.first + i])) return true;
  }
  return false;
}

// Batches, but for those without messages.
std::uint64_t batches(const Schedule& schedule, const Round& round) {
  const std::uint64_t pairs = std::max(round.sends.count, round.receives.count);
  const std::uint64_t window = round.window.pairs == 0 ? pairs : round.window.pairs;
  std::uint64_t count = 0;
  for (std::uint64_t first = 0; first < pairs; first += window) {
    const std::uint64_t end = first + window;
    count += has_some(schedule, round.sends, first, end) || has_some(schedule, round.receives, first, end) ? 1 : 0;
  }
  return count;
}

}  // namespace

Counts count(const Schedule& schedule) {
  Counts counts;
  counts.scratch_blocks = schedule.scratch_blocks;
  for (const Round& round : schedule.rounds) {
    counts.rounds += batches(schedule, round);
    counts.blocks_copied += round.before.count + round.after.count;
    counts.derived_messages += derived(schedule, round.sends) + derived(schedule, round.receives);
    for (std::uint32_t i = 0; i < round.sends.count; ++i) {
      const Message& message = schedule.messages[round.sends.first + i];
      counts.messages += is_none(message) ? 0 : 1;
      counts.blocks_sent += message.spans.count;
      counts.sizes_sent += message.told;
      counts.size_messages += message.told > 0 ? 1 : 0;
    }
  }
  return counts;
}

Machine one_class(Machine machine) {
  machine.near_message = machine.alpha;
  machine.near_byte = machine.beta;
  machine.shared_byte = machine.gamma;
  machine.shared_block = machine.delta;
  machine.fence = machine.rho;
  return machine;
}

Machine flat(const Machine& machine, int per_node) {
  Machine plain{machine.alpha + per_node * machine.node_message, machine.beta + per_node * machine.node_byte,
                machine.gamma, machine.delta, machine.rho};
  plain.flight = machine.flight;
  return plain;
}

double doublings(double number) {
  double power = 1, count = 0;
  while (2 * power <= number) power *= 2, count += 1;
  return count + (number - power) / power;
}

double time(const Counts& counts, const Machine& shared, double block_bytes) {
  constexpr double bytes_of_a_size = 4;
  const Machine machine = flat(shared, 1);
  const auto messages = static_cast<double>(counts.messages);
  const double together = messages / static_cast<double>(std::max<std::uint64_t>(counts.rounds, 1));
  return machine.alpha * static_cast<double>(counts.messages + counts.size_messages) +
         machine.flight * messages * doublings(std::max(together, 1.0)) +
         machine.beta * bytes_of_a_size * static_cast<double>(counts.sizes_sent) +
         machine.beta * block_bytes * static_cast<double>(counts.blocks_sent) +
         (machine.gamma * block_bytes + machine.delta) * static_cast<double>(counts.blocks_copied) +
         machine.rho * static_cast<double>(counts.rounds);
}

}  // namespace quadrille::plan
