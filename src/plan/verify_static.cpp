// What can be seen without running anything: form, races inside a rank, messages beside other rounds, matching.
#include <compare>

#include "plan/verify_parts.hpp"

namespace quadrille::plan::proof {
namespace {

template <class T>
bool lies_in(Range range, const std::vector<T>& array) {
  return range.first <= array.size() && range.count <= array.size() - range.first;
}

// Checks the form of one rank's schedule.
class FormOfRank {
 public:
  FormOfRank(const Subject& subject, int me)
      : subject_(subject), schedule_(subject.schedules[static_cast<std::size_t>(me)]), me_(me) {}

  Report check() {
    for (round_ = 0; round_ < schedule_.rounds.size(); ++round_) {
      const Round& round = schedule_.rounds[round_];
      if (!lies_in(round.before, schedule_.copies) || !lies_in(round.after, schedule_.copies) ||
          !lies_in(round.sends, schedule_.messages) || !lies_in(round.receives, schedule_.messages)) {
        return at_fault("points outside the arrays of the schedule");
      }
      if (!follows(round.sends) || !follows(round.receives)) {
        return at_fault("its messages do not follow those of the round before in the array");
      }
      if (Report r = copies(round.before); !r.ok) return r;
      if (Report r = messages(round.sends, "send to", false); !r.ok) return r;
      if (Report r = messages(round.receives, "receive from", true); !r.ok) return r;
      if (Report r = copies(round.after); !r.ok) return r;
    }
    return {};
  }

 private:
  Report at_fault(const std::string& what) const {
    return wrong(fmt::format("form: rank {}, round {}: {}", me_, round_, what));
  }

  // Messages lie in program order, each in one round: the matching relies on it.
  bool follows(Range messages) {
    if (messages.count == 0) return true;
    if (messages.first < next_message_) return false;
    next_message_ = messages.first + messages.count;
    return true;
  }

  bool exists(const Span& span) const {
    return span.owner >= 0 && span.owner < subject_.ranks && span.block >= 0 &&
           static_cast<std::size_t>(span.block) < subject_.blocks_in(span.owner, span.buffer);
  }

  Report copies(Range range) const {
    for (const Copy& copy : schedule_.copies_of(range)) {
      for (const Span& span : {copy.from, copy.to}) {
        if (!exists(span)) {
          return at_fault(fmt::format("a copy names {}, which does not exist", name_of(span, me_)));
        }
        if (!subject_.nodes.share_a_node(span.owner, me_)) {
          return at_fault(fmt::format("a copy reaches {}, which is on another node", name_of(span, me_)));
        }
      }
      if (copy.to.buffer == Buffer::send) {
        return at_fault(fmt::format("a copy writes {}; send buffers are read-only", name_of(copy.to, me_)));
      }
      if (copy.from == copy.to) {
        return at_fault(fmt::format("a copy moves {} onto itself", name_of(copy.to, me_)));
      }
    }
    return {};
  }

  Report messages(Range range, const char* what, bool writes) const {
    for (const Message& message : schedule_.messages_of(range)) {
      if (message.peer < 0 || message.peer >= subject_.ranks || message.peer == me_) {
        return at_fault(fmt::format("{} {}, which is not another rank", what, message.peer));
      }
      if (!lies_in(message.spans, schedule_.spans)) {
        return at_fault("points outside the arrays of the schedule");
      }
      for (const Span& span : schedule_.spans_of(message)) {
        if (span.owner != me_ || !exists(span)) {
          return at_fault(
              fmt::format("the {} {} names {}, which the rank does not have", what, message.peer, name_of(span, me_)));
        }
        if (schedule_.sizes != Sizes::known && span.buffer != Buffer::scratch) {
          return at_fault(fmt::format("the {} {} names {}; what carries sizes along moves blocks of scratch alone",
                                      what, message.peer, name_of(span, me_)));
        }
        if (writes && span.buffer == Buffer::send) {
          return at_fault(fmt::format("the receive from {} writes {}; send buffers are read-only", message.peer,
                                      name_of(span, me_)));
        }
      }
    }
    return {};
  }

