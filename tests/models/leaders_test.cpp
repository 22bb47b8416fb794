// Turns through the leaders of a node, src/memory/leaders.hpp and src/run/leaders.cpp. Names of steps are those of the
// functions there.
//
// Each block is one cell. What it holds says turn, source and destination. Other nodes are played by the leader: it
// looks at what it sends, and what it receives appears. The counter of ranks that have packed is a cell a rank here.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expect.hpp"
#include "machine.hpp"

namespace quadrille::models::leaders {
namespace {

enum class Wrong {
  nothing,
  pack_without_release,
  packed_before_written,
  no_wait_for_packed,
  no_wait_for_brought,
  wait_for_one_leader,
  bring_without_release,
  bring_before_received,
  one_set,
  parts_move,
  own_read_unpacked,
};

class LeadersModel {
 public:
  // `early`: ranks read what stays in the node before leaders are ready, in every other turn.
  LeadersModel(int ranks, int leaders, int depth, Wrong wrong, bool early = true)
      : ranks_(ranks), leaders_(leaders), wrong_(wrong), early_(early), machine_(ranks, depth) {
    for (int r = 0; r < ranks; ++r) {
      packed_.push_back(machine_.cell("packed " + std::to_string(r)));
      for (int set = 0; set < 2; ++set) {
        for (int d = 0; d < ranks; ++d) own_.push_back(machine_.cell("own " + std::to_string(r) + std::to_string(d)));
      }
      for (int l = 0; l < leaders; ++l) out_.push_back(machine_.cell("out " + std::to_string(r) + std::to_string(l)));
      in_.push_back(machine_.cell("in " + std::to_string(r)));
    }
    for (int l = 0; l < leaders; ++l) brought_.push_back(machine_.cell("brought " + std::to_string(l)));
  }
  LeadersModel(const LeadersModel&) = delete;
  LeadersModel& operator=(const LeadersModel&) = delete;
  const Machine& machine() const { return machine_; }

