// HINT's algorithm 5: what it is, what it costs, and what is wrong with it as printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "choose/registry.hpp"
#include "plan/algorithms.hpp"
#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "plan/verify.hpp"
#include "tests/plan/named_orders.hpp"

namespace quadrille::plan {
namespace {

using testing::HasSubstr;

constexpr Goal all_blocks = {Pattern::alltoall, true};

NodeMap map_for(const std::string& text, int ranks) {
  NodeMap map;
  EXPECT_EQ(parse_node_map(text, ranks, map), "");
  return map;
}

bool share_node(const NodeMap& nodes, int a, int b) {
  return nodes.node_of[static_cast<std::size_t>(a)] == nodes.node_of[static_cast<std::size_t>(b)];
}

Parameters parameters_of(const std::string& text, Collective collective = Collective::alltoall) {
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(collective, text, choice), "");
  return choice.parameters;
}

// The network step of the page, step by step. `printed`: with its conditions as they are there.
Schedule algorithm_5(const Problem& problem, bool printed) {
  const int ranks = problem.ranks, me = problem.me;
  Builder builder(me);
  copy_inside_node(problem, Order::hilbert, Rows::by_domains, true, builder);
  const auto away = [&](int rank) { return !share_node(*problem.nodes, rank, me); };
  for (int i = 0; i < ranks; ++i) {
    const int src = (me - i + ranks) % ranks, dst = (me + i) % ranks;
    const bool sends = away(printed ? src : dst), receives = away(printed ? dst : src);
    if (!sends && !receives) continue;
    builder.begin_round();  // waitall
    if (sends) builder.send(dst, Buffer::send, dst);
    if (receives) builder.receive(src, Buffer::recv, src);
  }
  return builder.take();
}
Schedule as_meant(const Problem& problem) { return algorithm_5(problem, false); }
Schedule as_printed(const Problem& problem) { return algorithm_5(problem, true); }

const char* const texts[] = {"blocked:1",  "blocked:2",    "blocked:3",  "roundrobin:2", "roundrobin:3",
                             "ragged:1,3", "ragged:4,1,2", "permuted:3", "permuted:7",   "blocked:99"};

// The messages of a schedule in order, as text, step by step.
std::string steps_of(const Schedule& schedule, int me) {
  std::string text;
  for (const Round& round : schedule.rounds) {
    for (std::uint32_t pair = 0; pair < std::max(round.sends.count, round.receives.count); ++pair) {
      std::string step;
      const auto add = [&](const char* what, Range range) {
        if (pair >= range.count) return;
        const Message& message = schedule.messages[range.first + pair];
        if (is_none(message)) return;
        step +=
            what + std::to_string(message.peer) + ":" + std::to_string(schedule.spans[message.spans.first].block) + " ";
      };
      add("to ", round.sends);
      add("from ", round.receives);
      if (!step.empty()) text += step + "| ";
    }
  }
  return text + std::to_string(me);
}

TEST(HintNetworkTest, IsAlgorithm5) {
  for (const char* const text : texts) {
    for (const int ranks : {1, 2, 3, 4, 5, 8, 12}) {
      const NodeMap nodes = map_for(text, ranks);
      for (int me = 0; me < ranks; ++me) {
        const Problem problem{ranks, me, &nodes, {}};
        const Schedule built = hint_network(problem), literal = as_meant(problem);
        EXPECT_EQ(steps_of(built, me), steps_of(literal, me)) << text << " " << ranks;
        EXPECT_EQ(count(built), count(literal)) << text << " " << ranks;
        // One pair is in flight at a time, and none before the node is done.
        for (std::size_t r = 0; r < built.rounds.size(); ++r) {
          const Round& round = built.rounds[r];
          EXPECT_EQ(round.node_fence, r < 2);
          EXPECT_FALSE(round.beside);
          EXPECT_EQ(round.sends.count > 0, r == 2);
          EXPECT_EQ(round.window.pairs, r == 2 ? 1u : 0u);
        }
      }
      EXPECT_EQ(verify(build_all(as_meant, nodes, {}), nodes, all_blocks).what, "") << text << " " << ranks;
    }
  }
}

// P - p messages, p copies, and as many rounds as steps that have a message.
TEST(HintNetworkTest, CostsWhatThePageSays) {
  for (const char* const text : texts) {
    for (const int ranks : {1, 2, 3, 8, 13}) {
      const NodeMap nodes = map_for(text, ranks);
      for (int me = 0; me < ranks; ++me) {
        std::uint64_t here = 0, both_here = 0;
        for (int r = 0; r < ranks; ++r) here += share_node(nodes, r, me) ? 1 : 0;
        for (int i = 1; i < ranks; ++i) {
          both_here +=
              share_node(nodes, (me + i) % ranks, me) && share_node(nodes, (me - i + ranks) % ranks, me) ? 1 : 0;
        }
        Counts expected;
        expected.blocks_copied = here;
        expected.messages = expected.blocks_sent = static_cast<std::uint64_t>(ranks) - here;
        expected.rounds = static_cast<std::uint64_t>(ranks) - 1 - both_here;
        EXPECT_EQ(count(hint_network({ranks, me, &nodes, {}})), expected) << text << " " << ranks << " " << me;
        EXPECT_EQ(count(allgather_hint_network({ranks, me, &nodes, {}})), expected) << text << " " << ranks;
        expected.rounds = expected.messages > 0 ? 1 : 0;
        EXPECT_EQ(count(hint_network({ranks, me, &nodes, parameters_of("hint-network:exchange=spread-out")})),
                  expected);
      }
    }
  }
}

// Every exchange with every order, after the copies and during the copies.
struct Kind {
  Collective collective;
  Build build;
  Goal goal;
};
const Kind kinds[] = {{Collective::alltoall, hint_network, {Pattern::alltoall, false}},
                      {Collective::alltoallv, hint_network, {Pattern::alltoall, true}},
                      {Collective::allgatherv, allgather_hint_network, {Pattern::allgather, true}}};

std::span<const std::string_view> exchanges_of(Collective collective) {
  return choose::find(collective, "hint-network")->parameters.front().names;
}

void prove(const Kind& kind, const std::string& name, const char* text, int ranks) {
  const NodeMap nodes = map_for(text, ranks);
  EXPECT_EQ(verify(build_all(kind.build, nodes, parameters_of(name, kind.collective)), nodes, kind.goal, 2).what, "")
      << name << " " << text << " " << ranks;
}

TEST(HintNetworkTest, AllParametersAreProved) {
  for (const Kind& kind : kinds) {
    for (const char* const text :
         {"ragged:1,3", "blocked:2", "roundrobin:3", "permuted:7", "blocked:1", "blocked:99"}) {
      for (const int ranks : {1, 5, 9}) {
        for (const auto exchange : exchanges_of(kind.collective)) {
          for (const auto order : network_order_names()) {
            for (const auto messages : network_messages_names) {
              const std::string name = "hint-network:exchange=" + std::string(exchange) +
                                       ",order=" + std::string(order) + ",messages=" + std::string(messages) +
                                       ",stride=2";
              prove(kind, name, text, ranks);
            }
          }
        }
      }
    }
  }
}

TEST(HintNetworkTest, ExchangesAreThoseOfTheRegistry) {
  using testing::ElementsAreArray;
  const std::vector<std::string_view> direct = {"pairwise",       "spread-out",     "nonblocking",
                                                "waitall-stride", "waitany-stride", "testany-stride"};
  const auto with = [&](std::vector<std::string_view> more) {
    more.insert(more.begin(), direct.begin(), direct.end());
    return more;
  };
  EXPECT_THAT(exchanges_of(Collective::alltoall), ElementsAreArray(with({"bruck"})));
  EXPECT_THAT(exchanges_of(Collective::alltoallv), ElementsAreArray(with({"two-phase-bruck"})));
  EXPECT_THAT(exchanges_of(Collective::allgather),
              ElementsAreArray(with({"ring", "recursive-doubling", "mn-co", "bruck"})));
}

// --- by way of other ranks ------------------------------------------------------------------------

TEST(RoundsBetweenNodesTest, AllRadicesAreProvedOnAllMaps) {
  for (const char* const text : texts) {
    for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 17, 30}) {
      for (const int radix : {2, 3, 4, 8, 29, 64}) {
        const std::string bruck = "hint-network:exchange=bruck,radix=" + std::to_string(radix);
        for (const Kind& kind : {kinds[0], kinds[2]}) prove(kind, bruck, text, ranks);
        prove(kinds[1], "hint-network:exchange=two-phase-bruck,radix=" + std::to_string(radix), text, ranks);
      }
      for (const char* const name : {"ring", "recursive-doubling", "mn-co"}) {
        prove(kinds[2], "hint-network:exchange=" + std::string(name), text, ranks);
      }
    }
  }
}

