// A model of the calls between the ranks of a node that share the words of src/memory/pairs.hpp:
//   copies     the ordered copies, src/run/copies.hpp, which meet as in src/memory/meeting.hpp
//   exchange   the exchange by pairs, src/run/node_exchange.cpp
// A communicator makes both in turn, so both are here. Names of steps are those of the functions there.
//
// Blocks are a few units of one cell. What they hold says call, source and destination. After each call the user looks
// at what came, writes over it, and writes anew what is sent: so whoever still reads or writes the buffers of a rank
// that has left is found.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "machine.hpp"

namespace quadrille::models {

// One mistake in the protocol.
enum class NodeWrong {
  nothing,
  // Copies
  no_wait_to_enter,
  entry_without_release,
  one_word_for_both,
  children_not_awaited,
  told_before_parent_tells,
  verdict_of_one_alone,
  places_after_entry,
  no_stream_fence,
  fence_after_finish,
  finish_without_release,
  no_wait_to_finish,
  wait_for_one_alone,
  failure_not_told,
  failure_not_read,
  // Exchange
  number_before_offer,
  no_wait_for_users,
  no_wait_for_writers,
  ask_not_reset,
  reset_in_next_call,
  no_answers_while_leaving,
  no_answers_while_away,
  answers_to_that_user_alone,
  finish_before_streams,
  ask_before_finish_only,
  room_after_offer,
  room_not_given,
  ring_announced_before_written,
  ring_freed_before_read,
  ring_written_without_room,
  ring_announced_without_release,
  failed_write_not_told,
  failed_write_not_reset,
  failed_write_sought_before_finish_only,
  left_with_a_full_ring,
};

// How a block travels: memory::Carried, and reads and writes that fail. `away`: to another node, see run/away.hpp.
enum class Way { none, in_slot, in_heap, at_address, read_fails, written, write_fails, in_ring, away };
inline bool is_written(Way way) { return way == Way::written || way == Way::write_fails; }

struct NodeSize {
  int ranks = 2;
  int depth = 30;  // see machine.hpp
  int units = 2;   // of a block that is not in a slot
  int ring = 1;    // units that a ring holds
  int radix = 0;   // of the meetings for copies; 0: no tree. Three ranks on several caches have trees of radix 1 or 2
};

class NodeModel {
 public:
  NodeModel(const NodeSize& size, NodeWrong wrong)
      : size_(size), ranks_(size.ranks), wrong_(wrong), machine_(size.ranks, size.depth) {
    for (int a = 0; a < ranks_; ++a) {
      for (int b = 0; b < ranks_; ++b) {
        for (int u = 0; u < size_.units && a != b; ++u) send(a, b, u), recv(a, b, u);
      }
    }
    machine_.finally([=, this](Step& s) {
      for (const int cell : received_) s.check(s.load(cell) == poison, "written to after the call");
    });
  }
  NodeModel(const NodeModel&) = delete;  // the actions know where it is
  NodeModel& operator=(const NodeModel&) = delete;
  const Machine& machine() const { return machine_; }

  struct CopiesCall {
    bool streamed = true;
    int not_shared_by = -1;  // this rank cannot share its blocks
    int failed_by = -1;      // this rank cannot attach a block of another
  };
  // Where one of them is not -1, an exchange must follow, which carries out the same call.
  void copies(const CopiesCall& call);
  // ways[from][to]
  void exchange(const std::vector<std::vector<Way>>& ways);

 private:
  static constexpr int poison = 255;
  static constexpr int sequence_bits = 2;

