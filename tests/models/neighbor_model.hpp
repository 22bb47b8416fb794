// A model of the rings between neighbours: src/memory/control_memory.hpp as src/run/node_neighbors.cpp uses it.
// Names of steps are those of the functions there.
//
// A unit of a ring is one cell: a head, or a part of a block. What blocks hold says call, source and destination.
// After each call the user looks at what came and uses its buffers anew.
#pragma once

#include <string>
#include <vector>

#include "rank_model.hpp"

namespace quadrille::models {

enum class RingWrong {
  nothing,
  announced_before_written,
  announced_without_release,
  freed_before_read,
  written_without_room,
  never_looks_again,     // Ring::look_again() keeps what it has seen
  no_wait_for_was_read,  // leaves although a peer still reads what was offered
  was_read_not_said,
  was_read_before_blocks,  // while own blocks are still to be sent
  was_read_while_refused,  // although blocks that were asked for have not come
  was_read_said_at_once,   // before the block has been read
  asked_before_blocks,
  asked_amid_a_block,
  answers_in_other_order,
};

// How a block travels. Those of a run are small and share a head.
enum class Travel { run, follows, offered, unreadable };

struct RingSize {
  int ranks = 2;
  int depth = 30;
  int units = 2;         // of a block that is not in a run, when it goes through a ring
  int ring = 2;          // units that a ring holds
  int look_from = 1;     // Ring::look_again: from so many units in use on it looks again; in the code, half of the ring
  bool in_turn = false;  // more ranks than cores: see NodeNeighbors::needs_no_answer
};

class NeighborModel : public RankModel {
 public:
  // [from][to]: blocks in their order; ranks without blocks between them are no neighbours
  using Blocks = std::vector<std::vector<std::vector<Travel>>>;

  NeighborModel(const RingSize& size, RingWrong wrong, const std::vector<Blocks>& calls)
      : RankModel(size.ranks, size.depth), size_(size), ranks_(size.ranks), wrong_(wrong), calls_(calls) {
    for (call_ = 0; call_ < static_cast<int>(calls.size()); ++call_) {
      for (int me = 0; me < ranks_; ++me) add(me);
    }
    machine_.finally([=, this](Step& s) {
      for (const auto& [key, at] : cells_) {
        if (std::get<0>(key) == "recv") s.check(s.load(at) == poison, "written to after the call");
      }
    });
  }

 private:
  static constexpr int most_blocks = 2;  // from one rank to another
  // Heads. BlockHead::follows, an offer of a block, BlockHead::was_read, asked_for(block), run(blocks).
  static constexpr int follows = 200, offer = 201, was_read = 202, asked_for = 210, run = 220;

  // The state of one pair on one rank, NeighborProgress and what else is kept of a pair.
  struct Pair {
    int peer;
    std::vector<Travel> out, in;
    int sent, sent_part, taken, taken_part, offered, owes, refused;  // NeighborProgress
    int seen;                                                        // PairRings::seen
    int asked[2], asked_count;                                       // asked_: blocks that the peer could not read
    int refusals[2], to_ask;  // refused_: blocks that this rank could not read; how many it has not yet asked for
    // Ring to the peer, and from it.
    int to_pushed, to_popped, from_pushed, from_popped;
    std::vector<int> to_data, from_data;
    // [block][unit]
    std::vector<std::vector<int>> send, peer_send, recv;
  };

