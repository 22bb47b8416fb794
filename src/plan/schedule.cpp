#include "plan/schedule.hpp"

#include <cassert>

namespace quadrille::plan {

std::size_t memory_bytes(const Schedule& s) {
  return s.rounds.capacity() * sizeof(Round) + s.messages.capacity() * sizeof(Message) +
         s.spans.capacity() * sizeof(Span) + s.copies.capacity() * sizeof(Copy);
}

std::span<const Copy> copies_inside_node(const Schedule& s) {
  std::size_t end = 0, inside = 0;
  for (const Round& round : s.rounds) {
    end += round.before.count + round.after.count;
    if (round.node_fence) inside = end;
  }
  return {s.copies.data(), inside};
}

std::uint32_t waiting_slots(const Schedule& s) {
  std::uint32_t slots = 0;
  for (const Round& round : s.rounds) {
    for (const Copy& copy : s.copies_of(round.after)) {
      if (copy.to.buffer == Buffer::scratch) slots = std::max(slots, static_cast<std::uint32_t>(copy.to.block) + 1);
    }
  }
  return slots;
}

bool is_one_run(const Schedule& s, const Message& message) {
  const auto apart = [](const Span& last, const Span& span) {
    return span.buffer != last.buffer || span.block != last.block + 1;
  };
  const std::span<const Span> spans = s.spans_of(message);
  return std::ranges::adjacent_find(spans, apart) == spans.end();
}

Schedule Builder::take() {
  const auto fit = [](auto&... lists) { (lists.shrink_to_fit(), ...); };
  fit(schedule_.rounds, schedule_.messages, schedule_.spans, schedule_.copies);
  return std::move(schedule_);
}

void Builder::begin_round(Window window) {
  const auto copies = static_cast<std::uint32_t>(schedule_.copies.size());
  const auto messages = static_cast<std::uint32_t>(schedule_.messages.size());
  Round round;
  round.before = {copies, 0};
  round.sends = {messages, 0};
  round.receives = {messages, 0};
  round.after = {copies, 0};
  round.window = window;
  schedule_.rounds.push_back(round);
}

void Builder::send(int peer) {
  assert(!schedule_.rounds.empty());
  Round& round = schedule_.rounds.back();
  assert(round.receives.count == 0 && "sends come before receives");
  schedule_.messages.push_back({peer, {static_cast<std::uint32_t>(schedule_.spans.size()), 0}});
  ++round.sends.count;
  ++round.receives.first;
}

void Builder::receive(int peer) {
  assert(!schedule_.rounds.empty());
  schedule_.messages.push_back({peer, {static_cast<std::uint32_t>(schedule_.spans.size()), 0}});
  ++schedule_.rounds.back().receives.count;
}

void Builder::drop_empty_message() {
  if (!is_none(schedule_.messages.back())) return;
  schedule_.messages.pop_back();
  Round& round = schedule_.rounds.back();
  if (round.receives.count > 0) {
    --round.receives.count;
  } else {
    --round.sends.count;
    --round.receives.first;
  }
}

void Builder::drop_empty_round() {
  if (!round_has_messages() && schedule_.rounds.back().before.count == 0) schedule_.rounds.pop_back();
}

void Builder::node_fence() {
  assert(!schedule_.rounds.empty());
  schedule_.rounds.back().node_fence = true;
}

void Builder::beside() {
  assert(!schedule_.rounds.empty());
  schedule_.rounds.back().beside = true;
}

Schedule with_sizes(Schedule plan, int me, int ranks) {
  const auto in_scratch = [&](const Span& span) {
    const int before = span.buffer == Buffer::send ? 0 : span.buffer == Buffer::recv ? ranks : 2 * ranks;
    return Span{me, before + span.block, Buffer::scratch};
  };
  std::vector<Copy> copies;
  copies.reserve(plan.copies.size() + 2 * static_cast<std::size_t>(ranks));
  const auto count = [&] { return static_cast<std::uint32_t>(copies.size()); };
  // Copies of the blocks of `messages` that lie in this buffer.
  const auto copy = [&](Range messages, Buffer buffer) {
    for (const Message& message : plan.messages_of(messages)) {
      for (const Span& span : plan.spans_of(message)) {
        if (span.buffer != buffer) continue;
        copies.push_back(buffer == Buffer::send ? Copy{span, in_scratch(span)} : Copy{in_scratch(span), span});
      }
    }
  };
  for (Round& round : plan.rounds) {
    const std::uint32_t first = count();
    for (const Copy& own : plan.copies_of(round.before)) copies.push_back(own);
    copy(round.sends, Buffer::send);
    const std::uint32_t middle = count();
    copy(round.receives, Buffer::recv);
    round.before = {first, middle - first};
    round.after = {middle, count() - middle};
  }
  for (Span& span : plan.spans) span = in_scratch(span);
  plan.copies = std::move(copies);
  plan.scratch_blocks += static_cast<std::uint32_t>(ranks > 1 ? 2 * ranks : 0);
  plan.sizes = Sizes::carried;
  return plan;
}

}  // namespace quadrille::plan
