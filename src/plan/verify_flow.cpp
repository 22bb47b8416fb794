// Runs all ranks together with symbolic blocks, in a random order of the steps that MPI allows; and keeps in which
// order their accesses must be.
//
// Three kinds of step are possible at a time, and one is drawn at random:
//   advance  a rank does the local work that is due: it enters a round, refills its window,
//            or leaves
//   take     a buffered send lets go of its blocks and completes
//   deliver  a message moves into the spans of its receive
// A rendezvous send completes when it is delivered; it can be delivered when its receive is posted.
// When nothing is possible any more, every rank must have finished: or there is a deadlock.
#include <optional>
#include <random>

#include "plan/verify_parts.hpp"

namespace quadrille::plan::proof {
namespace {

// ---- Order ----
//
// Accesses to one span by several ranks must be ordered by messages and fences.
//
// Vector clocks say which steps of ranks come before which in every legal order. They follow from the schedules alone,
// whatever the order in which the flow tells of the steps: the posting of a send comes before the
// wait for its receive; a fence comes after all that its node did before, and before all that it does after. That a
// send completes orders nothing, because MPI may buffer it.
//
// A step raises its rank's own clock by one. An access of a copy ends with its step; one of a
// message begins when it is posted and ends with the next step of the rank, the wait for its batch.

using Clock = std::vector<std::uint32_t>;  // [rank]

void join(Clock& clock, const Clock& other) {
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

// ---- Flow ----

// source * `stride` + block, which is its index in the send buffer
using Token = std::int32_t;
constexpr Token kUndefined = -1;

enum class Kind : std::uint8_t { advance, take, deliver };

struct Step {
  Kind kind;
  std::int32_t rank;      // for messages: the sender
  std::uint32_t message;  // of the sender
};

enum class Stage : std::uint8_t { between, messages, fence, finished };

struct RankState {
  std::size_t round = 0;
  Stage stage = Stage::between;
  std::uint32_t posted = 0;        // pairs of this round
  std::uint32_t done = 0;          // pairs of this round
  bool queued = false;             // an advance is already waiting to be drawn
  std::vector<std::uint8_t> open;  // [pair of this round] operations that are not complete
};

struct MessageState {
  bool posted = false;
  bool taken = false;  // a buffered send has let go
  bool complete = false;
  std::vector<Token> content;  // of a buffered send
};

class Flow {
 public:
  // `order` is told of each copy, batch and fence; it may be null.
  Flow(const Subject& subject, const Partners& partners, bool buffered, std::uint64_t seed, Order* order)
      : subject_(subject),
        partners_(partners),
        buffered_(buffered),
        order_(order),
        random_(seed),
        tokens_(subject.places(), kUndefined),
        scratch_for_(subject.places(), kUndefined),
        ranks_(subject.schedules.size()),
        at_fence_(static_cast<std::size_t>(subject.nodes.nodes), 0),
        node_size_(static_cast<std::size_t>(subject.nodes.nodes), 0) {
    for (const Schedule& schedule : subject.schedules) {
      messages_.emplace_back(schedule.messages.size());
    }
    for (const int node : subject.nodes.node_of) ++node_size_[static_cast<std::size_t>(node)];
    for (const int blocks : subject.wishes.send_blocks) stride_ = std::max(stride_, blocks);
    fill_send();
  }

  Report run() {
    for (int rank = 0; rank < subject_.ranks; ++rank) wake(rank);
    while (!steps_.empty() && report_.ok) do_step(draw());
    if (report_.ok) check_finished();
    if (report_.ok) check_received();
    return report_;
  }

 private:
  const Schedule& schedule(int rank) const { return subject_.schedules[static_cast<std::size_t>(rank)]; }
  RankState& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  MessageState& state(int rank, std::uint32_t message) { return messages_[static_cast<std::size_t>(rank)][message]; }
  const Round& round_of(int rank) { return schedule(rank).rounds[state(rank).round]; }
  std::uint32_t partner(int rank, std::uint32_t message) const {
    return partners_[static_cast<std::size_t>(rank)][message];
  }
  bool fails(std::string what) {
    if (report_.ok) report_ = wrong(std::move(what));
    return true;
  }

  // --- blocks -----------------------------------------------------------------------------------

  Token token(int source, int block) const { return source * stride_ + block; }
  int source_of(Token t) const { return t / stride_; }
  std::string name(Token t) const {
    if (t == kUndefined) return "nothing";
    if (!subject_.wishes.dense) return fmt::format("block {} of rank {}", t % stride_, source_of(t));
    if (subject_.goal.pattern == Pattern::allgather) return fmt::format("the block of rank {}", source_of(t));
    return fmt::format("block {}->{}", source_of(t), t % stride_);
  }

  void fill_send() {
    for (int rank = 0; rank < subject_.ranks; ++rank) {
      const auto blocks = static_cast<int>(subject_.blocks_in(rank, Buffer::send));
      for (int block = 0; block < blocks; ++block) {
        tokens_[subject_.place({rank, block, Buffer::send})] = token(rank, block);
      }
    }
  }

  Token read(const Span& span, int me, const char* what) {
    const Token t = tokens_[subject_.place(span)];
    if (t == kUndefined) {
      fails(fmt::format("flow: rank {}, round {}: {} {}, which nothing has written", me, state(me).round, what,
                        name_of(span, me)));
    }
    return t;
  }

  // Where blocks differ in size by their number, place k has room for blocks number k alone.
  bool has_room(const Span& span, Token t) const {
    if (!subject_.wishes.sized || t == kUndefined) return true;
    const int numbers = subject_.wishes.send_blocks[static_cast<std::size_t>(span.owner)];
    return span.block % numbers == t % stride_;
  }

  // True if the owner of `span` knows the size of block `t` from its own arguments there. The sizes of an allgather are
  // the same on all ranks, so a place of scratch may be for the block of one rank.
  bool size_is_known(const Span& span, Token t) {
    if (subject_.goal.pattern == Pattern::allgather && span.buffer == Buffer::scratch) {
      Token& holds = scratch_for_[subject_.place(span)];
      if (holds == kUndefined) holds = t;
      return holds == t;
    }
    if (span.buffer != Buffer::recv || span.block != source_of(t)) return false;
    return subject_.goal.pattern == Pattern::allgather || t % subject_.ranks == span.owner;
  }

  void write(const Span& span, Token t, int me) {
    Token& held = tokens_[subject_.place(span)];
    if (t != kUndefined && held == t) {
      fails(fmt::format("flow: rank {}, round {}: {} comes into {} a second time", me, state(me).round, name(t),
                        name_of(span, me)));
    }
    held = t;
    const bool travels = schedule(me).sizes != Sizes::known && span.buffer == Buffer::scratch;
    const bool known = !subject_.goal.uneven || travels || t == kUndefined || size_is_known(span, t);
    if (!known) {
      fails(fmt::format("sizes: rank {}, round {}: {} comes into {}, where its size is not known", me, state(me).round,
                        name(t), name_of(span, me)));
    }
    if (!has_room(span, t)) {
      fails(fmt::format("sizes: rank {}, round {}: {} comes into {}, which is of another size", me, state(me).round,
                        name(t), name_of(span, me)));
    }
  }

  void do_copies(int me, Range range) {
    if (order_ != nullptr) order_->copies(me, state(me).round, range);
    for (const Copy& copy : schedule(me).copies_of(range)) write(copy.to, read(copy.from, me, "copies"), me);
  }

  // --- steps ------------------------------------------------------------------------------------

  Step draw() {
    std::uniform_int_distribution<std::size_t> any(0, steps_.size() - 1);
    std::swap(steps_[any(random_)], steps_.back());
    const Step step = steps_.back();
    steps_.pop_back();
    return step;
  }

  void wake(int rank) {
    RankState& r = state(rank);
    if (r.queued || r.stage == Stage::fence || r.stage == Stage::finished) return;
    r.queued = true;
    steps_.push_back({Kind::advance, rank, 0});
  }

  void do_step(const Step& step) {
    switch (step.kind) {
      case Kind::advance:
        return advance(step.rank);
      case Kind::take:
        return take(step.rank, step.message);
      case Kind::deliver:
        return deliver(step.rank, step.message);
    }
  }

  void advance(int me) {
    RankState& r = state(me);
    r.queued = false;
    if (r.stage == Stage::between) {
      if (r.round == schedule(me).rounds.size()) {
        r.stage = Stage::finished;
        return;
      }
      enter_round(me);
    }
    post_due(me);
    if (r.done == pairs_of(round_of(me))) leave_round(me);
  }

  void enter_round(int me) {
    RankState& r = state(me);
    const Round& round = round_of(me);
    do_copies(me, round.before);
    r.stage = Stage::messages;
    r.posted = r.done = 0;
    r.open.assign(pairs_of(round), 0);
  }

  // Posts the pairs that the window has room for.
  void post_due(int me) {
    RankState& r = state(me);
    const Round& round = round_of(me);
    const std::uint32_t pairs = pairs_of(round), window = window_of(round);
    const bool batches = round.window.wait == Window::Wait::all;
    // A batch without messages is done at once.
    while (r.posted < pairs && !(batches && r.done < r.posted)) {
      const std::uint32_t end = batches ? std::min(pairs, r.posted + window) : pairs;
      const std::uint32_t before = r.posted;
      while (r.posted < end && r.posted - r.done < window) post_pair(me, r.posted++);
      if (r.posted == before) return;
    }
  }

  // All pairs before `pair` are done, if it is the first of a batch.
  void tell_order(int me, std::uint32_t pair) {
    const Round& round = round_of(me);
    const std::uint32_t pairs = pairs_of(round), size = batch_size(round);
    if (order_ == nullptr || pairs == 0 || (pair % size != 0 && pair < pairs)) return;
    if (pair > 0) order_->wait(me, part_of(round.receives, (pair - 1) / size * size, pair));
    if (pair == pairs) return;
    order_->post(me, state(me).round, part_of(round.sends, pair, pair + size),
                 part_of(round.receives, pair, pair + size));
  }

  void post_pair(int me, std::uint32_t pair) {
    tell_order(me, pair);
    const Round& round = round_of(me);
    const bool sends = pair < round.sends.count && is_there(me, round.sends.first + pair);
    const bool receives = pair < round.receives.count && is_there(me, round.receives.first + pair);
    state(me).open[pair] = static_cast<std::uint8_t>(sends + receives);
    if (!sends && !receives) ++state(me).done;
    if (sends) post_send(me, round.sends.first + pair);
    if (receives) post_receive(me, round.receives.first + pair);
  }

  bool is_there(int me, std::uint32_t message) const { return !is_none(schedule(me).messages[message]); }

  void post_send(int me, std::uint32_t message) {
    const int peer = schedule(me).messages[message].peer;
    state(me, message).posted = true;
    const bool buffered = buffered_ && random_() % 2 == 0;
    if (buffered) {
      steps_.push_back({Kind::take, me, message});
    } else if (state(peer, partner(me, message)).posted) {
      steps_.push_back({Kind::deliver, me, message});
    }
    state(me, message).content.assign(buffered ? 1 : 0, kUndefined);
  }

  void post_receive(int me, std::uint32_t message) {
    const int peer = schedule(me).messages[message].peer;
    state(me, message).posted = true;
    const std::uint32_t sent = partner(me, message);
    const MessageState& send = state(peer, sent);
    const bool buffered = !send.content.empty();
    if (send.posted && (!buffered || send.taken)) steps_.push_back({Kind::deliver, peer, sent});
  }

  void take(int me, std::uint32_t message) {
    MessageState& send = state(me, message);
    const Message& sent = schedule(me).messages[message];
    send.content.clear();
    for (const Span& span : schedule(me).spans_of(sent)) send.content.push_back(read(span, me, "sends"));
    send.taken = true;
    complete(me, message);
    if (state(sent.peer, partner(me, message)).posted) steps_.push_back({Kind::deliver, me, message});
  }

  void deliver(int from, std::uint32_t message) {
    MessageState& send = state(from, message);
    const Message& sent = schedule(from).messages[message];
    const std::uint32_t received = partner(from, message);
    const Range spans = schedule(sent.peer).messages[received].spans;
    for (std::uint32_t i = 0; i < spans.count; ++i) {
      const Token t = send.taken ? send.content[i] : read(schedule(from).spans[sent.spans.first + i], from, "sends");
      write(schedule(sent.peer).spans[spans.first + i], t, sent.peer);
    }
    if (!send.taken) complete(from, message);
    send.content = {};
    complete(sent.peer, received);
  }

  void complete(int me, std::uint32_t message) {
    state(me, message).complete = true;
    RankState& r = state(me);
    const Round& round = round_of(me);
    const bool is_send = message - round.sends.first < round.sends.count;
    const std::uint32_t pair = message - (is_send ? round.sends.first : round.receives.first);
    if (--r.open[pair] > 0) return;
    ++r.done;
    wake(me);
  }

  void leave_round(int me) {
    RankState& r = state(me);
    const Round& round = round_of(me);
    tell_order(me, pairs_of(round));
    do_copies(me, round.after);
    if (round.node_fence) {
      r.stage = Stage::fence;
      arrive(subject_.nodes.node_of[static_cast<std::size_t>(me)]);
    } else {
      next_round(me);
    }
  }

  void next_round(int me) {
    RankState& r = state(me);
    ++r.round;
    r.stage = Stage::between;
    wake(me);
  }

  void arrive(int node) {
    const auto n = static_cast<std::size_t>(node);
    if (++at_fence_[n] < node_size_[n]) return;
    at_fence_[n] = 0;
    if (order_ != nullptr) order_->fence(node);
    for (int rank = 0; rank < subject_.ranks; ++rank) {
      if (subject_.nodes.node_of[static_cast<std::size_t>(rank)] == node) next_round(rank);
    }
  }

  // --- the end ----------------------------------------------------------------------------------

  // What an unfinished rank waits for, and a rank that keeps it waiting.
  std::pair<std::string, int> wait_of(int me) {
    const RankState& r = state(me);
    if (r.stage == Stage::fence) {
      for (int other = 0; other < subject_.ranks; ++other) {
        if (state(other).stage != Stage::fence && subject_.nodes.share_a_node(other, me)) {
          return {fmt::format("at its node's fence for rank {}", other), other};
        }
      }
    }
    const Round& round = round_of(me);
    for (std::uint32_t pair = 0; pair < r.posted; ++pair) {
      for (const bool is_send : {true, false}) {
        const Range range = is_send ? round.sends : round.receives;
        if (pair >= range.count || !is_there(me, range.first + pair)) continue;
        if (state(me, range.first + pair).complete) continue;
        const int peer = schedule(me).messages[range.first + pair].peer;
        return {fmt::format("for its {} {}", is_send ? "send to" : "receive from", peer), peer};
      }
    }
    return {"for nothing", me};
  }

  void check_finished() {
    int rank = 0;
    while (rank < subject_.ranks && state(rank).stage == Stage::finished) ++rank;
    if (rank == subject_.ranks) return;
    std::string chain;
    for (int shown = 0; shown < 4; ++shown) {
      if (!chain.empty()) chain += "; ";
      if (state(rank).stage == Stage::finished) {
        chain += fmt::format("rank {} has finished", rank);
        break;
      }
      const auto [what, next] = wait_of(rank);
      chain += fmt::format("rank {} waits in round {} {}", rank, state(rank).round, what);
      rank = next;
    }
    fails("deadlock: " + chain);
  }

  Token wanted(int rank, int block) const {
    const Wish& wish = subject_.wishes.recv[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)];
    return wish.rank < 0 ? kUndefined : token(wish.rank, wish.block);
  }

  // A block that must stay untouched is undefined still, because nothing undefined ever moves.
  void check_received() {
    for (int rank = 0; rank < subject_.ranks && report_.ok; ++rank) {
      const auto blocks = static_cast<int>(subject_.blocks_in(rank, Buffer::recv));
      for (int block = 0; block < blocks; ++block) {
        const Token got = tokens_[subject_.place({rank, block, Buffer::recv})];
        const Token want = wanted(rank, block);
        if (got == want) continue;
        fails(fmt::format("flow: at the end recv[{}] of rank {} holds {}, not {}", block, rank, name(got), name(want)));
        break;
      }
    }
  }

  const Subject& subject_;
  const Partners& partners_;
  const bool buffered_;
  Order* const order_;
  int stride_ = 1;  // the most send blocks of a rank
  std::mt19937_64 random_;
  std::vector<Token> tokens_;
  std::vector<Token> scratch_for_;  // [place of scratch] the only block that comes there, where sizes differ
  std::vector<RankState> ranks_;
  std::vector<std::vector<MessageState>> messages_;
  std::vector<int> at_fence_, node_size_;  // [node]
  std::vector<Step> steps_;
  Report report_;
};

// Without copies between ranks only the owner touches a span, and check_races has seen all there is to see.
bool needs_order(const Subject& subject) {
  for (int me = 0; me < subject.ranks; ++me) {
    if (reaches_out(subject.schedules[static_cast<std::size_t>(me)], me)) return true;
  }
  return false;
}

}  // namespace

Report check_flow(const Subject& subject, const Partners& partners, bool buffered, std::uint64_t seed, bool ordered) {
  std::optional<Order> order;
  if (ordered && needs_order(subject)) order.emplace(subject, partners);
  const Report report = Flow(subject, partners, buffered, seed, order ? &*order : nullptr).run();
  return report.ok && order ? order->check() : report;
}

}  // namespace quadrille::plan::proof