TEST(RoundsBetweenNodesTest, AThousandRanksAreProved) {
  const NodeMap nodes = map_for("ragged:1,30,64,7", 1000);
  const Parameters bruck = parameters_of("hint-network:exchange=bruck,radix=3");
  EXPECT_EQ(verify(build_all(hint_network, nodes, bruck), nodes, kinds[0].goal, 1).what, "");
  const Parameters uneven = parameters_of("hint-network:exchange=two-phase-bruck,radix=4", Collective::alltoallv);
  EXPECT_EQ(verify(build_all(hint_network, nodes, uneven), nodes, kinds[1].goal, 1).what, "");
}

int digits_that_move(int distance, int radix) {
  int moves = 0;
  for (; distance > 0; distance /= radix) moves += distance % radix > 0 ? 1 : 0;
  return moves;
}

struct Sums {
  std::uint64_t blocks = 0, sizes = 0, copied = 0, rounds = 0, messages = 0;  // the last two: the most of a rank
};
Sums sums_of(Build build, const NodeMap& nodes, const Parameters& parameters) {
  Sums sums;
  for (const Schedule& schedule : build_all(build, nodes, parameters)) {
    const Counts counts = count(schedule);
    sums.blocks += counts.blocks_sent;
    sums.sizes += counts.sizes_sent;
    sums.copied += counts.blocks_copied;
    sums.rounds = std::max(sums.rounds, counts.rounds);
    sums.messages = std::max(sums.messages, counts.messages);
  }
  return sums;
}

