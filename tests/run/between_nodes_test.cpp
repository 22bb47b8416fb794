// The engines of a node beside messages between nodes, with ranks as threads: the messages of the plan, in batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "choose/registry.hpp"
#include "fake_mpi.hpp"
#include "node_calls.hpp"
#include "run/engines.hpp"
#include "threads_of_a_node.hpp"

namespace quadrille::test {
namespace {

constexpr const char* maps[] = {"roundrobin:2", "blocked:2", "ragged:1,3", "permuted:3", "blocked:1", "ragged:4,1"};

struct Where {
  plan::NodeMap nodes;
  int steps;
};

NodeSettings settings_for(unsigned seed, Where& where) {
  NodeSettings settings;
  settings.ranks = 3 + static_cast<int>(seed % 5);
  EXPECT_EQ(plan::parse_node_map(maps[seed % std::size(maps)], settings.ranks, where.nodes), "");
  constexpr int steps[] = {2, 1, 3, plan::standard_away_steps};
  where.steps = steps[seed / 2 % std::size(steps)];
  settings.node_of = where.nodes.node_of;
  settings.seed = seed;
  settings.reaches.attach = seed % 2 == 0 ? 100 : 0;
  settings.reaches.attach_fails = seed % 4 == 2 ? 25 : 0;
  settings.reaches.read = seed % 3 == 0 ? 100 : 0;
  settings.reaches.cma_fails = seed % 6 == 3 ? 40 : 0;
  settings.slot_limit = seed % 3 == 1 ? 64 : SIZE_MAX;
  settings.drawn = drawn_steps() && seed % 4 != 3;
  return settings;
}

plan::Schedule plan_of(const char* name, Collective collective, const Where& where, int me) {
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(collective, name, choice), "");
  return choice.algorithm->build({where.nodes.ranks(), me, &where.nodes, choice.parameters, {}, where.steps});
}

std::size_t call(std::mt19937& random, std::uint32_t number, const Where& where, bool may_copy, int me,
                 run::Group& group) {
  constexpr Collective all[] = {Collective::alltoall, Collective::alltoallv, Collective::allgather,
                                Collective::allgatherv};
  constexpr const char* orders[] = {"sh-co",
                                    "hint-hilbert",
                                    "hint-row",
                                    "hint-hilbert-square:rest=morton",
                                    "hint-network",
                                    "hint-network:exchange=spread-out,order=row",
                                    "hint-network:exchange=waitany-stride,order=column,stride=2",
                                    "hint-network:exchange=waitall-stride,messages=beside,stride=3",
                                    "hint-network:exchange=testany-stride,stride=2"};
  const Collective collective = all[random() % std::size(all)];
  constexpr const char* passed_on[] = {"hint-network:exchange=bruck", "hint-network:exchange=bruck,order=row,radix=3"};
  constexpr const char* uneven[] = {"hint-network:exchange=two-phase-bruck",
                                    "hint-network:exchange=two-phase-bruck,order=row,radix=3"};
  constexpr const char* gathered[] = {"hint-network:exchange=bruck,radix=3", "hint-network:exchange=ring",
                                      "hint-network:exchange=recursive-doubling,order=column",
                                      "hint-network:exchange=mn-co"};
  const char* order = orders[random() % std::size(orders)];
  if (random() % 3 == 0 && collective == Collective::alltoall) order = passed_on[random() % std::size(passed_on)];
  if (random() % 3 == 0 && collective == Collective::alltoallv) order = uneven[random() % std::size(uneven)];
  if (random() % 3 == 0 && is_allgather(collective)) order = gathered[random() % std::size(gathered)];
  const bool copies = random() % 2 == 0 && may_copy;
  const DrawnCall drawn = draw_call(random, number, group.ranks, collective, true, 1500);
  RankCall mine(drawn, me);
  mine.fill();
  const plan::Schedule schedule = plan_of(copies ? order : "single-copy", collective, where, me);
  const std::size_t eager = number % 3 == 0 ? 0 : 1000;
  const int error = copies ? run::run_copies(mine.call(), schedule, group, run::Staging::any, eager)
                           : run::run_node(mine.call(), group, true, &schedule);
  return (error == mpi_success ? 0 : 1) + mine.wrong();
}

TEST(BetweenNodes, BringEveryByteInBatches) {
  constexpr std::uint32_t calls = 12;
  const unsigned seeds = drawn_steps() ? 60 : 12;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Where where;
    const NodeSettings settings = settings_for(seed, where);
    ThreadsOfANode ranks(settings);
    const bool may_copy = ranks.all_attach();
    const auto rank_of = [&](int me, run::Group& group) {
      std::mt19937 random(seed * 7919 + 1);  // the same on all ranks
      return [&where, &group, may_copy, me, random](std::uint32_t number) mutable {
        return call(random, number, where, may_copy, me, group);
      };
    };
    ASSERT_EQ(wrong_in_calls(ranks, calls, rank_of), "")
        << "seed " << seed << ", " << settings.ranks << " ranks, " << where.steps << " steps";
  }
}

