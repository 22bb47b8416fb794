// Meetings of the ranks of a node, with ranks as threads; and how many lines a call looks at.
#include "memory/meeting.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "sys/sys.hpp"
#if !defined(QUADRILLE_NARROW_SEQUENCE)
#include "memory/control_memory.hpp"
#include "plan/order.hpp"
#endif

namespace quadrille::memory {
namespace {

class Memory {
 public:
  explicit Memory(std::size_t bytes) : memory_(new std::byte[bytes + sys::cache_line]{}) {}
  std::byte* base() const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.get());
    return reinterpret_cast<std::byte*>((at + sys::cache_line - 1) / sys::cache_line * sys::cache_line);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

// Sequence numbers of one byte wrap in so many calls; wider ones, of the same code, need fewer.
#if defined(QUADRILLE_NARROW_SEQUENCE)
constexpr int meeting_calls = 300;
#else
constexpr int meeting_calls = 100;
#endif

// What rank `me` says in a call; ranks say no, and send longer blocks, in turn.
bool says(int me, int call) { return (call * 7 + me * 3) % 11 != 0; }
std::uint64_t sends(int me, int call) { return static_cast<std::uint64_t>(100 + (call * 5 + me * 13) % 17); }
bool is_regular(int me, int call) { return (call + me * 5) % 9 != 4; }

struct Expected {
  bool all_say_so = true;
  std::uint64_t longest = 0;
};
Expected expected(int ranks, int call, int more) {
  Expected all;
  for (int r = 0; r < ranks; ++r) {
    all.all_say_so = all.all_say_so && says(r, call + more);
    all.longest = std::max(all.longest, is_regular(r, call) ? sends(r, call) : Meeting::no_limit);
  }
  return all;
}

// Ranks run freely, and each looks at what all others wrote in this call, and not in the next.
void meet(const std::vector<sys::Place>& places, int radix, int calls) {
  const int ranks = static_cast<int>(places.size());
  const Memory lines(Meeting::bytes(ranks));
  std::vector<int> came(static_cast<std::size_t>(ranks)), wrong(came.size());
  const auto one_rank = [&](int me) {
    Meeting meeting(lines.base(), ranks, me, meeting_tree(places, me, radix));
    sys::Waiter waiter;
    waiter.spins = 4;
    std::minstd_rand random(static_cast<unsigned>(1 + me));
    const auto wait = [&] {
      if (random() % 16 == 0) std::this_thread::yield();
      while (!meeting.met()) waiter.until([&] { return meeting.advance(); });
    };
    const auto mine = static_cast<std::size_t>(me);
    for (int call = 0; call < calls; ++call) {
      meeting.begin();
      came[mine] = call;  // without a lock: the meeting orders it
      meeting.set_rule(Owned::send, {static_cast<std::uint64_t>(call), sends(me, call), 0, is_regular(me, call), me});
      meeting.come(says(me, call), static_cast<std::uint64_t>(call + me));
      wait();
      const Expected at_first = expected(ranks, call, 0);
      if (meeting.all_say_so() != at_first.all_say_so || meeting.longest_sent() != at_first.longest) ++wrong[mine];
      for (int other = 0; other < ranks; ++other) {
        const BlockRule& rule = meeting.rule(Owned::send, other);
        if (came[static_cast<std::size_t>(other)] != call || rule.at != static_cast<std::uint64_t>(call) ||
            rule.distance != other || meeting.generation_of(other) != static_cast<std::uint64_t>(call + other)) {
          ++wrong[mine];
        }
      }
      meeting.finish(says(me, call + 1), Fenced::nothing_streamed());
      wait();
      if (meeting.all_say_so() != expected(ranks, call, 1).all_say_so) ++wrong[mine];
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int me = 0; me < ranks; ++me) threads.emplace_back(one_rank, me);
  }
  EXPECT_EQ(wrong, std::vector<int>(came.size())) << ranks << " ranks, radix " << radix;
}

TEST(Meeting, AllHearWhatAllSaid) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    const std::vector<sys::Place> unknown(static_cast<std::size_t>(ranks));
    for (const int radix : {Meeting::flat, 1, 2, 3, 7, 8, 100}) meet(unknown, radix, meeting_calls);
  }
}

// Two packages of two caches with three ranks each, one cache after the other, and in turn; and a rank of no place.
TEST(Meeting, AllHearWhatAllSaidAlongCaches) {
  std::vector<sys::Place> in_order, in_turn;
  for (int rank = 0; rank < 12; ++rank) {
    in_order.push_back({rank / 6, rank / 3});
    in_turn.push_back({rank % 2, rank % 4});
  }
  in_turn.emplace_back();
  for (const int radix : {1, 2, 8}) {
    meet(in_order, radix, meeting_calls);
    meet(in_turn, radix, meeting_calls);
  }
}

