// Accesses to one span by several ranks must be ordered by messages and fences.
//
// Every rank's schedule is cut into steps, and vector clocks say which steps come before which in
// every legal order. They follow from the schedules alone: the posting of a send comes before the
// wait for its receive; a fence comes after all that its node did before, and before all that it
// does after. That a send completes orders nothing, because MPI may buffer it.
//
// A step raises its rank's own clock by one. An access of a copy ends with its step; one of a
// message begins when it is posted and ends with the next step of the rank, the wait for its batch.
#include "plan/verify_parts.hpp"

namespace quadrille::plan::proof {
namespace {

using Clock = std::vector<std::uint32_t>;  // [rank]

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

struct Access {
  std::int32_t rank;
  std::uint32_t end;  // the rank's own clock when the access is over
  std::uint32_t round;
  bool writes;
};

enum class OrderStage : std::uint8_t { before, post, wait, after, fence };

struct OrderState {
  Clock clock;
  std::size_t round = 0;
  OrderStage stage = OrderStage::before;
  std::uint32_t next_pair = 0;          // of the batch that is due
  std::vector<std::uint32_t> batch_of;  // [message] where its clock is kept; 0: not posted
  std::vector<Clock> posted;            // [batch] the clock at its posting; the first is not used
};

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
      ranks_[rank].posted.resize(1);
    }
  }

  Report run() {
    // The flow has shown that there is no deadlock, so every sweep makes progress until the end.
    bool moved = true;
    while (moved && report_.ok) {
      moved = false;
      for (int rank = 0; rank < subject_.ranks && report_.ok; ++rank) {
        while (report_.ok && step(rank)) moved = true;
      }
    }
    if (report_.ok) check_exits();
    return report_;
  }

 private:
  const Schedule& schedule(int rank) const { return subject_.schedules[static_cast<std::size_t>(rank)]; }
  OrderState& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  // Does the next step of a rank. False if it cannot be done yet, or there is none.
  bool step(int me) {
    OrderState& r = state(me);
    if (r.round == schedule(me).rounds.size()) return false;
    const Round& round = schedule(me).rounds[r.round];
    switch (r.stage) {
      case OrderStage::before:
        tick(me);
        copies(me, round.before);
        r.next_pair = 0;
        r.stage = pairs_of(round) > 0 ? OrderStage::post : OrderStage::after;
        return true;
      case OrderStage::post:
        post(me, round);
        r.stage = OrderStage::wait;
        return true;
      case OrderStage::wait:
        return wait(me, round);
      case OrderStage::after:
        tick(me);
        copies(me, round.after);
        r.stage = OrderStage::fence;
        if (!round.node_fence) next_round(me);
        return true;
      case OrderStage::fence:
        return fence(members_[static_cast<std::size_t>(subject_.nodes.node_of[static_cast<std::size_t>(me)])]);
    }
    return false;
  }

  void tick(int me) { ++state(me).clock[static_cast<std::size_t>(me)]; }

  void next_round(int me) {
    ++state(me).round;
    state(me).stage = OrderStage::before;
  }

  void copies(int me, Range range) {
    const std::uint32_t now = state(me).clock[static_cast<std::size_t>(me)];
    for (const Copy& copy : schedule(me).copies_of(range)) {
      touch(me, copy.from, now, false);
      touch(me, copy.to, now, true);
    }
  }

  Range batch(int me, Range messages, const Round& round) {
    const std::uint32_t first = state(me).next_pair;
    return part_of(messages, first, first + batch_size(round));
  }

  void post(int me, const Round& round) {
    tick(me);
    OrderState& r = state(me);
    const auto index = static_cast<std::uint32_t>(r.posted.size());
    r.posted.push_back(r.clock);
    for (const bool writes : {false, true}) {
      const Range messages = batch(me, writes ? round.receives : round.sends, round);
      for (std::uint32_t i = messages.first; i < messages.first + messages.count; ++i) {
        r.batch_of[i] = index;
        const std::uint32_t end = r.clock[static_cast<std::size_t>(me)] + 1;
        for (const Span& span : schedule(me).spans_of(schedule(me).messages[i])) touch(me, span, end, writes);
      }
    }
  }

  bool wait(int me, const Round& round) {
    OrderState& r = state(me);
    const Range receives = batch(me, round.receives, round);
    for (std::uint32_t i = receives.first; i < receives.first + receives.count; ++i) {
      if (!is_none(schedule(me).messages[i]) && posted_at(me, i) == 0) return false;
    }
    tick(me);
    for (std::uint32_t i = receives.first; i < receives.first + receives.count; ++i) {
      if (!is_none(schedule(me).messages[i]))
        join(r.clock, state(schedule(me).messages[i].peer).posted[posted_at(me, i)]);
    }
    r.next_pair += batch_size(round);
    r.stage = r.next_pair < pairs_of(round) ? OrderStage::post : OrderStage::after;
    return true;
  }

  // The batch in which the peer posted the send that a receive of `me` meets; 0: not yet.
  std::uint32_t posted_at(int me, std::uint32_t receive) {
    const int peer = schedule(me).messages[receive].peer;
    return state(peer).batch_of[partners_[static_cast<std::size_t>(me)][receive]];
  }

  bool fence(const std::vector<int>& node) {
    const auto is_here = [&](int rank) { return state(rank).stage == OrderStage::fence; };
    if (!std::ranges::all_of(node, is_here)) return false;
    Clock all(ranks_.size(), 0);
    for (const int rank : node) join(all, state(rank).clock);
    for (const int rank : node) {
      state(rank).clock = all;
      tick(rank);
      next_round(rank);
    }
    return true;
  }

  // Records an access that begins now and ends when the clock of `me` reaches `end`.
  void touch(int me, const Span& span, std::uint32_t end, bool writes) {
    const Clock& now = state(me).clock;
    const auto round = static_cast<std::uint32_t>(state(me).round);
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

  void check_exits() {
    for (std::size_t owner = 0; owner < ranks_.size(); ++owner) {
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (ranks_[owner].clock[rank] >= last_touch_[owner][rank]) continue;
        return fail(fmt::format("order: rank {} may leave while rank {} still touches its buffers", owner, rank));
      }
    }
  }

  void fail(std::string what) {
    if (report_.ok) report_ = wrong(std::move(what));
  }

  const Subject& subject_;
  const Partners& partners_;
  const std::vector<std::vector<int>> members_;  // [node]
  std::vector<std::vector<Access>> accesses_;    // [place]
  std::vector<OrderState> ranks_;
  std::vector<Clock> last_touch_;  // [owner][rank] when the rank's last access is over
  Report report_;
};

}  // namespace

Report check_order(const Subject& subject, const Partners& partners) {
  // Without node copies only the owner touches a span, and check_races has seen all there is to
  // see.
  bool node_copies = false;
  for (int me = 0; me < subject.ranks; ++me) {
    for (const Copy& copy : subject.schedules[static_cast<std::size_t>(me)].copies) {
      node_copies = node_copies || copy.from.owner != me || copy.to.owner != me;
    }
  }
  return node_copies ? Order(subject, partners).run() : Report{};
}

}  // namespace quadrille::plan::proof