  void turn() {
    ++turn_;
    for (int me = 0; me < ranks_; ++me) {
      if (wrong_ == Wrong::packed_before_written) pack(me);
      write(me);
      if (wrong_ != Wrong::packed_before_written) pack(me);
      if (me < leaders_ && wrong_ == Wrong::bring_before_received) bring(me);
      if (me < leaders_) send(me);
      const bool early = early_ && (turn_ + me) % 2 == 0;
      if (early) read_own(me, true);
      if (me < leaders_) receive(me);
      wait_for_leaders(me);
      if (!early) read_own(me, false);
      expect(me, in(me), from_away(me));
    }
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  int token(int from, int to) const { return 1 + (turn_ * ranks_ + from) * (ranks_ + 1) + to; }
  int from_away(int to) const { return 128 + turn_ * ranks_ + to; }
  int set() const { return wrong_ == Wrong::one_set ? 0 : turn_ & 1; }
  int own(int from, int to) const { return own_[at((from * 2 + set()) * ranks_ + to)]; }
  // Each rank has a block for each leader to send; leader l receives those of the ranks l, l + leaders, ...
  bool moves() const { return wrong_ == Wrong::parts_move && turn_ % 2 == 0; }
  int out(int from, int leader) const {
    return moves() ? in_[at((from + 1) % ranks_)] : out_[at(from * leaders_ + leader)];
  }
  int in(int to) const { return in_[at(to)]; }

  void write(int me) {
    for (int to = 0; to < ranks_; ++to) machine_.store(me, "pack_piece: own", own(me, to), token(me, to));
    for (int l = 0; l < leaders_; ++l) machine_.store(me, "pack_piece: out", out(me, l), token(me, ranks_));
  }
  void pack(int me) {
    machine_.publish(me, "Leaders::pack", packed_[at(me)], turn_, wrong_ != Wrong::pack_without_release);
  }
  void wait_for_packed(int me) {
    for (int r = 0; r < ranks_; ++r) {
      const int cell = packed_[at(r)], turn = turn_;
      machine_.step(me, "Leaders::all_have_packed", [=](Step& s) { return s.load(cell) >= turn; });
    }
  }
  void send(int me) {
    if (wrong_ != Wrong::no_wait_for_packed) wait_for_packed(me);
    for (int r = 0; r < ranks_; ++r) {
      const int cell = out(r, me), expected = token(r, ranks_);
      machine_.step(me, "send",
                    [=](Step& s) { return s.check(s.load(cell) == expected, "sent what is not packed"), true; });
    }
  }
  void receive(int me) {
    for (int r = me; r < ranks_; r += leaders_) machine_.store(me, "receive", in(r), from_away(r));
    if (wrong_ != Wrong::bring_before_received) bring(me);
  }
  void bring(int me) {
    machine_.publish(me, "Leaders::bring", brought_[at(me)], turn_, wrong_ != Wrong::bring_without_release);
  }
  void wait_for_leaders(int me) {
    if (wrong_ == Wrong::no_wait_for_brought) return;
    for (int l = 0; l < leaders_; ++l) {
      if (wrong_ == Wrong::wait_for_one_leader && l != me % leaders_) continue;
      const int cell = brought_[at(l)], turn = turn_;
      machine_.step(me, "Leaders::has_brought", [=](Step& s) { return s.load(cell) >= turn; });
    }
  }
  void read_own(int me, bool waits) {
    if (waits && wrong_ != Wrong::own_read_unpacked) wait_for_packed(me);
    for (int from = 0; from < ranks_; ++from) expect(me, own(from, me), token(from, me));
  }
  void expect(int me, int cell, int expected) {
    machine_.step(me, "unpack_piece",
                  [=](Step& s) { return s.check(s.load(cell) == expected, "a wrong block came"), true; });
  }

  const int ranks_, leaders_;
  const Wrong wrong_;
  const bool early_;
  Machine machine_;
  int turn_ = 0;
  std::vector<int> packed_, brought_, own_, out_, in_;
};

void add_turns(LeadersModel& model, int turns) {
  for (int t = 0; t < turns; ++t) model.turn();
}

TEST(LeadersModel, EachBlockArrivesInEachTurn) {
  for (const bool early : {false, true}) {
    const std::string way = early ? ", own blocks read early" : "";
    LeadersModel two(2, 1, 30, Wrong::nothing, early);
    add_turns(two, 4);
    expect_good("leaders, 2 ranks, 1 leader, 4 turns" + way, two.machine());
    LeadersModel both(2, 2, 30, Wrong::nothing, early);
    add_turns(both, 3);
    expect_good("leaders, 2 ranks, 2 leaders, 3 turns" + way, both.machine());
    LeadersModel three(3, 1, 0, Wrong::nothing, early);
    add_turns(three, 4);
    expect_good("leaders, 3 ranks, 1 leader, 4 turns" + way, three.machine());
  }
}

constexpr struct {
  Wrong wrong;
  const char* name;
  int leaders;
} mutations[] = {
    {Wrong::pack_without_release, "packed is said without release", 1},
    {Wrong::packed_before_written, "packed is said before it is", 1},
    {Wrong::no_wait_for_packed, "a leader does not wait for all to pack", 1},
    {Wrong::no_wait_for_brought, "nobody waits for the leader", 1},
    {Wrong::wait_for_one_leader, "a rank waits for one leader alone", 2},
    {Wrong::bring_without_release, "brought is said without release", 1},
    {Wrong::bring_before_received, "brought is said before it is", 1},
    {Wrong::one_set, "one set of own places", 1},
    {Wrong::own_read_unpacked, "what stays in the node is read before all have packed", 1},
    {Wrong::parts_move, "what goes out lies where another turn's came in", 1},
};

TEST(LeadersModel, EveryMutationIsFound) {
  for (const auto& [wrong, name, leaders] : mutations) {
    LeadersModel model(2, leaders, 30, wrong);
    add_turns(model, 3);
    expect_found(std::string("leaders, ") + name, model.machine());
  }
}

}  // namespace
}  // namespace quadrille::models::leaders
