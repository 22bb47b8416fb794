// Bruck of any radix for uneven blocks (Fan, Domke, Ba and Kumar, HPDC 2025): messages in flight, and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tests/plan/maps.hpp"

namespace quadrille::plan {
namespace {

using U = std::uint64_t;

int digits_not_zero(int block, int radix) {
  int count = 0;
  for (int rest = block; rest > 0; rest /= radix) count += rest % radix != 0 ? 1 : 0;
  return count;
}

// Slots are for the blocks that move more than once, in their order, without gaps.
TEST(Tuna, SlotsAreThoseOfTheBlocksThatWait) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    for (int radix = 2; radix <= ranks; ++radix) {
      int next = 0, direct = 0;
      for (int block = 1; block < ranks; ++block) {
        const int moves = digits_not_zero(block, radix);
        direct += moves == 1 ? 1 : 0;
        if (moves < 2) continue;
        ASSERT_EQ(bruck::waiting_slot(radix, block), next++) << block << " of " << ranks << ", radix " << radix;
      }
      ASSERT_EQ(bruck::waiting_blocks(ranks, radix), next) << ranks << " ranks, radix " << radix;
      ASSERT_EQ(next, ranks - 1 - direct);
    }
  }
  EXPECT_EQ(bruck::waiting_blocks(1000, 1 << 20), 0) << "all arrive by their first message";
}

// [slot] how often a block comes to wait there, and how often one goes on.
struct Uses {
  std::vector<U> came, went;
};
Uses uses_of(const Schedule& schedule) {
  const std::size_t slots = waiting_slots(schedule);
  Uses uses{std::vector<U>(slots), std::vector<U>(slots)};
  for (const Copy& copy : schedule.copies) {
    const auto is_slot = [&](const Span& span) {
      return span.buffer == Buffer::scratch && static_cast<std::size_t>(span.block) < slots;
    };
    if (is_slot(copy.to)) ++uses.came[static_cast<std::size_t>(copy.to.block)];
    if (is_slot(copy.from)) ++uses.went[static_cast<std::size_t>(copy.from.block)];
  }
  return uses;
}

// Working memory for P - 1 blocks, less those that arrive by their first message: as many as there are messages.
TEST(Tuna, TwoPhaseBruckKeepsOnlyWhatIsUnderWay) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    const NodeMap nodes = one_node(ranks);
    for (int radix = 2; radix <= ranks; ++radix) {
      const Schedule schedule = two_phase_bruck({ranks, ranks / 3, &nodes, {{"radix", radix}}});
      const U messages = count(schedule).messages;
      ASSERT_EQ(waiting_slots(schedule) + messages + 1, static_cast<U>(ranks)) << ranks << " ranks, radix " << radix;
      U positions = 0;
      for (std::int64_t reach = 1; reach < ranks; reach *= radix) ++positions;
      ASSERT_LE(messages, positions * static_cast<U>(radix - 1));
      const Uses uses = uses_of(schedule);
      ASSERT_EQ(uses.came, uses.went) << ranks << " ranks, radix " << radix;
      for (const U came : uses.came) ASSERT_GE(came, 1u) << ranks << " ranks, radix " << radix;
    }
  }
}

// --- Inside nodes, then between them ---

// Bruck's algorithm among `ranks` ranks, by looking at every digit.
struct Inside {
  U positions = 0, messages = 0, moved = 0;
  U most_waiting = 0;  // blocks that wait before a round, or come to wait in it
};
Inside inside_of(int ranks, int radix) {
  Inside in;
  for (int weight = 1; weight < ranks; weight *= radix) {
    ++in.positions;
    std::set<int> digits;
    U waiting = 0;
    for (int block = 1; block < ranks; ++block) {
      const int lower = block % weight, digit = block / weight % radix, higher = block / weight / radix;
      waiting += lower != 0 && block / weight != 0 ? 1 : 0;
      if (digit == 0) continue;
      ++in.moved;
      digits.insert(digit);
      waiting += higher != 0 ? 1 : 0;
    }
    in.messages += digits.size();
    in.most_waiting = std::max(in.most_waiting, waiting);
  }
  return in;
}