  // ---- Memory ----
  using Key = std::tuple<std::string, int, int, int>;
  int cell(const std::string& name, int a, int b = 0, int c = 0, int initial = 0) {
    const auto [at, is_new] = cells_.try_emplace(Key{name, a, b, c}, 0);
    if (is_new) {
      at->second =
          machine_.cell(name + "[" + std::to_string(a) + "][" + std::to_string(b) + "][" + std::to_string(c) + "]",
                        static_cast<Byte>(initial));
    }
    return at->second;
  }
  int own(const std::string& name, int rank, int peer = 0) {
    const auto [at, is_new] = own_.try_emplace(Key{name, rank, peer, 0}, 0);
    if (is_new) at->second = machine_.own();
    return at->second;
  }
  int token(int call, int from, int to, int unit) const {
    return 1 + ((call * ranks_ + from) * ranks_ + to) * size_.units + unit;
  }
  int send(int from, int to, int unit) { return cell("send", from, to, unit, token(0, from, to, unit)); }
  int recv(int to, int from, int unit) {
    const int at = cell("recv", to, from, unit, poison);
    if (std::find(received_.begin(), received_.end(), at) == received_.end()) received_.push_back(at);
    return at;
  }
  int finished(int rank) { return cell("finished", rank); }
  int parity() const { return pairs_ & 1; }
  int meeting_number() const { return meetings_ & ((1 << sequence_bits) - 1); }
  int pairs_number() const { return pairs_ & ((1 << sequence_bits) - 1); }

  // ---- Parts of the calls ----
  void finish(int me) {
    machine_.publish(me, "Pairs::finish", finished(me), pairs_number(), wrong_ != NodeWrong::finish_without_release);
  }
  // `expected[unit]` of each block from a peer; the call is over.
  void user(int me, const std::vector<std::vector<int>>& units);

  void write_down_and_enter(int me, const CopiesCall& call);
  void copy_all(int me, const CopiesCall& call);
  void finish_copies(int me, const CopiesCall& call);
  // All come, and each learns in `yes`, a variable of its own, whether all have it.
  void meet(int me, int moment, int yes);
  void tell(int me, const std::string& step, int word, int yes, bool ordered);
  void hear(int me, const std::string& step, int word, int yes);
  int copier_of(int from, int to) const;