  int token(int call, int from, int to, int block, int unit) const {
    return 1 + (((call * ranks_ + from) * ranks_ + to) * most_blocks + block) * size_.units + unit;
  }
  const std::vector<Travel>& blocks(int from, int to) const {
    return calls_[static_cast<std::size_t>(call_)][static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  int send(int from, int to, int block, int unit) {
    return cell("send", from, to, block * size_.units + unit, token(0, from, to, block, unit));
  }
  int recv(int to, int from, int block, int unit) { return cell("recv", to, from, block * size_.units + unit, poison); }
  Pair pair(int me, int peer);
  void add(int me);
  void user(int me, const std::vector<Pair>& pairs);
  static bool is_done(Step& s, const Pair& p, RingWrong wrong);

  // Both as Choice::action. One element at a time: a head, a unit, or a run.
  bool push(Step& s, const Pair& p) const;
  bool push_blocks(Step& s, const Pair& p) const;
  bool push_answers(Step& s, const Pair& p) const;
  bool pop(Step& s, const Pair& p) const;
  bool pop_block(Step& s, const Pair& p, int at) const;
  bool pop_answer(Step& s, const Pair& p, int at) const;

  // Ring::Writer: how much room there is.
  int room(Step& s, const Pair& p) const {
    const int pushed = s.load(p.to_pushed);
    if (wrong_ != RingWrong::never_looks_again && pushed - s.own(p.seen) >= size_.look_from) {
      s.own(p.seen) = s.load(p.to_popped);
    }
    if (wrong_ == RingWrong::written_without_room) return size_.ring;
    return size_.ring - (pushed - s.own(p.seen));
  }
  // Writes the n-th unit behind what was announced, and announces n units.
  void write(Step& s, const Pair& p, int n, int value) const {
    s.store(p.to_data[static_cast<std::size_t>((s.load(p.to_pushed) + n) % size_.ring)], value);
  }
  void announce(Step& s, const Pair& p, int n) const {
    const int pushed = s.load(p.to_pushed) + n;
    wrong_ == RingWrong::announced_without_release ? s.store(p.to_pushed, pushed) : s.release(p.to_pushed, pushed);
  }
  bool put(Step& s, const Pair& p, int value) const {
    if (wrong_ == RingWrong::announced_before_written) {
      const int place = s.load(p.to_pushed) % size_.ring;
      announce(s, p, 1);
      s.store(p.to_data[static_cast<std::size_t>(place)], value);
    } else {
      write(s, p, 0, value);
      announce(s, p, 1);
    }
    return true;
  }
  static int part_of(Step& s, const std::vector<int>& block, int part) {
    s.check(part < static_cast<int>(block.size()), "more of a block than there is");
    return block[std::min(static_cast<std::size_t>(part), block.size() - 1)];
  }
  int unit(const Pair& p, int at) const { return p.from_data[static_cast<std::size_t>(at % size_.ring)]; }
  // The units from `at` on are copied to `cells`, and their room, and that of a head before them, is freed.
  bool take(Step& s, const Pair& p, int at, const std::vector<int>& cells, int freed) const {
    if (wrong_ == RingWrong::freed_before_read) s.release(p.from_popped, freed);
    for (std::size_t i = 0; i < cells.size(); ++i) s.copy(cells[i], unit(p, at + static_cast<int>(i)));
    if (wrong_ != RingWrong::freed_before_read) s.release(p.from_popped, freed);
    return true;
  }
  static bool all_sent(Step& s, const Pair& p) { return s.own(p.sent) == static_cast<int>(p.out.size()); }
  static bool all_taken(Step& s, const Pair& p) { return s.own(p.taken) == static_cast<int>(p.in.size()); }

  const RingSize size_;
  const int ranks_;
  const RingWrong wrong_;
  const std::vector<Blocks> calls_;
  int call_ = 0;
};

inline NeighborModel::Pair NeighborModel::pair(int me, int peer) {
  const auto mine = [&](const char* name) { return own(name, me, peer); };
  Pair p{peer,
         blocks(me, peer),
         blocks(peer, me),
         mine("sent"),
         mine("sent part"),
         mine("taken"),
         mine("taken part"),
         mine("offered"),
         mine("owes"),
         mine("refused"),
         mine("seen"),
         {mine("asked 0"), mine("asked 1")},
         mine("asked count"),
         {mine("refused 0"), mine("refused 1")},
         mine("to ask"),
         cell("pushed", peer, me),
         cell("popped", peer, me),
         cell("pushed", me, peer),
         cell("popped", me, peer),
         {},
         {},
         {},
         {},
         {}};
  for (int i = 0; i < size_.ring; ++i) {
    p.to_data.push_back(cell("ring", peer, me, i));
    p.from_data.push_back(cell("ring", me, peer, i));
  }
  const auto all = [&](std::size_t count, const auto& cell_of) {
    std::vector<std::vector<int>> cells(count);
    for (std::size_t k = 0; k < count; ++k) {
      for (int u = 0; u < size_.units; ++u) cells[k].push_back(cell_of(static_cast<int>(k), u));
    }
    return cells;
  };
  p.send = all(p.out.size(), [&](int block, int unit) { return send(me, peer, block, unit); });
  p.peer_send = all(p.in.size(), [&](int block, int unit) { return send(peer, me, block, unit); });
  p.recv = all(p.in.size(), [&](int block, int unit) { return recv(me, peer, block, unit); });
  return p;
}

inline void NeighborModel::add(int me) {
  std::vector<Pair> pairs;
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (me + step) % ranks_;
    if (!blocks(me, peer).empty() || !blocks(peer, me).empty()) pairs.push_back(pair(me, peer));
  }
  const int in_turn = own("in turn", me, me);
  if (size_.in_turn) {
    std::vector<Choice> begins;
    for (const Pair& p : pairs) begins.push_back({"begin: push", [=, this](Step& s) { return push(s, p); }, true});
    begins.push_back({"begin: needs_no_answer", [=](Step& s) {
                        s.own(in_turn) = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& p) {
                          return all_sent(s, p) && s.own(p.offered) == 0;
                        });
                        return true;
                      }});
    machine_.choose(me, begins);
  }
  std::vector<Choice> advances;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& p = pairs[i];
    const std::vector<Pair> before(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(i));
    const auto is_turn = [=, wrong = wrong_](Step& s) {
      return s.own(in_turn) == 0 ||
             std::all_of(before.begin(), before.end(), [&](const Pair& b) { return is_done(s, b, wrong); });
    };
    const std::string with = " with " + std::to_string(p.peer);
    advances.push_back({"pop" + with, [=, this](Step& s) { return is_turn(s) && pop(s, p); }, true});
    advances.push_back({"push" + with, [=, this](Step& s) { return is_turn(s) && push(s, p); }, true});
  }
  advances.push_back({"done", [=, wrong = wrong_](Step& s) {
                        return std::all_of(pairs.begin(), pairs.end(),
                                           [&](const Pair& p) { return is_done(s, p, wrong); });
                      }});
  machine_.choose(me, advances);
  user(me, pairs);
}

