// A model of the calls between the ranks of a node that share the words of src/memory/control_memory.hpp:
//   copies     the ordered copies, src/run/copies.cpp, which meet as in src/memory/meeting.hpp
//   exchange   the exchange by pairs, src/run/node_exchange.cpp
// A communicator makes both in turn, so one model has both: the steps of the copies are in copies_model.cpp, those of
// the exchange in exchange_model.cpp. Names of steps are those of the functions in src/run.
//
// Blocks are a few units of one cell. What they hold says call, source and destination. After each call the user looks
// at what came, writes over it, and writes anew what is sent: so whoever still reads or writes the buffers of a rank
// that has left is found.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "rank_model.hpp"

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

// How a block travels: memory::Carried, and reads and writes that fail. `away`: to another node, see
// run::AwayMessages.
enum class Way { none, in_slot, in_heap, at_address, read_fails, written, write_fails, in_ring, away };
inline bool is_written(Way way) { return way == Way::written || way == Way::write_fails; }

struct NodeSize {
  int ranks = 2;
  int depth = 30;  // see machine.hpp
  int units = 2;   // of a block that is not in a slot
  int ring = 1;    // units that a ring holds
  int radix = 0;   // of the meetings for copies; 0: no tree. Three ranks on several caches have trees of radix 1 or 2
};

class NodeModel : public RankModel {
 public:
  NodeModel(const NodeSize& size, NodeWrong wrong)
      : RankModel(size.ranks, size.depth), size_(size), ranks_(size.ranks), wrong_(wrong) {
    for (int a = 0; a < ranks_; ++a) {
      for (int b = 0; b < ranks_; ++b) {
        for (int u = 0; u < size_.units && a != b; ++u) send(a, b, u), recv(a, b, u);
      }
    }
    machine_.finally([=, this](Step& s) {
      for (const int cell : received_) s.check(s.load(cell) == poison, "written to after the call");
    });
  }

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
  static constexpr int sequence_bits = 2;

  // ---- Memory ----
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

}  // namespace quadrille::models