  struct Slot {
    int sequence, head, block;
  };
  Slot slot(int to, int from) {
    const int at = 2 * from + (inboxes_ & 1);
    return {cell("slot sequence", to, at), cell("slot head", to, at), cell("slot block", to, at)};
  }
  int units_of(Way way) const {
    return way == Way::none || way == Way::away ? 0 : way == Way::in_slot ? 1 : size_.units;
  }
  using Ways = std::vector<std::vector<Way>>;
  static Way way_of(const Ways& ways, int from, int to) {
    return ways[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  void offer(int me, int to, const Ways& ways);
  void take(int me, int from, Way way);
  void streams(int me, const Ways& ways);
  void write_to(int me, int to, Way way);
  void start_away(int me, const Ways& ways, int batch);
  void finish_away(int me, const Ways& ways);
  void leave(int me, const Ways& ways);
  void empty_rings(int me, const Ways& ways);
  // What a rank does for its peers while it waits. `only`: for this one alone.
  std::vector<Choice> advances(int me, const Ways& ways, int only = -1);
  Choice answer_ask(int me, int to);
  Choice learn_of_failed_write(int me, int from);
  void reset_late(int me);
  Choice push(int me, int to);
  Choice pop(int me, int from);

  const NodeSize size_;
  const int ranks_;
  const NodeWrong wrong_;
  Machine machine_;
  std::map<Key, int> cells_, own_;
  std::vector<int> received_;
  int calls_ = 0, meetings_ = 0, pairs_ = 0,
      inboxes_ = 0;  // but the first: sequence numbers before they are cut to their bits
};

inline void NodeModel::user(int me, const std::vector<std::vector<int>>& units) {
  struct Look {
    int cell, expected;
  };
  std::vector<Look> looks, anew;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == me) continue;
    for (int u = 0; u < size_.units; ++u) {
      const bool came = u < units[static_cast<std::size_t>(peer)][static_cast<std::size_t>(me)];
      looks.push_back({recv(me, peer, u), came ? token(calls_, peer, me, u) : poison});
      anew.push_back({recv(me, peer, u), poison});
      anew.push_back({send(me, peer, u), token(calls_ + 1, me, peer, u)});
    }
  }
  machine_.step(me, "the call returns; the user looks at what came", [=](Step& s) {
    for (const Look& look : looks) s.check(s.load(look.cell) == look.expected, "not what was sent");
    return true;
  });
  machine_.local(me, "the user uses its buffers anew", [=](Step& s) {
    for (const Look& look : anew) s.store(look.cell, look.expected);
    return true;
  });
}

// ---- Copies ----

inline void NodeModel::copies(const CopiesCall& call) {
  ++meetings_;  // Meeting::begin
  const bool good = call.not_shared_by < 0 && call.failed_by < 0;
  for (int me = 0; me < ranks_; ++me) {
    write_down_and_enter(me, call);
    copy_all(me, call);
    finish_copies(me, call);
    const int units = size_.units;
    if (good)
      user(me, std::vector(static_cast<std::size_t>(ranks_), std::vector(static_cast<std::size_t>(ranks_), units)));
  }
  if (good) ++calls_;
}

inline void NodeModel::write_down_and_enter(int me, const CopiesCall& call) {
  const auto places = [&] { machine_.store(me, "Copies::write_down", cell("places", me), meetings_); };
  if (wrong_ != NodeWrong::places_after_entry) places();
  const bool shares = me != call.not_shared_by;
  const int all = own("all", me);
  machine_.local(me, "Meeting::come: shares", [=](Step& s) { return s.own(all) = shares, true; });
  meet(me, 0, all);
  // By the next meeting: a rank writes down what others may still look at.
  if (wrong_ == NodeWrong::places_after_entry) places();
}

inline void NodeModel::tell(int me, const std::string& step, int word, int yes, bool ordered) {
  const int number = meeting_number();
  const bool all = wrong_ != NodeWrong::failure_not_told;
  machine_.local(me, step, [=](Step& s) {
    const int said = 2 * number + (all ? s.own(yes) : 1);
    ordered ? s.release(word, said) : s.store(word, said);
    return true;
  });
}

inline void NodeModel::hear(int me, const std::string& step, int word, int yes) {
  const int number = meeting_number();
  const bool reads = wrong_ != NodeWrong::failure_not_read;
  machine_.step(me, step, [=](Step& s) {
    const int said = s.load(word);
    if (said / 2 != number) return false;
    if (reads) s.own(yes) &= said & 1;
    return true;
  });
}

inline void NodeModel::meet(int me, int moment, int yes) {
  const bool entering = moment == 0;
  const bool waits = wrong_ != (entering ? NodeWrong::no_wait_to_enter : NodeWrong::no_wait_to_finish);
  const bool ordered = wrong_ != (entering ? NodeWrong::entry_without_release : NodeWrong::finish_without_release);
  const int at = wrong_ == NodeWrong::one_word_for_both ? 0 : moment;
  if (size_.radix == 0) {
    tell(me, "Meeting::say", cell("word", me, at), yes, ordered);
    for (int peer = 0; peer < ranks_ && waits; ++peer) {
      if (peer == me) continue;
      if (!entering && wrong_ == NodeWrong::wait_for_one_alone && peer != (me + 1) % ranks_) continue;
      hear(me, "Meeting::look_at_all", cell("word", peer, at), yes);
    }
    return;
  }
  const int first = std::min(size_.radix * me + 1, ranks_), end = std::min(first + size_.radix, ranks_);
  const int only_mine = own("only mine", me);
  machine_.local(me, "(a mistake needs it)", [=](Step& s) { return s.own(only_mine) = s.own(yes), true; });
  const auto tell_children = [&] {
    if (first < end) tell(me, "Meeting::tell_children", cell("down", me, at), yes, ordered);
  };
  for (int child = first; child < end && wrong_ != NodeWrong::children_not_awaited; ++child) {
    hear(me, "Meeting::look_at_tree: children", cell("up", child, at), yes);
  }
  if (me != 0) {
    tell(me, "Meeting::look_at_tree: tell parent", cell("up", me, at),
         wrong_ == NodeWrong::verdict_of_one_alone ? only_mine : yes, ordered);
    if (wrong_ == NodeWrong::told_before_parent_tells) tell_children();
    if (waits) hear(me, "Meeting::look_at_tree: parent", cell("down", (me - 1) / size_.radix, at), yes);
  }
  if (me == 0 || wrong_ != NodeWrong::told_before_parent_tells) tell_children();
}

// With three ranks each pair's block is copied by the third rank, with two by the source and the destination in turn.
inline int NodeModel::copier_of(int from, int to) const {
  return ranks_ == 3 ? 3 - from - to : meetings_ % 2 == 0 ? from : to;
}

inline void NodeModel::copy_all(int me, const CopiesCall& call) {
  const int all = own("all", me), copied = own("copied", me), number = meetings_;
  const bool fails = me == call.failed_by;
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      if (from == to || copier_of(from, to) != me) continue;
      const int source = cell("places", from), destination = cell("places", to);
      machine_.step(me, "Copies::copy_one: look_up", [=](Step& s) {
        if (s.own(all) == 0) return true;
        s.check(s.load(source) == number && s.load(destination) == number, "places of another call");
        return true;
      });
      for (int u = 0; u < size_.units && !fails; ++u) {
        const int a = send(from, to, u), b = recv(to, from, u);
        const bool streamed = call.streamed;
        const Action copy = [=](Step& s) {
          if (s.own(all) != 0) streamed ? s.stream_copy(b, a) : s.copy(b, a);
          return true;
        };
        // What is streamed was loaded before.
        streamed ? machine_.step(me, "Copies::copy_one: streaming copy", copy)
                 : machine_.local(me, "Copies::copy_one: copy", copy);
      }
    }
  }
  machine_.local(me, "Copies::run: copied", [=](Step& s) {
    s.own(copied) = s.own(all) != 0 && !fails;
    return true;
  });
}