inline bool NeighborModel::is_done(Step& s, const Pair& p, RingWrong wrong) {
  return all_sent(s, p) && all_taken(s, p) && (s.own(p.offered) == 0 || wrong == RingWrong::no_wait_for_was_read) &&
         s.own(p.owes) == 0 && s.own(p.refused) == 0;
}

inline void NeighborModel::user(int me, const std::vector<Pair>& pairs) {
  struct Look {
    int cell, value;
  };
  std::vector<Look> looks, anew;
  for (const Pair& p : pairs) {
    for (std::size_t k = 0; k < p.in.size(); ++k) {
      for (int u = 0; u < size_.units; ++u) {
        const bool came = u == 0 || p.in[k] != Travel::run;
        const int at = p.recv[k][static_cast<std::size_t>(u)];
        looks.push_back({at, came ? token(call_, p.peer, me, static_cast<int>(k), u) : poison});
        anew.push_back({at, poison});
      }
    }
    std::size_t blocks = 0;
    for (const Blocks& call : calls_) {
      blocks = std::max(blocks, call[static_cast<std::size_t>(me)][static_cast<std::size_t>(p.peer)].size());
    }
    for (int k = 0; k < static_cast<int>(blocks); ++k) {
      for (int u = 0; u < size_.units; ++u) {
        anew.push_back({send(me, p.peer, k, u), token(call_ + 1, me, p.peer, k, u)});
      }
    }
  }
  machine_.step(me, "the call returns; the user looks at what came", [=](Step& s) {
    for (const Look& look : looks) s.check(s.load(look.cell) == look.value, "not what was sent");
    return true;
  });
  machine_.local(me, "the user uses its buffers anew", [=](Step& s) {
    for (const Look& look : anew) s.store(look.cell, look.value);
    for (const Pair& p : pairs) s.own(p.sent) = s.own(p.taken) = s.own(p.offered) = s.own(p.refused) = 0;
    return true;
  });
}

// ---- To a peer ----