// Rank 2 comes late: its node's other rank has not begun a message before, if they follow the copies.
TEST(BetweenNodes, MessagesFollowTheNodeOrNot) {
  constexpr int ranks = 4;
  for (const bool beside : {false, true}) {
    Where where;
    ASSERT_EQ(plan::parse_node_map("roundrobin:2", ranks, where.nodes), "");
    where.steps = plan::standard_away_steps;
    NodeSettings settings;
    settings.ranks = ranks;
    settings.node_of = where.nodes.node_of;
    settings.reaches.attach = 100;
    settings.drawn = false;
    ThreadsOfANode threads(settings);
    const std::size_t before = messages_begun(0);
    std::atomic<std::size_t> wrong{0}, begun{0};
    threads.run([&](int me, run::Group& group) {
      if (me == 2) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(beside ? 10000 : 50);
        while (begun == 0 && std::chrono::steady_clock::now() < end) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          begun = messages_begun(0) - before;
        }
      }
      std::mt19937 random(5);
      const DrawnCall drawn = draw_call(random, 1, ranks, Collective::alltoall, true, 100);
      RankCall mine(drawn, me);
      mine.fill();
      const plan::Schedule schedule =
          plan_of(beside ? "hint-network:messages=beside" : "hint-network", Collective::alltoall, where, me);
      const int error = run::run_copies(mine.call(), schedule, group, run::Staging::any);
      wrong += (error == mpi_success ? 0U : 1U) + mine.wrong();
    });
    EXPECT_EQ(wrong.load(), 0U);
    EXPECT_EQ(begun.load() > 0, beside);
    EXPECT_EQ(messages_begun(0) - before, 4U);
  }
}

// What is wrong on all ranks where `sent(from, to)` bytes are sent, one more than expected at most. An error is right
// on a rank to which more are sent; of a block of fewer bytes the rest is left alone.
template <class Sent, class Run>
int wrong_where(const Where& where, Sent sent, Run run) {
  constexpr int expected = 3;
  const int ranks = where.nodes.ranks();
  NodeSettings settings;
  settings.ranks = ranks;
  settings.node_of = where.nodes.node_of;
  settings.drawn = drawn_steps();
  ThreadsOfANode threads(settings);
  std::atomic<int> wrong{0};
  threads.run([&](int me, run::Group& group) {
    const auto blocks = static_cast<std::size_t>(ranks);
    std::vector<std::byte> out(blocks * (expected + 1)), in(blocks * expected, std::byte{0xEE});
    std::vector<MpiCount> counts, given(blocks, expected);
    std::vector<MpiAint> from, to;
    bool too_long = false;
    for (int r = 0; r < ranks; ++r) {
      counts.push_back(sent(me, r));
      from.push_back(r * (expected + 1));
      to.push_back(r * expected);
      too_long = too_long || sent(r, me) > expected;
      std::fill_n(out.begin() + from.back(), expected + 1, static_cast<std::byte>(me * 8 + r));
    }
    run::Call call{Collective::alltoallv, {}, {}, false, {}};
    call.send.base = out.data(), call.recv.base = in.data();
    call.send.type = call.recv.type = mpi().byte;
    call.send.counts_large = counts.data(), call.recv.counts_large = given.data();
    call.send.displacements_large = from.data(), call.recv.displacements_large = to.data();
    wrong += run(call, group, me) == (too_long ? mpi().err_truncate : mpi_success) ? 0 : 1;
    for (int r = 0; r < ranks; ++r) {
      if (sent(r, me) > expected) continue;
      for (int i = 0; i < expected; ++i) {
        const auto byte = i < sent(r, me) ? static_cast<std::byte>(r * 8 + me) : std::byte{0xEE};
        wrong += in[static_cast<std::size_t>(r * expected + i)] == byte ? 0 : 1;
      }
    }
  });
  return wrong.load();
}

// A message that is longer than its block is an error of who receives it. The rest of the call is done, as the others
// wait for it.
TEST(BetweenNodes, AMessageLongerThanItsBlockEndsNothing) {
  Where where;
  ASSERT_EQ(plan::parse_node_map("roundrobin:2", 6, where.nodes), "");
  where.steps = 2;
  const auto sent = [](int from, int to) { return from == 0 && to == 1 ? 4 : 3; };  // in the first batch
  EXPECT_EQ(wrong_where(where, sent,
                        [&](const run::Call& call, run::Group& group, int me) {
                          const plan::Schedule schedule = plan_of("single-copy", Collective::alltoallv, where, me);
                          return run::run_node(call, group, true, &schedule);
                        }),
            0);
}

// Between nodes blocks travel with others: a block of another size than its receiver expects shifts none of them. The
// last message for rank 1 has the blocks of ranks 6 and 0; that for rank 3 has one of rank 6 for rank 7 as well.
TEST(BetweenNodes, ABlockOfAnotherSizeShiftsNoOther) {
  Where where;
  ASSERT_EQ(plan::parse_node_map("roundrobin:2", 8, where.nodes), "");
  where.steps = plan::standard_away_steps;
  const auto sent = [](int from, int to) { return from != 6 ? 3 : to == 1 ? 4 : to == 3 ? 2 : 3; };
  for (const std::size_t eager : {0, 1000}) {
    EXPECT_EQ(wrong_where(where, sent,
                          [&](const run::Call& call, run::Group& group, int me) {
                            const plan::Schedule schedule =
                                plan_of("hint-network:exchange=two-phase-bruck", Collective::alltoallv, where, me);
                            return run::run_copies(call, schedule, group, run::Staging::any, eager);
                          }),
              0)
        << "eager " << eager;
  }
}

}  // namespace
}  // namespace quadrille::test
