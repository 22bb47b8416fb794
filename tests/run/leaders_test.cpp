// Calls through leaders with ranks as threads: blocking ones, and requests in flight together with others, in a random
// order of steps, and freely.
#include "run/leaders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>

#include "choose/engines.hpp"
#include "choose/registry.hpp"
#include "fake_mpi.hpp"
#include "node_calls.hpp"
#include "threads_of_a_node.hpp"

namespace quadrille::test {
namespace {

constexpr const char* leaders_maps[] = {"blocked:2", "roundrobin:2", "ragged:1,3", "permuted:3",
                                        "blocked:3", "blocked:1",    "ragged:4,1", "blocked:8"};

NodeSettings settings_by_leaders(unsigned seed, plan::NodeMap& nodes) {
  NodeSettings settings;
  settings.ranks = 2 + static_cast<int>(seed % 7);
  EXPECT_EQ(plan::parse_node_map(leaders_maps[seed % std::size(leaders_maps)], settings.ranks, nodes), "");
  settings.node_of = nodes.node_of;
  settings.seed = seed;
  settings.drawn = drawn_steps() && seed / std::size(leaders_maps) % 4 != 3;
  return settings;
}

// A call by leaders, as all ranks draw it.
struct DrawnLeaders {
  DrawnCall call;
  plan::LeadersKind kind;
  plan::Parameters parameters;
};

DrawnLeaders draw_leaders(std::mt19937& random, std::uint32_t number, int ranks) {
  constexpr Collective all[] = {Collective::alltoall, Collective::alltoallv, Collective::allgather,
                                Collective::allgatherv};
  constexpr const char* orders[] = {"row", "rotated", "morton"};
  constexpr std::size_t pieces[] = {64, 100, 1024, 16384};
  const Collective collective = all[random() % std::size(all)];
  const plan::LeadersKind kind = choose::leaders_kind_of(collective);
  const auto exchanges = choose::find(collective, "leaders")->parameters.at(1).names;
  choose::Choice choice;
  std::string text = "leaders:leaders=" + std::to_string(1 + random() % 4);
  text += ",exchange=" + std::string(exchanges[random() % exchanges.size()]);
  text += ",piece=" + std::to_string(pieces[random() % std::size(pieces)]);
  if (random() % 3 == 0) text += ",group=" + std::to_string(1 + random() % 3);
  if (kind == plan::LeadersKind::uniform) text += ",order=" + std::string(orders[random() % std::size(orders)]);
  EXPECT_EQ(choose::parse_choice(collective, text, choice), "");
  // Turns cost time: large blocks go in large pieces.
  const std::size_t most = plan::value_of(choice.parameters, "piece", 0) < 1000 ? 120 : 1500;
  return {draw_call(random, number, ranks, collective, true, most), kind, choice.parameters};
}

// A request with all that it needs.
struct StartedLeaders {
  DrawnLeaders drawn;
  RankCall mine;
  plan::LeadersPlan plan;
  memory::Leaders own;  // if it has an area of its own
  run::LeadersWork work;
  run::LeadersRequest request;

  StartedLeaders(const DrawnLeaders& call, const plan::LeadersPlan& by, int me, run::Group& group,
                 memory::Leaders* lane, const memory::Leaders& area, int tag)
      : drawn(call),
        mine(drawn.call, me),
        plan(by),
        own(area),
        work(plan, group.messages().comm),
        request(mine.call(), plan, lane != nullptr ? *lane : own, work, tag, tag + 1, group) {}
};

class RankByLeaders {
 public:
  RankByLeaders(ThreadsOfANode& threads, const plan::NodeMap& nodes, int me, run::Group& group, unsigned seed)
      : threads_(threads),
        nodes_(nodes),
        me_(me),
        group_(group),
        random_(seed),
        alone_(seed * 64 + static_cast<unsigned>(me)) {}

  // The number of wrong bytes.
  std::size_t operator()(std::uint32_t number) { return random_() % 2 == 0 ? blocking(number) : started(number); }