TEST(Meeting, ATreeFromManyRanksOn) {
  EXPECT_EQ(Meeting::radix_for(8, false), Meeting::flat);
  EXPECT_GT(Meeting::radix_for(128, false), 1);
  EXPECT_EQ(Meeting::radix_for(128, true), Meeting::flat) << "each step may cost a turn";
}

BlockPlace place(std::uint64_t at, std::uint64_t bytes, bool by_address = false) { return {at, bytes, by_address}; }
bool same(const BlockPlace& a, const BlockPlace& b) {
  return a.at == b.at && a.bytes == b.bytes && a.by_address == b.by_address;
}

TEST(RuleFinder, FindsTheRuleOrWritesTheTable) {
  const struct {
    std::vector<BlockPlace> places;
    bool regular;
  } cases[] = {
      {{}, true},
      {{place(7, 3)}, true},
      {{place(100, 8), place(108, 8), place(116, 8)}, true},
      {{place(100, 8), place(92, 8), place(84, 8)}, true},
      {{place(100, 8), place(100, 8)}, true},
      {{place(0, 0), place(0, 0), place(0, 0)}, true},
      {{place(9, 4, true), place(19, 4, true)}, true},
      {{place(100, 8), place(108, 8), place(117, 8)}, false},
      {{place(100, 8), place(108, 9)}, false},
      {{place(100, 8), place(108, 8, true)}, false},
      {{place(100, 8), place(0, 0), place(116, 8)}, false},
  };
  for (const auto& [places, regular] : cases) {
    std::vector<BlockPlace> table(places.size());
    RuleFinder finder(table.data());
    for (const BlockPlace& one : places) finder.add(one);
    EXPECT_EQ(finder.rule().regular, regular) << places.size();
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_TRUE(same(regular ? finder.rule().block(static_cast<int>(i)) : table[i], places[i])) << i;
    }
  }
}

#if !defined(QUADRILLE_NARROW_SEQUENCE)
// Lines of control memory that a rank looks at or writes in one Alltoall of blocks of one size, without those of the
// data.
std::size_t lines_of_call(plan::Order order, int ranks, int me, int radix) {
  std::set<std::pair<char, int>> lines = {{'e', me}};
  for (const plan::Pair& pair : plan::part_of_order(order, ranks, me)) {
    lines.insert({'e', pair.source});
    lines.insert({'e', pair.destination});
  }
  if (radix == Meeting::flat) {
    for (int other = 0; other < ranks; ++other) lines.insert({'e', other});
    return lines.size();
  }
  // 'u', what a rank tells its parent, 'd', its children.
  const MeetingTree tree = meeting_tree(std::vector<sys::Place>(static_cast<std::size_t>(ranks)), me, radix);
  for (const int child : tree.children) lines.insert({'u', child});
  if (tree.parent >= 0) lines.insert({{'u', me}, {'d', tree.parent}});
  if (!tree.children.empty()) lines.insert({'d', me});
  return lines.size();
}
// As it was: a flag by which each enters and one by which it finishes, and tables of 16 bytes a block.
std::size_t lines_with_tables(plan::Order order, int ranks, int me) {
  std::set<std::tuple<char, int, int>> lines;
  const auto table = [&](char which, int owner, int block) { lines.insert({which, owner, block / 4}); };
  for (int other = 0; other < ranks; ++other) {
    lines.insert({'e', other, 0});
    lines.insert({'f', other, 0});
    table('s', me, other);
    table('r', me, other);
    table('s', other, me);  // to see what came
  }
  for (const plan::Pair& pair : plan::part_of_order(order, ranks, me)) {
    table('s', pair.source, pair.destination);
    table('r', pair.destination, pair.source);
  }
  return lines.size();
}

TEST(Meeting, ACallLooksAtFewLines) {
  const struct {
    plan::Order order;
    int ranks;
    std::size_t tables, flat, tree;  // most of any rank
  } cases[] = {
      {plan::Order::morton, 8, 29, 8, 12},      {plan::Order::row, 64, 223, 64, 75},
      {plan::Order::morton, 64, 255, 64, 28},   {plan::Order::row, 128, 447, 128, 139},
      {plan::Order::morton, 128, 511, 128, 36}, {plan::Order::hilbert, 128, 509, 128, 35},
  };
  for (const auto& one : cases) {
    std::size_t tables = 0, flat = 0, tree = 0;
    for (int me = 0; me < one.ranks; ++me) {
      tables = std::max(tables, lines_with_tables(one.order, one.ranks, me));
      flat = std::max(flat, lines_of_call(one.order, one.ranks, me, Meeting::flat));
      tree = std::max(tree, lines_of_call(one.order, one.ranks, me, 8));
    }
    EXPECT_EQ(tables, one.tables) << one.ranks;
    EXPECT_EQ(flat, one.flat) << one.ranks;
    EXPECT_EQ(tree, one.tree) << one.ranks;
  }
}
#endif

}  // namespace
}  // namespace quadrille::memory