inline bool NeighborModel::push(Step& s, const Pair& p) const {
  if (room(s, p) < 1) return false;
  // A block that was asked for and is on its way is sent to its end first.
  const bool early = s.own(p.sent_part) == 0 &&
                     ((wrong_ == RingWrong::was_read_before_blocks && s.own(p.owes) != 0 && s.own(p.refused) == 0) ||
                      (wrong_ == RingWrong::asked_before_blocks && s.own(p.to_ask) != 0));
  return all_sent(s, p) || early ? push_answers(s, p) : push_blocks(s, p);
}

inline bool NeighborModel::push_blocks(Step& s, const Pair& p) const {
  const auto at = static_cast<std::size_t>(s.own(p.sent));
  if (at >= p.out.size()) return s.check(false, "more blocks sent than there are"), true;
  const Travel travel = p.out[at];
  if (s.own(p.sent_part) > 0) {  // push_bytes
    put(s, p, s.load(part_of(s, p.send[at], s.own(p.sent_part) - 1)));
    const int units = travel == Travel::run ? 1 : size_.units;
    if (s.own(p.sent_part)++ == units) s.own(p.sent_part) = 0, ++s.own(p.sent);
    return true;
  }
  if (travel == Travel::offered || travel == Travel::unreadable) {  // push_block
    s.own(p.offered) = 1;
    ++s.own(p.sent);
    return put(s, p, offer);
  }
  // push_run: as many blocks as there is room for in one piece
  const int pushed = s.load(p.to_pushed);
  const int in_one_piece = std::min(room(s, p), size_.ring - pushed % size_.ring);
  int count = 0;
  while (at + static_cast<std::size_t>(count) < p.out.size() &&
         p.out[at + static_cast<std::size_t>(count)] == Travel::run && count + 1 < in_one_piece) {
    ++count;
  }
  if (count == 0) {
    s.own(p.sent_part) = 1;
    return put(s, p, follows);
  }
  if (wrong_ == RingWrong::announced_before_written) return s.own(p.sent_part) = 1, put(s, p, follows);
  write(s, p, 0, run + count);
  for (int i = 0; i < count; ++i) write(s, p, 1 + i, s.load(p.send[at + static_cast<std::size_t>(i)][0]));
  announce(s, p, 1 + count);
  s.own(p.sent) = static_cast<Byte>(s.own(p.sent) + count);
  return true;
}

inline bool NeighborModel::push_answers(Step& s, const Pair& p) const {
  const bool must_wait = s.own(p.asked_count) > 0 && !(wrong_ == RingWrong::asked_before_blocks && !all_sent(s, p));
  const bool amid = wrong_ == RingWrong::asked_amid_a_block && s.own(p.to_ask) > 0 && s.own(p.sent_part) > 0;
  if (must_wait && !amid) {  // send_asked
    const bool last = wrong_ == RingWrong::answers_in_other_order && s.own(p.asked_count) == 2;
    const std::size_t block = s.own(p.asked[last ? 1 : 0]);
    if (block >= p.out.size()) return s.check(false, "a block was asked for that is none"), true;
    if (s.own(p.sent_part) == 0) {
      s.own(p.sent_part) = 1;
      return put(s, p, follows);
    }
    put(s, p, s.load(part_of(s, p.send[block], s.own(p.sent_part) - 1)));
    if (s.own(p.sent_part)++ == size_.units) {
      s.own(p.sent_part) = 0;
      if (!last) s.own(p.asked[0]) = s.own(p.asked[1]);
      s.own(p.asked[1]) = 0;
      --s.own(p.asked_count);
    }
    return true;
  }
  const bool early = wrong_ == RingWrong::asked_before_blocks || wrong_ == RingWrong::was_read_before_blocks;
  if (!all_taken(s, p) && !early) return false;
  if (s.own(p.to_ask) > 0) {  // ask
    const int first = s.own(p.refused) - s.own(p.to_ask);
    --s.own(p.to_ask);
    return put(s, p, asked_for + s.own(p.refusals[first]));
  }
  if (s.own(p.owes) == 0 || wrong_ == RingWrong::was_read_not_said) return s.own(p.owes) = 0, false;
  if (s.own(p.refused) > 0 && wrong_ != RingWrong::was_read_while_refused) return false;
  s.own(p.owes) = 0;
  return put(s, p, was_read);
}

