// Accesses to one span by several ranks must be ordered by messages and fences.
//
// Vector clocks say which steps of ranks come before which in every legal order. They follow from the schedules alone,
// whatever the order in which the flow (verify_flow.cpp) tells of the steps: the posting of a send comes before the
// wait for its receive; a fence comes after all that its node did before, and before all that it does after. That a
// send completes orders nothing, because MPI may buffer it.
//
// A step raises its rank's own clock by one. An access of a copy ends with its step; one of a
// message begins when it is posted and ends with the next step of the rank, the wait for its batch.
#pragma once

#include "plan/verify_parts.hpp"

namespace quadrille::plan::proof {

using Clock = std::vector<std::uint32_t>;  // [rank]

inline void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

class Order {
 public:
  Order(const Subject& subject, const Partners& partners)
      : subject_(subject),
        partners_(partners),
        members_(subject.nodes.members()),
        accesses_(subject.places()),
        ranks_(subject.schedules.size()),
        last_touch_(ranks_.size(), Clock(ranks_.size(), 0)) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].clock.assign(ranks_.size(), 0);
      ranks_[rank].batch_of.assign(subject.schedules[rank].messages.size(), 0);
    }
  }

  // Rank `me` does copies of this round.
  void copies(int me, std::size_t round, Range range) {
    const std::uint32_t now = tick(me);
    for (const Copy& copy : schedule(me).copies_of(range)) {
      touch(me, round, copy.from, now, false);
      touch(me, round, copy.to, now, true);
    }
  }

  // Rank `me` posts a batch of this round.
  void post(int me, std::size_t round, Range sends, Range receives) {
    const std::uint32_t now = tick(me);
    State& r = state(me);
    for (const bool writes : {false, true}) {
      const Range messages = writes ? receives : sends;
      for (std::uint32_t i = messages.first; i < messages.first + messages.count; ++i) {
        r.batch_of[i] = r.posted.size();
        const Message& message = schedule(me).messages[i];
        for (const Span& span : schedule(me).spans_of(message)) touch(me, round, span, now + 1, writes);
      }
    }
    r.posted.push_back(r.clock);
  }

  // Rank `me` has waited for a batch with these receives.
  void wait(int me, Range receives) {
    tick(me);
    for (std::uint32_t i = receives.first; i < receives.first + receives.count; ++i) {
      const Message& message = schedule(me).messages[i];
      if (is_none(message)) continue;
      const State& sender = state(message.peer);
      join(state(me).clock, sender.posted[sender.batch_of[partners_[static_cast<std::size_t>(me)][i]]]);
    }
  }

  // The ranks of a node pass a fence.
  void fence(int node) {
    const std::vector<int>& ranks = members_[static_cast<std::size_t>(node)];
    Clock all(ranks_.size(), 0);
    for (const int rank : ranks) join(all, state(rank).clock);
    for (const int rank : ranks) {
      state(rank).clock = all;
      tick(rank);
    }
  }

  // After the last step: the first thing that is wrong, if any.
  Report check() {
    for (std::size_t owner = 0; owner < ranks_.size(); ++owner) {
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (ranks_[owner].clock[rank] >= last_touch_[owner][rank]) continue;
        fail(fmt::format("order: rank {} may leave while rank {} still touches its buffers", owner, rank));
      }
    }
    return report_;
  }

 private:
  struct Access {
    std::int32_t rank;
    std::uint32_t end;  // the rank's own clock when the access is over
    std::size_t round;
    bool writes;
  };
  struct State {
    Clock clock;
    std::vector<std::size_t> batch_of;  // [message]
    std::vector<Clock> posted;          // [batch] the clock at its posting
  };

  const Schedule& schedule(int rank) const { return subject_.schedules[static_cast<std::size_t>(rank)]; }
  State& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::uint32_t tick(int me) { return ++state(me).clock[static_cast<std::size_t>(me)]; }

  // Records an access that begins now and ends when the clock of `me` reaches `end`.
  void touch(int me, std::size_t round, const Span& span, std::uint32_t end, bool writes) {
    const Clock& now = state(me).clock;
    if (span.owner != me) {
      if (now[static_cast<std::size_t>(span.owner)] == 0) {
        return fail(fmt::format("order: rank {}, round {}: touches {} before that rank has entered", me, round,
                                name_of(span, me)));
      }
      last_touch_[static_cast<std::size_t>(span.owner)][static_cast<std::size_t>(me)] = end;
    }
    std::vector<Access>& earlier = accesses_[subject_.place(span)];
    for (const Access& a : earlier) {
      const bool conflict = (writes || a.writes) && a.rank != me;
      if (conflict && now[static_cast<std::size_t>(a.rank)] < a.end) {
        return fail(fmt::format(
            "race: rank {}, round {}: {} {}; nothing orders it against rank {}, which {} it in "
            "round {}",
            me, round, writes ? "writes" : "reads", name_of(span, me), a.rank, a.writes ? "writes" : "reads", a.round));
      }
    }
    if (writes) earlier.clear();  // what is ordered after this write is ordered after those too
    earlier.push_back({me, end, round, writes});
  }

  void fail(std::string what) {
    if (report_.ok) report_ = wrong(std::move(what));
  }

  const Subject& subject_;
  const Partners& partners_;
  const std::vector<std::vector<int>> members_;  // [node]
  std::vector<std::vector<Access>> accesses_;    // [place]
  std::vector<State> ranks_;
  std::vector<Clock> last_touch_;  // [owner][rank] when the rank's last access is over
  Report report_;                  // the first that is wrong
};

}  // namespace quadrille::plan::proof