// A block between nodes is sent once for each digit of its distance that is not zero, and copied twice each time; one
// inside a node is copied once. There are no more rounds and messages than among all ranks.
TEST(RoundsBetweenNodesTest, BruckCostsWhatItsFileSays) {
  for (const char* const text : texts) {
    for (const int ranks : {2, 3, 8, 13, 16}) {
      for (const int radix : {2, 3, 5}) {
        const NodeMap nodes = map_for(text, ranks);
        std::uint64_t sent = 0, inside = 0;
        for (int from = 0; from < ranks; ++from) {
          for (int i = 0; i < ranks; ++i) {
            const bool stays = share_node(nodes, from, (from - i + ranks) % ranks);
            inside += stays ? 1 : 0;
            sent += stays ? 0 : static_cast<std::uint64_t>(digits_that_move(i, radix));
          }
        }
        const Parameters bruck = parameters_of("hint-network:exchange=bruck,radix=" + std::to_string(radix));
        const Sums sums = sums_of(hint_network, nodes, bruck);
        const Sums among_all = sums_of(zero_rotation_bruck, nodes, {{"radix", radix}});
        const std::string where = std::string(text) + " " + std::to_string(ranks) + " radix " + std::to_string(radix);
        EXPECT_EQ(sums.blocks, sent) << where;
        EXPECT_EQ(sums.copied, inside + 2 * sent) << where;
        EXPECT_LE(sums.rounds, among_all.rounds) << where;
        EXPECT_LE(sums.messages, among_all.messages) << where;
        const Parameters two_phase = parameters_of(
            "hint-network:exchange=two-phase-bruck,radix=" + std::to_string(radix), Collective::alltoallv);
        const Sums uneven = sums_of(hint_network, nodes, two_phase);
        EXPECT_EQ(uneven.blocks, sent) << where;
        EXPECT_LE(uneven.rounds, among_all.rounds) << where;
        EXPECT_EQ(uneven.sizes, sent) << where;
        if (nodes.nodes < ranks) continue;
        // With one rank a node it is that, but for the step inside the nodes.
        EXPECT_EQ(sums.rounds, among_all.rounds) << where;
        EXPECT_EQ(sums.messages, among_all.messages) << where;
        EXPECT_EQ(sums.blocks, among_all.blocks) << where;
      }
    }
  }
}