 private:
  plan::LeadersPlan plan_of(const DrawnLeaders& drawn) const {
    return plan::leaders_plan({group_.ranks, me_, &nodes_, drawn.parameters, {}}, drawn.kind);
  }

  // What the calls of the same groups share.
  struct Areas {
    memory::Leaders blocking, lane;
  };
  Areas& area_of(const DrawnLeaders& drawn, const plan::LeadersPlan& plan) {
    const plan::NodeMap groups = plan::leaders_groups({group_.ranks, me_, &nodes_, drawn.parameters, {}});
    const auto [place, is_new] = areas_.try_emplace(groups.node_of);
    if (is_new) {
      for (memory::Leaders* one : {&place->second.blocking, &place->second.lane}) {
        *one = threads_.own_leaders(me_, plan, memory::Leaders::usual_parts);
      }
    }
    return place->second;
  }

  std::size_t blocking(std::uint32_t number) {
    const DrawnLeaders drawn = draw_leaders(random_, number, group_.ranks);
    RankCall mine(drawn.call, me_);
    mine.fill();
    const plan::LeadersPlan plan = plan_of(drawn);
    run::LeadersWork work(plan, group_.messages().comm);
    const int error = run::run_leaders(mine.call(), plan, area_of(drawn, plan).blocking, work, group_);
    return (error == mpi_success ? 0 : 1) + mine.wrong();
  }

  std::unique_ptr<StartedLeaders> make(std::uint32_t number, bool on_lane) {
    const DrawnLeaders drawn = draw_leaders(random_, number, group_.ranks);
    const plan::LeadersPlan plan = plan_of(drawn);
    std::size_t largest = SIZE_MAX;
    if (drawn.kind != plan::LeadersKind::uneven) {
      largest = 4 * *std::max_element(drawn.call.elements.begin(), drawn.call.elements.end());
    }
    memory::Leaders own;
    if (!on_lane) {
      own = threads_.own_leaders(me_, plan,
                                 largest == SIZE_MAX ? memory::Leaders::usual_parts : run::parts_for(plan, largest));
    }
    tag_ += 2;
    memory::Leaders* const lane = on_lane ? &area_of(drawn, plan).lane : nullptr;
    return std::make_unique<StartedLeaders>(drawn, plan, me_, group_, lane, own, tag_);
  }

  // Two requests that are started twice, and blocking calls while they are in flight. One is on the lane, where the
  // starts follow each other at once. Each rank polls them at its own times.
  std::size_t started(std::uint32_t number) {
    const std::unique_ptr<StartedLeaders> both[] = {make(number, true), make(number + 1'000'000, false)};
    std::size_t wrong = 0;
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      for (const auto& one : both) {
        one->mine.fill(turn);
        wrong += one->request.start() != mpi_success ? 1 : 0;
      }
      if (turn == 0) wrong += blocking(number + 2'000'000);
      group_.waiter.until([&] {
        const auto& one = both[alone_() % 2];
        wrong += one->request.advance() != mpi_success ? 1 : 0;
        return both[0]->request.done() && both[1]->request.done();
      });
      for (const auto& one : both) wrong += one->mine.wrong(turn);
    }
    return wrong;
  }

