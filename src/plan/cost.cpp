#include "plan/cost.hpp"

#include <algorithm>

namespace quadrille::plan {
namespace {

// Batches, but for those without messages.
std::uint64_t batches(const Schedule& schedule, const Round& round) {
  const auto has_some = [&](Range messages) { return !std::ranges::all_of(schedule.messages_of(messages), is_none); };
  const std::uint32_t pairs = pairs_of(round), window = window_of(round);
  std::uint64_t count = 0;
  for (std::uint32_t first = 0; first < pairs; first += window) {
    const std::uint32_t end = first + window;
    count += has_some(part_of(round.sends, first, end)) || has_some(part_of(round.receives, first, end)) ? 1 : 0;
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
    for (const Range range : {round.sends, round.receives}) {
      for (const Message& message : schedule.messages_of(range)) {
        counts.derived_messages += is_one_run(schedule, message) ? 0 : 1;
      }
    }
    for (const Message& message : schedule.messages_of(round.sends)) {
      counts.messages += is_none(message) ? 0 : 1;
      counts.blocks_sent += message.spans.count;
    }
  }
  if (schedule.sizes == Sizes::known) return counts;
  counts.size_messages = counts.messages;
  counts.sizes_sent = counts.blocks_sent;
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

}  // namespace quadrille::plan
