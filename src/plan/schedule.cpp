#include "plan/schedule.hpp"

#include <fmt/format.h>

#include <cassert>
#include <iterator>
#include <string_view>

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

// ---- As text ----

namespace {

// Consecutive blocks of one buffer, upwards or downwards.
struct Run {
  Span first;
  int count = 1;
  int step = 0;  // 1 or -1 once there are two blocks

  bool take(const Span& span) {
    const int by = count > 1 ? step : span.block - first.block;
    const bool continues = (by == 1 || by == -1) && span == Span{first.owner, first.block + by * count, first.buffer};
    if (!continues) return false;
    step = by;
    ++count;
    return true;
  }
};

class Drawing {
 public:
  Drawing(const Schedule& schedule, int me) : schedule_(schedule), me_(me) {}

  std::string text() {
    constexpr std::string_view travel[] = {"", "; sizes travel before the data", "; sizes travel with the data"};
    line("scratch {} block{}{}", schedule_.scratch_blocks, schedule_.scratch_blocks == 1 ? "" : "s",
         travel[static_cast<std::size_t>(schedule_.sizes)]);
    for (std::size_t r = 0; r < schedule_.rounds.size(); ++r) {
      const Round& round = schedule_.rounds[r];
      line("round {}{}{}", r, window(round), round.beside ? ", in flight from the start" : "");
      copies(round.before);
      for (const Message& send : schedule_.messages_of(round.sends)) message("send  to", send);
      for (const Message& receive : schedule_.messages_of(round.receives)) message("recv  from", receive);
      copies(round.after);
      if (round.node_fence) line("  fence of the node");
    }
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  static std::string window(const Round& round) {
    if (round.window.pairs == 0) return {};
    constexpr std::string_view waits[] = {"waited for together", "refilled as each completes", "refilled by polling"};
    return fmt::format(" ({} pair{} in flight, {})", round.window.pairs, round.window.pairs == 1 ? "" : "s",
                       waits[static_cast<std::size_t>(round.window.wait)]);
  }

  std::string name(const Run& run) const {
    std::string text(name_of(run.first.buffer));
    text += run.count == 1 ? fmt::format("[{}]", run.first.block)
                           : fmt::format("[{}..{}]", run.first.block, run.first.block + run.step * (run.count - 1));
    if (run.first.owner != me_) text += fmt::format(" of {}", run.first.owner);
    return text;
  }

  void copies(Range range) {
    const std::span<const Copy> all = schedule_.copies_of(range);
    for (std::size_t i = 0; i < all.size();) {
      Run from{all[i].from}, to{all[i].to};
      for (++i; i < all.size(); ++i) {
        Run longer_from = from, longer_to = to;
        if (!longer_from.take(all[i].from) || !longer_to.take(all[i].to)) break;
        from = longer_from;
        to = longer_to;
      }
      line("  copy  {} -> {}", name(from), name(to));
    }
  }

  void message(std::string_view what, const Message& message) {
    if (is_none(message)) return;
    std::string list;
    const std::span<const Span> spans = schedule_.spans_of(message);
    for (std::size_t i = 0; i < spans.size();) {
      Run run{spans[i]};
      for (++i; i < spans.size(); ++i) {
        if (!run.take(spans[i])) break;
      }
      if (!list.empty()) list += ", ";
      list += name(run);
    }
    line("  {} {}: {}", what, message.peer, list);
  }

  const Schedule& schedule_;
  const int me_;
  std::string text_;
};

}  // namespace

std::string draw(const Schedule& schedule, int me) { return Drawing(schedule, me).text(); }

}  // namespace quadrille::plan