// ---- From a peer ----

inline bool NeighborModel::pop(Step& s, const Pair& p) const {
  if (all_taken(s, p) && s.own(p.offered) == 0 && s.own(p.refused) == 0) return false;
  const int at = s.load(p.from_popped);
  if (s.load(p.from_pushed) == at) return false;
  return all_taken(s, p) ? all_sent(s, p) && pop_answer(s, p, at) : pop_block(s, p, at);
}

inline bool NeighborModel::pop_block(Step& s, const Pair& p, int at) const {
  const auto block = static_cast<std::size_t>(s.own(p.taken));
  if (block >= p.in.size()) return s.check(false, "more blocks taken than there are"), true;
  const Travel travel = p.in[block];
  if (s.own(p.taken_part) > 0) {  // pop_bytes
    const int part = s.own(p.taken_part) - 1, units = travel == Travel::run ? 1 : size_.units;
    if (s.own(p.taken_part)++ == units) s.own(p.taken_part) = 0, ++s.own(p.taken);
    return take(s, p, at, {part_of(s, p.recv[block], part)}, at + 1);
  }
  const int head = s.load(unit(p, at));
  if (head == follows) {
    s.own(p.taken_part) = 1;
    return take(s, p, at, {}, at + 1);
  }
  if (head > run) {  // pop_run
    const int count = head - run;
    s.check(block + static_cast<std::size_t>(count) <= p.in.size(), "more blocks than there are");
    std::vector<int> cells;
    for (std::size_t k = block; k < std::min(p.in.size(), block + static_cast<std::size_t>(count)); ++k) {
      cells.push_back(p.recv[k][0]);
    }
    s.own(p.taken) = static_cast<Byte>(s.own(p.taken) + count);
    return take(s, p, at + 1, cells, at + 1 + count);
  }
  s.check(head == offer && (travel == Travel::offered || travel == Travel::unreadable), "no head of a block");
  s.own(p.owes) = 1;
  ++s.own(p.taken);
  if (travel == Travel::unreadable) {  // read_from
    if (s.own(p.refused) < 2) s.own(p.refusals[s.own(p.refused)]) = static_cast<Byte>(block);
    ++s.own(p.refused);
    ++s.own(p.to_ask);
    return take(s, p, at, {}, at + 1);
  }
  const bool too_early =
      wrong_ == RingWrong::was_read_said_at_once && all_sent(s, p) && all_taken(s, p) && room(s, p) > 0;
  if (too_early) {
    s.own(p.owes) = 0;
    put(s, p, was_read);
  }
  for (int u = 0; u < size_.units; ++u) {
    s.copy(p.recv[block][static_cast<std::size_t>(u)], p.peer_send[block][static_cast<std::size_t>(u)]);
  }
  return take(s, p, at, {}, at + 1);
}

inline bool NeighborModel::pop_answer(Step& s, const Pair& p, int at) const {
  if (s.own(p.taken_part) > 0) {  // pop_refused
    const std::size_t block = s.own(p.refusals[0]);
    const int part = s.own(p.taken_part) - 1;
    if (s.own(p.taken_part)++ == size_.units) {
      s.own(p.taken_part) = 0;
      s.own(p.refusals[0]) = s.own(p.refusals[1]);
      s.own(p.refusals[1]) = 0;
      --s.own(p.refused);
    }
    return take(s, p, at, {part_of(s, p.recv[block], part)}, at + 1);
  }
  const int head = s.load(unit(p, at));
  if (head == was_read) {
    s.check(s.own(p.offered) != 0, "what nobody offered was read");
    s.own(p.offered) = 0;
  } else if (head >= asked_for && head < run) {
    s.check(s.own(p.asked_count) < 2, "asked for too often");
    if (s.own(p.asked_count) < 2) s.own(p.asked[s.own(p.asked_count)]) = static_cast<Byte>(head - asked_for);
    ++s.own(p.asked_count);
  } else {
    s.check(head == follows && s.own(p.refused) > 0, "no answer");
    s.own(p.taken_part) = 1;
  }
  return take(s, p, at, {}, at + 1);
}

}  // namespace quadrille::models