inline void NodeModel::finish_copies(int me, const CopiesCall& call) {
  const int copied = own("copied", me);
  const auto fence = [&] { machine_.step(me, "NodeCopy::done: stream_fence", [](Step& s) { return s.fence(); }); };
  const bool is_late = wrong_ == NodeWrong::fence_after_finish;
  if (call.streamed && wrong_ != NodeWrong::no_stream_fence && !is_late) fence();
  meet(me, 1, copied);
  if (call.streamed && is_late) fence();
  const bool good = call.not_shared_by < 0 && call.failed_by < 0;
  machine_.local(me, "Copies::run returns", [=](Step& s) {
    s.check((s.own(copied) != 0) == good, "a rank believes that the copies were made, or that they were not");
    return true;
  });
}

// ---- Exchange ----

inline void NodeModel::exchange(const Ways& ways) {
  ++pairs_, ++inboxes_;  // Inbox::begin, Pairs::begin
  std::vector<std::vector<int>> units(static_cast<std::size_t>(ranks_));
  for (std::size_t from = 0; from < units.size(); ++from) {
    for (const Way way : ways[from]) units[from].push_back(units_of(way));
  }
  for (int me = 0; me < ranks_; ++me) {
    start_away(me, ways, 1);
    for (int step = 1; step < ranks_; ++step) offer(me, (me + step) % ranks_, ways);
    if (wrong_ == NodeWrong::reset_in_next_call) reset_late(me);
    for (int step = 1; step < ranks_; ++step) {
      const int from = (me - step + ranks_) % ranks_;
      take(me, from, way_of(ways, from, me));
    }
    if (wrong_ == NodeWrong::finish_before_streams) finish(me);
    streams(me, ways);
    for (int step = 1; step < ranks_; ++step) {
      const int to = (me + step) % ranks_;
      if (is_written(way_of(ways, me, to))) write_to(me, to, way_of(ways, me, to));
    }
    for (const Way way : ways[static_cast<std::size_t>(me)]) {
      if (way != Way::write_fails) continue;
      streams(me, ways);
      break;
    }
    finish_away(me, ways);
    leave(me, ways);
    user(me, units);
  }
  ++calls_;
}