// Whatever passes a block on, no rank gets one of its own node, or one twice.
TEST(RoundsBetweenNodesTest, AnAllgatherBringsEachBlockOnce) {
  for (const char* const text : texts) {
    for (const int ranks : {2, 3, 8, 13}) {
      const NodeMap nodes = map_for(text, ranks);
      std::uint64_t missing = 0;
      for (int r = 0; r < ranks; ++r) {
        for (int s = 0; s < ranks; ++s) missing += share_node(nodes, r, s) ? 0 : 1;
      }
      for (const char* const name : {"bruck", "ring", "recursive-doubling"}) {
        const Parameters parameters =
            parameters_of("hint-network:exchange=" + std::string(name), Collective::allgather);
        const Sums sums = sums_of(allgather_hint_network, nodes, parameters);
        EXPECT_EQ(sums.blocks, missing) << name << " " << text << " " << ranks;
        const Sums among_all = sums_of(choose::find(Collective::allgather, name)->build, nodes, {});
        EXPECT_LE(sums.rounds, among_all.rounds) << name << " " << text << " " << ranks;
      }
    }
  }
}

TEST(RoundsBetweenNodesTest, TheExampleOfTheFile) {
  const NodeMap nodes = map_for("blocked:2", 4);
  EXPECT_EQ(draw(hint_network({4, 1, &nodes, parameters_of("hint-network:exchange=bruck,order=row")}), 1),
            "scratch 5 blocks\n"
            "round 0\n"
            "  fence of the node\n"
            "round 1\n"
            "  copy  send[1] of 0 -> recv[0]\n"
            "  copy  send[1] -> recv[1]\n"
            "  fence of the node\n"
            "round 2\n"
            "  copy  send[2] -> scratch[1]\n"
            "  send  to 0: scratch[1]\n"
            "  recv  from 2: scratch[3]\n"
            "  copy  scratch[3] -> recv[2]\n"
            "round 3\n"
            "  copy  send[3] -> scratch[1]\n"
            "  send  to 3: scratch[1]\n"
            "  recv  from 3: scratch[3]\n"
            "  copy  scratch[3] -> recv[3]\n");
}

// Requests on several nodes take the exchange alone, among all ranks.
TEST(RoundsBetweenNodesTest, AmongAllRanksItIsTheAlgorithmOfThatName) {
  const auto exchange = [](Collective collective, const char* text) {
    choose::Choice choice, found;
    EXPECT_EQ(choose::parse_choice(collective, text, choice), "");
    const std::string name = to_string(choose::inner_of(collective, choice));
    EXPECT_EQ(choose::parse_choice(collective, name, found), "") << name;
    return name;
  };
  EXPECT_EQ(exchange(Collective::alltoall, "hint-network:exchange=bruck,radix=5"), "zero-rotation-bruck:radix=5");
  EXPECT_EQ(exchange(Collective::allgather, "hint-network:exchange=bruck,radix=4"), "bruck:radix=4");
  EXPECT_EQ(exchange(Collective::allgatherv, "hint-network:exchange=mn-co"), "mn-co");
  EXPECT_EQ(exchange(Collective::alltoallv, "hint-network:exchange=waitall-stride,stride=3"),
            "waitall-stride:stride=3");
  EXPECT_EQ(exchange(Collective::alltoallw, "hint-network:exchange=two-phase-bruck,radix=3,eager=64"),
            "two-phase-bruck:radix=3,eager=64,monolithic=0");
  // The steps of an all-to-all are no allgather.
  choose::Choice stepwise;
  EXPECT_EQ(choose::parse_choice(Collective::allgather, "hint-network:exchange=pairwise", stepwise), "");
  EXPECT_EQ(choose::inner_of(Collective::allgather, stepwise).algorithm, nullptr);
}

TEST(HintNetworkTest, AThousandRanksAreProved) {
  const NodeMap nodes = map_for("ragged:1,30,64,7", 1000);
  EXPECT_EQ(verify(build_all(hint_network, nodes, {}), nodes, all_blocks, 1).what, "");
}

TEST(HintNetworkTest, BesideItIsTheOrderAlone) {
  const NodeMap nodes = map_for("ragged:3,2", 9);
  const Parameters beside = parameters_of("hint-network:exchange=waitall-stride,messages=beside,stride=2");
  const Problem by_parameters{9, 4, &nodes, beside, {}, 2}, plain{9, 4, &nodes, {}, {}, 2};
  EXPECT_EQ(draw(hint_network(by_parameters), 4), draw(hint_hilbert(plain), 4));
}