  const Subject& subject_;
  const Schedule& schedule_;
  const int me_;
  std::size_t round_ = 0;
  std::uint32_t next_message_ = 0;
};

// Which message touched a place last, and in which batch.
struct Touch {
  std::uint32_t batch = 0;
  std::int32_t peer = 0;
};

// Finds spans of a rank that two messages of one batch touch, one of them writing.
Report races_of(const Subject& subject, int me) {
  const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
  const std::size_t first_place = subject.place({me, 0, Buffer::send});
  const auto place = [&](const Span& span) { return subject.place(span) - first_place; };
  std::vector<Touch> sent(subject.blocks_in(me, Buffer::send) + subject.blocks_in(me, Buffer::recv) +
                          subject.blocks_in(me, Buffer::scratch));
  std::vector<Touch> received(sent.size());
  std::uint32_t batch = 0;
  for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
    const Round& round = schedule.rounds[r];
    const std::uint32_t size = batch_size(round);
    for (std::uint32_t first = 0; first < pairs_of(round); first += size) {
      ++batch;
      for (const Message& message : schedule.messages_of(part_of(round.sends, first, first + size))) {
        for (const Span& span : schedule.spans_of(message)) sent[place(span)] = {batch, message.peer};
      }
      for (const Message& message : schedule.messages_of(part_of(round.receives, first, first + size))) {
        for (const Span& span : schedule.spans_of(message)) {
          const Touch reader = sent[place(span)], writer = received[place(span)];
          received[place(span)] = {batch, message.peer};
          if (reader.batch != batch && writer.batch != batch) continue;
          const std::string other = reader.batch == batch ? fmt::format("send to {} reads", reader.peer)
                                                          : fmt::format("receive from {} writes", writer.peer);
          return wrong(fmt::format("race: rank {}, round {}: the receive from {} writes {} while the {} it", me, r,
                                   message.peer, name_of(span, me), other));
        }
      }
    }
  }
  return {};
}

// What messages that may be in flight during the rounds before theirs do with a place.
enum class Use : std::uint8_t { none, read, written };

// Whether a round can be beside those before it.
Report check_beside_form(const Schedule& schedule, int me, std::size_t r) {
  const std::span<const Round> rounds = schedule.rounds;
  const bool is_earlier = std::ranges::any_of(rounds.first(r), [](const Round& other) { return pairs_of(other) > 0; });
  if (!is_earlier && r + 1 == rounds.size() && rounds[r].before.count + rounds[r].after.count == 0) return {};
  return wrong(
      fmt::format("beside: rank {}, round {}: it copies, is not the last, or not the first with messages", me, r));
}

// A message as the matching sees it. Messages of one channel are in the order of their index.
struct Posted {
  std::int32_t sender, receiver;
  std::uint32_t message;  // index at the rank that posted it

  std::pair<int, int> channel() const { return {sender, receiver}; }
  auto operator<=>(const Posted& other) const = default;
};

// All sends, or all receives.
std::vector<Posted> posted(const Subject& subject, Range Round::*side) {
  std::vector<Posted> list;
  for (int me = 0; me < subject.ranks; ++me) {
    const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
    for (const Round& round : schedule.rounds) {
      for (std::uint32_t at = (round.*side).first, end = at + (round.*side).count; at < end; ++at) {
        const Message& message = schedule.messages[at];
        if (is_none(message)) continue;
        list.push_back(side == &Round::sends ? Posted{me, message.peer, at} : Posted{message.peer, me, at});
      }
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace

Report check_form(const Subject& subject) {
  for (int me = 0; me < subject.ranks; ++me) {
    if (Report r = FormOfRank(subject, me).check(); !r.ok) return r;
    if (subject.schedules[static_cast<std::size_t>(me)].sizes != subject.schedules[0].sizes) {
      return wrong(fmt::format("form: ranks 0 and {} disagree on whether sizes are carried", me));
    }
  }
  return {};
}

Report check_races(const Subject& subject) {
  for (int me = 0; me < subject.ranks; ++me) {
    if (Report r = races_of(subject, me); !r.ok) return r;
  }
  return {};
}

Report check_beside(const Subject& subject) {
  std::vector<Use> uses(subject.places(), Use::none);
  bool there_are = false;
  for (int me = 0; me < subject.ranks; ++me) {
    const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
    const auto mark = [&](Range messages, Use as) {
      for (const Message& message : schedule.messages_of(messages)) {
        for (const Span& span : schedule.spans_of(message)) uses[subject.place(span)] = as;
      }
    };
    for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
      if (!schedule.rounds[r].beside) continue;
      if (Report report = check_beside_form(schedule, me, r); !report.ok) return report;
      there_are = true;
      mark(schedule.rounds[r].sends, Use::read);
      mark(schedule.rounds[r].receives, Use::written);
    }
  }
  for (int me = 0; me < subject.ranks && there_are; ++me) {
    for (const Copy& copy : subject.schedules[static_cast<std::size_t>(me)].copies) {
      const bool reads = uses[subject.place(copy.from)] == Use::written;
      if (!reads && uses[subject.place(copy.to)] == Use::none) continue;
      return wrong(fmt::format("beside: rank {}: a copy {} {} while a message may", me, reads ? "reads" : "writes",
                               name_of(reads ? copy.from : copy.to, me)));
    }
  }
  return {};
}

Report check_matching(const Subject& subject, Partners& partners) {
  const std::vector<Posted> sends = posted(subject, &Round::sends), receives = posted(subject, &Round::receives);
  partners.clear();
  for (const Schedule& schedule : subject.schedules) {
    partners.emplace_back(schedule.messages.size());
  }
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    const bool receive_left = i >= sends.size() || (i < receives.size() && receives[i].channel() < sends[i].channel());
    if (receive_left) {
      return wrong(fmt::format("matching: rank {} receives from rank {} more often than that sends",
                               receives[i].receiver, receives[i].sender));
    }
    if (i >= receives.size() || sends[i].channel() < receives[i].channel()) {
      return wrong(fmt::format("matching: rank {} sends to rank {} more often than that receives", sends[i].sender,
                               sends[i].receiver));
    }
    const auto sender = static_cast<std::size_t>(sends[i].sender);
    const auto receiver = static_cast<std::size_t>(sends[i].receiver);
    const std::uint32_t sent = subject.schedules[sender].messages[sends[i].message].spans.count;
    const std::uint32_t expected = subject.schedules[receiver].messages[receives[i].message].spans.count;
    if (sent != expected) {
      return wrong(fmt::format("matching: rank {} sends {} blocks to rank {}, which expects {}", sender, sent, receiver,
                               expected));
    }
    partners[sender][sends[i].message] = receives[i].message;
    partners[receiver][receives[i].message] = sends[i].message;
  }
  return {};
}

}  // namespace quadrille::plan::proof