inline void NodeModel::offer(int me, int to, const Ways& ways) {
  if (way_of(ways, me, to) == Way::away) return;
  const Slot at = slot(to, me);
  const int room = cell("room", me, parity(), to), number = pairs_;
  const bool may_write = is_written(way_of(ways, to, me)) && wrong_ != NodeWrong::room_not_given;
  const bool late = wrong_ == NodeWrong::room_after_offer;
  if (may_write && !late) machine_.store(me, "Pairs::give_room", room, number);
  const auto publish = [&] {
    machine_.publish(me, "Inbox::publish: sequence.store(release)", at.sequence, inboxes_ & ((1 << sequence_bits) - 1));
  };
  if (wrong_ == NodeWrong::number_before_offer) publish();
  const Way way = way_of(ways, me, to);
  machine_.store(me, "Exchange::offer: where, or the block", at.block,
                 way == Way::in_slot ? token(calls_, me, to, 0) : pairs_);
  machine_.store(me, "Inbox::publish: carried", at.head, static_cast<int>(way));
  if (wrong_ != NodeWrong::number_before_offer) publish();
  if (may_write && late) machine_.store(me, "Pairs::give_room", room, number);
  const int out = own("out", me, to), offered = own("offered", me, to), units = size_.units;
  machine_.local(me, "Exchange::offer: out, offered", [=](Step& s) {
    s.own(out) = static_cast<Byte>(way == Way::in_ring ? units : 0);
    s.own(offered) = way == Way::at_address || way == Way::read_fails;
    return true;
  });
}

inline void NodeModel::take(int me, int from, Way way) {
  if (way == Way::away) return;
  const Slot at = slot(me, from);
  const int number = inboxes_ & ((1 << sequence_bits) - 1), where = pairs_;
  const int in = own("in", me, from), written = own("written", me, from), units = size_.units;
  const bool reads = way != Way::in_slot;
  machine_.step(me, "Inbox::await; Exchange::take: switch", [=](Step& s) {
    if (s.load(at.sequence) != number) return false;
    s.check(s.load(at.head) == static_cast<int>(way), "carried as in another call");
    if (reads) s.check(s.load(at.block) == where, "an offer of another call");
    s.own(in) = static_cast<Byte>(way == Way::in_ring || way == Way::read_fails ? units : 0);
    s.own(written) = is_written(way);
    return true;
  });
  if (way == Way::in_slot) machine_.copy(me, "Exchange::take: unpack_block", recv(me, from, 0), at.block);
  for (int u = 0; u < size_.units && (way == Way::in_heap || way == Way::at_address); ++u) {
    machine_.copy(me, "Exchange::take: copy_in, read_process", recv(me, from, u), send(from, me, u));
  }
  if (way == Way::read_fails) machine_.publish(me, "Pairs::ask_for_ring", cell("ask", me, from), 1);
}

inline Choice NodeModel::answer_ask(int me, int to) {
  const int asked = cell("ask", to, me), offered = own("offered", me, to), out = own("out", me, to);
  const int units = size_.units;
  const bool resets = wrong_ != NodeWrong::ask_not_reset && wrong_ != NodeWrong::reset_in_next_call;
  const int late = own("late reset", me, to);
  return {"Exchange::answer_asks",
          [=](Step& s) {
            if (s.own(offered) == 0 || s.load(asked) == 0) return false;
            if (resets) s.store(asked, 0);
            s.own(late) = !resets;
            s.own(offered) = 0;
            s.own(out) = static_cast<Byte>(units);
            return true;
          },
          true};
}

inline Choice NodeModel::learn_of_failed_write(int me, int from) {
  const int failed = cell("failed write", me, from), written = own("written", me, from), in = own("in", me, from);
  const int units = size_.units;
  const bool resets = wrong_ != NodeWrong::failed_write_not_reset;
  return {"Exchange::learn_of_failed_writes",
          [=](Step& s) {
            if (s.own(written) == 0 || s.load(failed) == 0) return false;
            if (resets) s.store(failed, 0);
            s.own(written) = 0;
            s.own(in) = static_cast<Byte>(units);
            return true;
          },
          true};
}