  ThreadsOfANode& threads_;
  const plan::NodeMap& nodes_;
  const int me_;
  run::Group& group_;
  std::mt19937 random_, alone_;              // the same on all ranks, or not
  std::map<std::vector<int>, Areas> areas_;  // [groups]
  int tag_ = 100;
};

TEST(Leaders, BringEveryByteInAnyOrderOfSteps) {
  constexpr std::uint32_t calls = 12;
#if defined(__SANITIZE_ADDRESS__)
  constexpr unsigned seeds = 28;
#else
  const unsigned seeds = drawn_steps() ? 56 : 28;  // 56: each number of ranks with each map
#endif
  for (unsigned seed = 0; seed < seeds; ++seed) {
    plan::NodeMap nodes;
    const NodeSettings settings = settings_by_leaders(seed, nodes);
    ThreadsOfANode threads(settings);
    const auto rank_of = [&](int me, run::Group& group) {
      return RankByLeaders(threads, nodes, me, group, seed * 7919 + 1);
    };
    ASSERT_EQ(wrong_in_calls(threads, calls, rank_of), "") << "seed " << seed << ", " << settings.ranks << " ranks";
  }
}

// Of a block to itself that is longer than expected a rank gets the first part, and an error.
TEST(Leaders, AnOwnBlockThatIsTooLongIsAnError) {
  constexpr int ranks = 4, ints = 2;
  NodeSettings settings;
  plan::NodeMap nodes;
  ASSERT_EQ(plan::parse_node_map("blocked:2", ranks, nodes), "");
  settings.ranks = ranks;
  settings.node_of = nodes.node_of;
  settings.drawn = drawn_steps();
  choose::Choice choice;
  ASSERT_EQ(choose::parse_choice(Collective::alltoallv, "leaders:leaders=1", choice), "");
  std::atomic<int> told{0}, wrong{0};
  ThreadsOfANode threads(settings);
  threads.run([&](int me, run::Group& group) {
    std::array<int, ranks * ints> sent{}, received{};
    sent.fill(me + 1);
    const std::array<MpiAint, ranks> places = {0, ints, 2 * ints, 3 * ints};
    std::array<MpiCount, ranks> sizes{}, expected{};
    sizes.fill(ints), expected.fill(ints);
    expected[static_cast<std::size_t>(me)] = 1;
    run::Call call;
    call.collective = Collective::alltoallv;
    for (run::Side* const side : {&call.send, &call.recv}) {
      const bool sends = side == &call.send;
      side->base = reinterpret_cast<std::byte*>(sends ? sent.data() : received.data());
      side->type = mpi().int_type;
      side->counts_large = sends ? sizes.data() : expected.data();
      side->displacements_large = places.data();
    }
    const plan::LeadersPlan plan =
        plan::leaders_plan({ranks, me, &nodes, choice.parameters, {}}, plan::LeadersKind::uneven);
    memory::Leaders area = threads.own_leaders(me, plan, memory::Leaders::usual_parts);
    run::LeadersWork work(plan, group.messages().comm);
    if (run::run_leaders(call, plan, area, work, group) == mpi().err_truncate) ++told;
    for (int i = 0; i < ranks * ints; ++i) {
      const int value = i == me * ints + 1 ? 0 : i / ints + 1;
      if (received[static_cast<std::size_t>(i)] != value) ++wrong;
    }
  });
  EXPECT_EQ(told.load(), ranks);
  EXPECT_EQ(wrong.load(), 0);
}

// The area of a persistent call has room for its largest block, or for as large a piece as that of all others.
TEST(Leaders, AnAreaOfItsOwnHasRoomForThePiecesOfItsBlocks) {
  plan::NodeMap nodes;
  ASSERT_EQ(plan::parse_node_map("ragged:3,5", 8, nodes), "");
  for (const Collective collective : {Collective::alltoall, Collective::allgather}) {
    for (const std::size_t largest : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
      choose::Choice choice;
      ASSERT_EQ(choose::parse_choice(collective, "leaders:leaders=2", choice), "");
      const plan::LeadersPlan plan =
          plan::leaders_plan({8, 3, &nodes, choice.parameters, {}}, choose::leaders_kind_of(collective));
      const memory::Leaders::Parts own = run::parts_for(plan, largest);
      const std::size_t usual = std::min(plan.piece, plan::most_a_place(plan, memory::Leaders::usual_parts));
      EXPECT_GE(plan::most_a_place(plan, own), std::min(largest, usual));
      EXPECT_LE(memory::Leaders::bytes(5, own), memory::Leaders::bytes(5));
    }
  }
}

TEST(Leaders, TakeASmallPartOfALimitedAddressSpace) {
  const std::size_t one = memory::Leaders::bytes(16);
  EXPECT_EQ(memory::Leaders::areas_within(SIZE_MAX, one, 32), 32U);
  EXPECT_EQ(memory::Leaders::areas_within(one * 16 * 5, one, 32), 5U);
  EXPECT_EQ(memory::Leaders::areas_within(one * 15, one, 32), 0U);
}

}  // namespace
}  // namespace quadrille::test