constexpr Build kTuna[] = {tuna_hierarchical, uneven_tuna_hierarchical};

// Nodes of equal size, and how blocks go between them.
struct Even {
  int nodes, here, radix, exchange, burst;
};

void expect_counts(const Even& on, const NodeMap& map, const Inside& in, int me, bool uneven) {
  const int ranks = on.nodes * on.here;
  SCOPED_TRACE(testing::Message() << on.nodes << " nodes of " << on.here << ", radix " << on.radix << ", exchange "
                                  << on.exchange << ", burst " << on.burst << ", rank " << me << ", uneven " << uneven);
  const U others = static_cast<U>(on.nodes - 1), q = static_cast<U>(on.here), n = static_cast<U>(on.nodes);
  const U burst = static_cast<U>(on.burst), away = on.exchange == 0 ? others : q * others;
  const Parameters parameters = {{"radix", on.radix}, {"exchange", on.exchange}, {"burst", on.burst}};
  const Counts c = count(kTuna[uneven]({ranks, me, &map, parameters}));
  ASSERT_EQ(c.rounds, in.positions + (away + burst - 1) / burst);
  ASSERT_EQ(c.messages, in.messages + away);
  ASSERT_EQ(c.blocks_sent, n * in.moved + q * others);
  ASSERT_EQ(c.sizes_sent, uneven ? c.blocks_sent : 0);
  ASSERT_EQ(c.size_messages, uneven ? c.messages : 0);
  const U addresses = uneven && ranks > 1 ? 2 * n * q : 0;
  ASSERT_EQ(c.scratch_blocks, addresses + (q - 1) * others + n * in.most_waiting);
  ASSERT_EQ(c.blocks_copied, uneven ? 2 * n * q - 1 : 1);
}

