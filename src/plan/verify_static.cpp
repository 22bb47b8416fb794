// What can be seen without running anything: form, races inside a rank, matching.
#include <tuple>

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

// Which message of the current batch touched a place last.
struct Touch {
  std::uint32_t batch = 0;
  std::int32_t peer = 0;
};

// Finds spans that two messages of one batch touch, one of them writing.
class RacesOfRank {
 public:
  RacesOfRank(const Subject& subject, int me)
      : subject_(subject),
        schedule_(subject.schedules[static_cast<std::size_t>(me)]),
        me_(me),
        base_(subject.place({me, 0, Buffer::send})) {
    const std::size_t places =
        subject.blocks_in(me, Buffer::send) + subject.blocks_in(me, Buffer::recv) + schedule_.scratch_blocks;
    sent_.resize(places);
    received_.resize(places);
  }

  Report check() {
    for (std::size_t r = 0; r < schedule_.rounds.size(); ++r) {
      const Round& round = schedule_.rounds[r];
      const std::uint32_t size = batch_size(round);
      for (std::uint32_t first = 0; first < pairs_of(round); first += size) {
        ++batch_;
        mark_sent(part_of(round.sends, first, first + size));
        Report report = mark_received(part_of(round.receives, first, first + size), r);
        if (!report.ok) return report;
      }
    }
    return {};
  }

 private:
  void mark_sent(Range sends) {
    for (const Message& message : schedule_.messages_of(sends)) {
      for (const Span& span : schedule_.spans_of(message)) {
        sent_[subject_.place(span) - base_] = {batch_, message.peer};
      }
    }
  }

  Report mark_received(Range receives, std::size_t round) {
    for (const Message& message : schedule_.messages_of(receives)) {
      for (const Span& span : schedule_.spans_of(message)) {
        const std::size_t place = subject_.place(span) - base_;
        if (sent_[place].batch == batch_) {
          return race(round, message, span, fmt::format("send to {} reads", sent_[place].peer));
        }
        if (received_[place].batch == batch_) {
          return race(round, message, span, fmt::format("receive from {} writes", received_[place].peer));
        }
        received_[place] = {batch_, message.peer};
      }
    }
    return {};
  }

  Report race(std::size_t round, const Message& receive, const Span& span, const std::string& other) const {
    return wrong(fmt::format("race: rank {}, round {}: the receive from {} writes {} while the {} it", me_, round,
                             receive.peer, name_of(span, me_), other));
  }

  const Subject& subject_;
  const Schedule& schedule_;
  const int me_;
  const std::size_t base_;
  std::uint32_t batch_ = 0;
  std::vector<Touch> sent_, received_;
};

// Messages that may be in flight during the rounds before theirs, and the operations of these rounds.
class Beside {
 public:
  explicit Beside(const Subject& subject) : subject_(subject), uses_(subject.places(), Use::none) {}

  Report check() {
    for (int me = 0; me < subject_.ranks; ++me) {
      if (Report r = mark(me); !r.ok) return r;
    }
    if (!there_are_) return {};
    for (int me = 0; me < subject_.ranks; ++me) {
      for (const Copy& copy : schedule(me).copies) {
        if (use(copy.from) == Use::written) return conflict(me, copy.from, "reads");
        if (use(copy.to) != Use::none) return conflict(me, copy.to, "writes");
      }
    }
    return {};
  }

 private:
  enum class Use : std::uint8_t { none, read, written };

  const Schedule& schedule(int me) const { return subject_.schedules[static_cast<std::size_t>(me)]; }
  Use& use(const Span& span) { return uses_[subject_.place(span)]; }

  Report mark(int me) {
    const Schedule& s = schedule(me);
    for (std::size_t r = 0; r < s.rounds.size(); ++r) {
      const Round& round = s.rounds[r];
      if (!round.beside) continue;
      there_are_ = true;
      const bool is_earlier = std::any_of(s.rounds.begin(), s.rounds.begin() + static_cast<std::ptrdiff_t>(r),
                                          [](const Round& other) { return pairs_of(other) > 0; });
      if (is_earlier || r + 1 < s.rounds.size() || round.before.count + round.after.count > 0) {
        return wrong(fmt::format(
            "beside: rank {}, round {}: it copies, is not the last, or not the first with messages", me, r));
      }
      mark(s, round.sends, Use::read);
      mark(s, round.receives, Use::written);
    }
    return {};
  }
  void mark(const Schedule& s, Range messages, Use as) {
    for (const Message& message : s.messages_of(messages)) {
      for (const Span& span : s.spans_of(message)) use(span) = as;
    }
  }
  Report conflict(int me, const Span& span, const char* what) const {
    return wrong(fmt::format("beside: rank {}: a copy {} {} while a message may", me, what, name_of(span, me)));
  }

  const Subject& subject_;
  std::vector<Use> uses_;  // [place]
  bool there_are_ = false;
};

// A message as the matching sees it. Messages of one channel are in the order of their index.
struct Posted {
  std::int32_t sender, receiver;
  std::uint32_t message;  // index at the rank that posted it

  std::pair<int, int> channel() const { return {sender, receiver}; }
  bool operator<(const Posted& other) const {
    return std::tie(sender, receiver, message) < std::tie(other.sender, other.receiver, other.message);
  }
};

void list_messages(const Subject& subject, std::vector<Posted>& sends, std::vector<Posted>& receives) {
  for (int me = 0; me < subject.ranks; ++me) {
    const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
    for (const Round& round : schedule.rounds) {
      for (std::uint32_t i = 0; i < round.sends.count; ++i) {
        const std::uint32_t at = round.sends.first + i;
        if (is_none(schedule.messages[at])) continue;
        sends.push_back({me, schedule.messages[at].peer, at});
      }
      for (std::uint32_t i = 0; i < round.receives.count; ++i) {
        const std::uint32_t at = round.receives.first + i;
        if (is_none(schedule.messages[at])) continue;
        receives.push_back({schedule.messages[at].peer, me, at});
      }
    }
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receives.begin(), receives.end());
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
    if (Report r = RacesOfRank(subject, me).check(); !r.ok) return r;
  }
  return {};
}

Report check_beside(const Subject& subject) { return Beside(subject).check(); }

Report check_matching(const Subject& subject, Partners& partners) {
  std::vector<Posted> sends, receives;
  list_messages(subject, sends, receives);
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