inline void NodeModel::reset_late(int me) {
  for (int to = 0; to < ranks_; ++to) {
    const int asked = cell("ask", to, me), late = own("late reset", me, to);
    machine_.local(me, "the ask of the last call is reset", [=](Step& s) {
      if (s.own(late) != 0) s.store(asked, 0);
      s.own(late) = 0;
      return true;
    });
  }
}

inline Choice NodeModel::push(int me, int to) {
  const int pushed = cell("pushed", to, me), popped = cell("popped", to, me), out = own("out", me, to);
  const int ring = size_.ring, units = size_.units;
  std::vector<int> data, from;
  for (int i = 0; i < ring; ++i) data.push_back(cell("ring", to, me, i));
  for (int u = 0; u < units; ++u) from.push_back(send(me, to, u));
  return {"Ring::push",
          [=, this](Step& s) {
            if (s.own(out) == 0) return false;
            const int at = s.load(pushed);
            if (wrong_ != NodeWrong::ring_written_without_room && at - s.load(popped) >= ring) return false;
            const auto announce = [&] {
              wrong_ == NodeWrong::ring_announced_without_release ? s.store(pushed, at + 1) : s.release(pushed, at + 1);
            };
            if (wrong_ == NodeWrong::ring_announced_before_written) announce();
            s.copy(data[static_cast<std::size_t>(at % ring)], from[static_cast<std::size_t>(units - s.own(out))]);
            if (wrong_ != NodeWrong::ring_announced_before_written) announce();
            --s.own(out);
            return true;
          },
          true};
}

inline Choice NodeModel::pop(int me, int from) {
  const int pushed = cell("pushed", me, from), popped = cell("popped", me, from), in = own("in", me, from);
  const int ring = size_.ring, units = size_.units;
  std::vector<int> data, to;
  for (int i = 0; i < ring; ++i) data.push_back(cell("ring", me, from, i));
  for (int u = 0; u < units; ++u) to.push_back(recv(me, from, u));
  return {"Ring::pop",
          [=, this](Step& s) {
            if (s.own(in) == 0) return false;
            const int at = s.load(popped);
            if (s.load(pushed) == at) return false;
            const int target = to[static_cast<std::size_t>(units - s.own(in))];
            if (wrong_ == NodeWrong::ring_freed_before_read) s.release(popped, at + 1);
            s.copy(target, data[static_cast<std::size_t>(at % ring)]);
            if (wrong_ != NodeWrong::ring_freed_before_read) s.release(popped, at + 1);
            --s.own(in);
            return true;
          },
          true};
}

inline std::vector<Choice> NodeModel::advances(int me, const Ways& ways, int only) {
  std::vector<Choice> choices;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == me || (only >= 0 && peer != only)) continue;
    const Way out = way_of(ways, me, peer), in = way_of(ways, peer, me);
    if (out == Way::at_address || out == Way::read_fails) choices.push_back(answer_ask(me, peer));
    if (is_written(in)) choices.push_back(learn_of_failed_write(me, peer));
    const bool pushes = out == Way::in_ring || out == Way::at_address || out == Way::read_fails;
    if (pushes || is_written(out)) choices.push_back(push(me, peer));
    if (in == Way::in_ring || in == Way::read_fails || is_written(in)) choices.push_back(pop(me, peer));
  }
  return choices;
}

// Until all streams that are known of are through.
inline void NodeModel::streams(int me, const Ways& ways) {
  std::vector<Choice> choices = advances(me, ways);
  if (choices.empty()) return;
  std::vector<int> left;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == me) continue;
    left.push_back(own("out", me, peer));
    if (wrong_ != NodeWrong::ask_before_finish_only) left.push_back(own("in", me, peer));
  }
  choices.push_back({"Exchange::run: no streams left", [=](Step& s) {
                       return std::all_of(left.begin(), left.end(), [&](int one) { return s.own(one) == 0; });
                     }});
  machine_.choose(me, choices);
}