TEST(HintNetworkTest, TheExampleOfTheFile) {
  const NodeMap nodes = map_for("blocked:2", 4);
  EXPECT_EQ(draw(hint_network({4, 1, &nodes, parameters_of("hint-network:order=row")}), 1),
            "scratch 0 blocks\n"
            "round 0\n"
            "  fence of the node\n"
            "round 1\n"
            "  copy  send[1] of 0 -> recv[0]\n"
            "  copy  send[1] -> recv[1]\n"
            "  fence of the node\n"
            "round 2 (1 pair in flight, waited for together)\n"
            "  send  to 2: send[2]\n"
            "  send  to 3: send[3]\n"
            "  recv  from 3: recv[3]\n"
            "  recv  from 2: recv[2]\n");
  EXPECT_EQ(steps_of(hint_network({4, 1, &nodes, {}}), 1), "to 2:2 | to 3:3 from 3:3 | from 2:2 | 1");
}

// --- as printed -----------------------------------------------------------------------------------

std::string what_is_wrong_as_printed(const char* text, int ranks) {
  const NodeMap nodes = map_for(text, ranks);
  return verify(build_all(as_printed, nodes, {}), nodes, all_blocks).what;
}

TEST(HintNetworkTest, AsPrintedItServesEvenRoundRobinMapsAndSingleRanks) {
  EXPECT_EQ(what_is_wrong_as_printed("blocked:1", 6), "");
  EXPECT_EQ(what_is_wrong_as_printed("roundrobin:2", 6), "");
  EXPECT_EQ(what_is_wrong_as_printed("roundrobin:3", 6), "");
  EXPECT_EQ(what_is_wrong_as_printed("blocked:99", 6), "");
}

TEST(HintNetworkTest, AsPrintedItIsWrongElsewhere) {
  // Rank 0 sends to rank 1, since rank 3 is on another node; rank 1 does not receive, since rank 2 is on its own.
  EXPECT_THAT(what_is_wrong_as_printed("ragged:1,3", 4), HasSubstr("matching: "));
  EXPECT_THAT(what_is_wrong_as_printed("permuted:7", 8), HasSubstr("matching: "));
  EXPECT_THAT(what_is_wrong_as_printed("roundrobin:2", 5), HasSubstr("matching: "));
  // Nobody is left waiting, but blocks that were copied come again, and those of ranks 1 and 2 do not.
  EXPECT_NE(what_is_wrong_as_printed("blocked:2", 4), "");
  EXPECT_THAT(what_is_wrong_as_printed("blocked:2", 4), testing::Not(HasSubstr("matching: ")));
}

// --- broken by hand -------------------------------------------------------------------------------

std::string wrong_after(const char* map, int ranks, const std::function<void(std::vector<Schedule>&)>& change) {
  const NodeMap nodes = map_for(map, ranks);
  std::vector<Schedule> schedules = build_all(hint_network, nodes, {});
  EXPECT_EQ(verify(schedules, nodes, all_blocks).what, "");
  change(schedules);
  return verify(schedules, nodes, all_blocks).what;
}

// On other maps the messages alone may tell a rank that all of its node have copied: each hears from ranks that heard
// from them.
TEST(BrokenHintNetworkTest, NobodyWaitsForTheNode) {
  EXPECT_THAT(wrong_after("ragged:3,2", 5,
                          [](std::vector<Schedule>& all) {
                            for (Schedule& s : all) s.rounds[1].node_fence = false;
                          }),
              HasSubstr("may leave while rank"));
}

TEST(BrokenHintNetworkTest, ARankLeavesAStepOut) {
  EXPECT_THAT(wrong_after("roundrobin:2", 6, [](std::vector<Schedule>& all) { --all[4].rounds[2].sends.count; }),
              HasSubstr("matching: "));
}

TEST(BrokenHintNetworkTest, StepsInAnotherOrder) {
  EXPECT_THAT(wrong_after("roundrobin:2", 6,
                          [](std::vector<Schedule>& all) {
                            for (Schedule& s : all) {
                              const Range receives = s.rounds[2].receives;
                              std::reverse(s.messages.begin() + receives.first,
                                           s.messages.begin() + receives.first + receives.count);
                            }
                          }),
              HasSubstr("deadlock: "));
}

}  // namespace
}  // namespace quadrille::plan