TEST(HierarchicalTuna, CountsOnEvenNodes) {
  for (int nodes = 1; nodes <= 5; ++nodes) {
    for (int here = 1; here <= 10; ++here) {
      const int ranks = nodes * here;
      const NodeMap maps[] = {map_of("blocked:" + std::to_string(here), ranks),
                              map_of("roundrobin:" + std::to_string(nodes), ranks)};
      for (int radix = 2; radix <= here + 1; ++radix) {
        const Inside in = inside_of(here, radix);
        for (int one = 0; one < 2 * 2 * 2 * 3 * 3; ++one) {
          constexpr int bursts[] = {1, 3, 1000};
          const Even on = {nodes, here, radix, one % 2, bursts[one / 2 % 3]};
          const int me = one / 6 % 3 * (ranks - 1) / 2;
          expect_counts(on, maps[one / 18 % 2], in, me, one / 36 == 0);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Of nodes of any sizes: to each rank one message from each other node, or one for each block.
class Between {
 public:
  Between(const NodeMap& nodes, int exchange, std::uint32_t burst)
      : nodes_(nodes), exchange_(exchange), burst_(burst), to_(static_cast<std::size_t>(nodes.nodes * nodes.ranks())) {}

  void check() {
    const Parameters parameters = {{"radix", 2}, {"exchange", exchange_}, {"burst", burst_}};
    for (const Schedule& s : build_all(uneven_tuna_hierarchical, nodes_, parameters)) count_sent(s);
    for (int from = 0; from < nodes_.nodes; ++from) {
      const auto size = std::count(nodes_.node_of.begin(), nodes_.node_of.end(), from);
      for (int to = 0; to < nodes_.ranks(); ++to) {
        const bool other = node_of(to) != from;
        EXPECT_EQ(sent(from, to).blocks, other ? size : 0);
        EXPECT_EQ(sent(from, to).messages, !other ? 0 : exchange_ == 0 ? 1 : size);
      }
    }
  }

 private:
  struct Sent {
    long messages = 0, blocks = 0;
  };
  int node_of(int rank) const { return nodes_.node_of[static_cast<std::size_t>(rank)]; }
  Sent& sent(int node, int rank) { return to_[static_cast<std::size_t>(node * nodes_.ranks() + rank)]; }

  void count_sent(const Schedule& s) {
    const int me = s.copies.front().from.owner;
    for (const Round& round : s.rounds) {
      std::uint32_t away = 0;
      for (std::uint32_t i = 0; i < round.sends.count; ++i) {
        const Message& m = s.messages[round.sends.first + i];
        if (node_of(m.peer) == node_of(me)) continue;
        ++away;
        ++sent(node_of(me), m.peer).messages;
        sent(node_of(me), m.peer).blocks += m.spans.count;
      }
      EXPECT_LE(away, burst_);
      EXPECT_TRUE(away == 0 || away == round.sends.count) << "a round inside the node and between nodes";
    }
  }

  const NodeMap& nodes_;
  const int exchange_;
  const std::uint32_t burst_;
  std::vector<Sent> to_;  // [node that sends, rank]
};

TEST(HierarchicalTuna, MessagesBetweenNodesOfAllKinds) {
  for (const char* text :
       {"blocked:1", "blocked:3", "roundrobin:3", "ragged:1,3,4", "ragged:6,1", "permuted:1", "permuted:2"}) {
    for (int ranks = 2; ranks <= 24; ++ranks) {
      const NodeMap nodes = map_of(text, ranks);
      for (const int exchange : {0, 1}) {
        for (const std::uint32_t burst : {1u, 2u, 1000u}) {
          SCOPED_TRACE(testing::Message()
                       << text << ", " << ranks << " ranks, exchange " << exchange << ", burst " << burst);
          Between(nodes, exchange, burst).check();
          if (HasFailure()) return;
        }
      }
    }
  }
}

// The one at the head of tuna_hierarchical.cpp.
TEST(HierarchicalTuna, TheExample) {
  const NodeMap nodes = map_of("blocked:2", 4);
  const std::string inside =
      "round 0\n  copy  send[1] -> recv[1]\n"
      "round 1\n  send  to 0: send[0], send[2]\n  recv  from 0: recv[0], scratch[0]\n";
  EXPECT_EQ(draw(tuna_hierarchical({4, 1, &nodes, {}}), 1),
            "scratch 1 block\n" + inside + "round 2\n  send  to 3: send[3], scratch[0]\n  recv  from 3: recv[3..2]\n");
  EXPECT_EQ(draw(tuna_hierarchical({4, 1, &nodes, {{"exchange", 1}}}), 1),
            "scratch 1 block\n" + inside +
                "round 2\n  send  to 3: send[3]\n  send  to 3: scratch[0]\n"
                "  recv  from 3: recv[3]\n  recv  from 3: recv[2]\n");
}

// A node of one rank and one of three: rank 0 sends to all of them, one of them sends to it.
TEST(HierarchicalTuna, NodesOfOneAndThree) {
  const NodeMap nodes = map_of("ragged:1,3", 4);
  const auto sends = [&](int me) {
    const Schedule s = tuna_hierarchical({4, me, &nodes, {}});
    std::vector<int> peers;
    for (const Round& round : s.rounds) {
      for (std::uint32_t i = 0; i < round.sends.count; ++i) {
        const Message& m = s.messages[round.sends.first + i];
        if ((m.peer == 0) != (me == 0)) peers.push_back(m.peer);
      }
    }
    return peers;
  };
  EXPECT_EQ(sends(0), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(sends(1), (std::vector<int>{0}));
  EXPECT_EQ(sends(2), (std::vector<int>{}));
}

}  // namespace
}  // namespace quadrille::plan