inline void NodeModel::write_to(int me, int to, Way way) {
  const int room = cell("room", to, parity(), me), number = pairs_;
  machine_.step(me, "Exchange::write_to: room_at", [=](Step& s) {
    s.check(s.load(room) == number, "a room of another call");
    return true;
  });
  // A write that fails may have moved a part.
  for (int u = 0; u < (way == Way::write_fails ? size_.units / 2 : size_.units); ++u) {
    machine_.copy(me, "Exchange::write_to: write_process", recv(to, me, u), send(me, to, u));
  }
  if (way != Way::write_fails || wrong_ == NodeWrong::failed_write_not_told) return;
  machine_.publish(me, "Pairs::report_failed_write", cell("failed write", to, me), 1);
  const int out = own("out", me, to), units = size_.units;
  machine_.local(me, "Exchange::write_to: out", [=](Step& s) { return s.own(out) = static_cast<Byte>(units), true; });
}

// AwayMessages::begin: each rank exchanges a message with one of another node in each of two batches. A message
// arrives when both have started its batch.
inline void NodeModel::start_away(int me, const Ways& ways, int batch) {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (way_of(ways, me, peer) != Way::away) continue;
    machine_.publish(me, "Execution::start_pair", cell("started", me), 2 * calls_ + batch);
    return;
  }
}

inline void NodeModel::finish_away(int me, const Ways& ways) {
  const int partner = (me + ranks_ / 2) % ranks_;
  if (way_of(ways, me, partner) != Way::away) return;
  for (int batch = 1; batch <= 2; ++batch) {
    if (batch > 1) start_away(me, ways, batch);
    std::vector<Choice> choices = advances(me, ways);
    if (wrong_ == NodeWrong::no_answers_while_away) choices.clear();
    const int started = cell("started", partner), number = 2 * calls_ + batch;
    choices.push_back({"Execution::advance_batch", [=](Step& s) { return s.load(started) >= number; }});
    machine_.choose(me, choices);
  }
}

inline void NodeModel::leave(int me, const Ways& ways) {
  if (wrong_ != NodeWrong::finish_before_streams) finish(me);
  std::vector<int> users;
  for (int step = 1; step < ranks_ && wrong_ != NodeWrong::no_wait_for_users; ++step) {
    const Way way = way_of(ways, me, (me + step) % ranks_);
    if (way == Way::in_heap || way == Way::at_address || way == Way::read_fails) users.push_back((me + step) % ranks_);
  }
  for (int step = 1; step < ranks_ && wrong_ != NodeWrong::no_wait_for_writers; ++step) {
    const int from = (me - step + ranks_) % ranks_;
    if (is_written(way_of(ways, from, me))) users.push_back(from);
  }
  for (const int user : users) {
    const int only = wrong_ == NodeWrong::answers_to_that_user_alone ? user : -1;
    std::vector<Choice> choices = advances(me, ways, only);
    if (wrong_ == NodeWrong::no_answers_while_leaving) choices.clear();
    const int word = finished(user), number = pairs_number();
    choices.push_back({"Exchange::leave: has_finished", [=](Step& s) { return s.load(word) == number; }});
    machine_.choose(me, choices);
  }
  empty_rings(me, ways);
}

// What peers that have finished could not write is in their rings.
inline void NodeModel::empty_rings(int me, const Ways& ways) {
  std::vector<int> in, failed, written;
  for (int from = 0; from < ranks_; ++from) {
    if (from == me || !is_written(way_of(ways, from, me))) continue;
    in.push_back(own("in", me, from));
    failed.push_back(cell("failed write", me, from));
    written.push_back(own("written", me, from));
  }
  if (in.empty() || wrong_ == NodeWrong::left_with_a_full_ring) return;
  std::vector<Choice> choices = advances(me, ways);
  const bool seeks = wrong_ != NodeWrong::failed_write_sought_before_finish_only;
  choices.push_back({"Exchange::leave: no streams left", [=](Step& s) {
                       for (std::size_t i = 0; i < in.size(); ++i) {
                         if (s.own(in[i]) != 0) return false;
                         if (seeks && s.own(written[i]) != 0 && s.load(failed[i]) != 0) return false;
                       }
                       return true;
                     }});
  machine_.choose(me, choices);
}

}  // namespace quadrille::models
