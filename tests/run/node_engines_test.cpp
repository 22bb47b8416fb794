// The engines of a node with ranks as threads, over all ways between them: in a drawn order of steps, and freely.
#include <gtest/gtest.h>

#include <atomic>

#include "choose/registry.hpp"
#include "node_calls.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "threads_of_a_node.hpp"

namespace quadrille::test {
namespace {

struct NamedReaches {
  const char* name;
  Reaches reaches;
  friend void PrintTo(const NamedReaches& one, std::ostream* out) { *out << one.name; }
};
// Where an attachment, a read or a write fails, the ring serves.
const NamedReaches all_reaches[] = {
    {"rings", {}},
    {"attach", {.attach = 100}},
    {"read", {.read = 100}},
    {"read_fails", {.read = 100, .cma_fails = 40}},
    {"write", {.write = 100}},
    {"write_fails", {.write = 100, .cma_fails = 40}},
    {"mixed", {.attach = 40, .read = 50, .write = 50, .attach_fails = 30, .cma_fails = 30}},
    {"attach_fails", {.attach = 100, .attach_fails = 25}},
};

NodeSettings settings_for(const Reaches& reaches, int ranks, unsigned seed) {
  NodeSettings settings;
  settings.ranks = ranks;
  settings.seed = seed;
  settings.reaches = reaches;
  settings.slot_limit = seed % 2 == 0 ? 64 : SIZE_MAX;
  settings.cma_from = seed % 4 == 0 ? 3000 : 0;
  settings.streams = seed % 3 == 0;
  settings.radix = static_cast<int>(seed / 5 % 4);  // 0: no tree
  settings.drawn = drawn_steps() && seed % 4 != 3;
  return settings;
}

Collective draw_collective(std::mt19937& random) {
  constexpr Collective all[] = {Collective::alltoall, Collective::alltoallv, Collective::allgather,
                                Collective::allgatherv};
  return all[random() % std::size(all)];
}

plan::Schedule order_of(std::mt19937& random, Collective collective, int ranks, int me) {
  constexpr const char* names[] = {"sh-co", "hint-hilbert", "hint-row", "hint-hilbert-square:rest=column"};
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(collective, names[random() % std::size(names)], choice), "");
  const plan::NodeMap nodes = plan::one_node(ranks);
  return choice.algorithm->build({ranks, me, &nodes, choice.parameters});
}

// Large enough for several turns of a ring of its own, and for slots and more.
constexpr std::size_t most_elements = 1500;

// What a rank does in one call; all ranks draw the same.
class OneRank {
 public:
  OneRank(ThreadsOfANode& node, int me, run::Group& group, unsigned seed)
      : node_(node), me_(me), group_(group), random_(seed), may_copy_(node.all_attach()) {}

  // The number of wrong bytes.
  std::size_t operator()(std::uint32_t number) {
    const Collective collective = draw_collective(random_);
    switch (random_() % 5) {
      case 0:
        return by_copies(number, collective);
      case 1:
        return by_inbox(number);
      case 2:
        return started(number, collective);
      default:
        return by_exchange(number, collective);
    }
  }

 private:
  using Run = std::function<int(const run::Call&)>;
  std::size_t checked(const DrawnCall& drawn, const Run& run) {
    RankCall mine(drawn, me_);
    mine.fill();
    return (run(mine.call()) == mpi_success ? 0 : 1) + mine.wrong();
  }

  std::size_t by_exchange(std::uint32_t number, Collective collective) {
    const DrawnCall drawn = draw_call(random_, number, group_.ranks, collective, true, most_elements);
    const choose::Way way = draw_way();
    return checked(drawn, [&](const run::Call& call) { return run::run_node(call, group_, true, nullptr, way); });
  }

  // Each rank its own: the others are told.
  choose::Way draw_way() { return static_cast<choose::Way>((random_() + static_cast<unsigned>(me_)) % 3); }

  std::size_t by_copies(std::uint32_t number, Collective collective) {
    if (!may_copy_) return by_exchange(number, collective);
    const DrawnCall drawn = draw_call(random_, number, group_.ranks, collective, true, most_elements);
    const plan::Schedule order = order_of(random_, collective, group_.ranks, me_);
    return checked(drawn,
                   [&](const run::Call& call) { return run::run_copies(call, order, group_, run::Staging::any); });
  }

  std::size_t by_inbox(std::uint32_t number) {
    const Collective collective = random_() % 2 == 0 ? Collective::alltoall : Collective::allgather;
    const std::size_t most = group_.reach().slot_limit / 4;
    const DrawnCall drawn = draw_call(random_, number, group_.ranks, collective, true, most);
    return checked(drawn, [&](const run::Call& call) { return run::run_inbox(call, group_); });
  }

  // A request that is started twice, with a blocking call while it is in flight. Ranks poll it at different times.
  std::size_t started(std::uint32_t number, Collective collective) {
    const bool by_inbox = random_() % 2 == 0 && is_sized(collective);
    const bool by_bytes = (random_() + static_cast<unsigned>(me_)) % 3 != 0;  // from outside both look the same
    if (!by_inbox && !group_.reach().rings) return by_exchange(number, collective);
    const std::size_t most = by_inbox ? group_.inbox.capacity() / 4 : most_elements;
    const DrawnCall drawn = draw_call(random_, number, group_.ranks, collective, true, most);
    const DrawnCall between = draw_call(random_, number + 1'000'000, group_.ranks, Collective::alltoallv, false, 300);
    RankCall mine(drawn, me_);
    const auto twice = [&](auto& request) {
      std::size_t wrong = 0;
      for (std::uint32_t turn = 0; turn < 2; ++turn) {
        mine.fill(turn);
        wrong += request.start() != mpi_success ? 1 : 0;
        wrong += checked(between, [&](const run::Call& call) { return run::run_node(call, group_, true); });
        group_.waiter.until([&] {
          wrong += request.advance() != mpi_success ? 1 : 0;
          return request.done();
        });
        wrong += mine.wrong(turn);
      }
      return wrong;
    };
    memory::Inbox inbox = node_.own_inbox(me_);
    if (by_inbox && by_bytes && run::is_plain(mine.call())) {
      run::InboxRun request(mine.call(), group_, inbox);
      return twice(request);
    }
    if (by_inbox) {
      return twice(*run::node_op(mine.call(), group_, inbox, nullptr, group_.copying));
    }
    memory::Pairs pairs = node_.own_pairs(me_, 1024);
    if (may_copy_ && random_() % 2 == 0) {
      const plan::Schedule order = order_of(random_, collective, group_.ranks, me_);
      return twice(*run::copies_op(mine.call(), order, group_, inbox, pairs, false));
    }
    return twice(*run::node_op(mine.call(), group_, inbox, &pairs, group_.copying, draw_way()));
  }

  ThreadsOfANode& node_;
  const int me_;
  run::Group& group_;
  std::mt19937 random_;  // the same on all ranks
  const bool may_copy_;
};

class NodeEngines : public testing::TestWithParam<NamedReaches> {};

TEST_P(NodeEngines, BringEveryByteInAnyOrderOfSteps) {
  constexpr std::uint32_t calls = 15;
  const unsigned seeds = drawn_steps() ? 24 : 8;  // a race shows soon
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 5);
    ThreadsOfANode node(settings_for(GetParam().reaches, ranks, seed));
    const auto rank_of = [&](int me, run::Group& group) { return OneRank(node, me, group, seed * 7919 + 1); };
    ASSERT_EQ(wrong_in_calls(node, calls, rank_of), "") << "seed " << seed << ", " << ranks << " ranks";
  }
}

// What a peer sends too much does not stay in the ring for the next call.
TEST(NodeRing, DropsTheRestOfABlockThatIsTooLong) {
  constexpr int expected = 2000;
  ThreadsOfANode node(settings_for({}, 2, 0));
  std::atomic<int> errors{0}, wrong{0};
  node.run([&](int me, run::Group& group) {
    for (int number = 0; number < 4; ++number) {
      const int sent = me == 0 && number == 0 ? expected + 500 : expected;
      const std::vector<std::byte> send(static_cast<std::size_t>(sent), static_cast<std::byte>(10 * number + me));
      std::vector<std::byte> recv(expected);
      const int sent_counts[] = {me == 1 ? sent : 0, me == 0 ? sent : 0}, from[] = {0, 0};
      const int expected_counts[] = {me == 1 ? expected : 0, me == 0 ? expected : 0};
      run::Call call{Collective::alltoallv, {}, {}};
      call.send.base = const_cast<std::byte*>(send.data()), call.recv.base = recv.data();
      call.send.type = call.recv.type = mpi().byte;
      call.send.counts = sent_counts, call.recv.counts = expected_counts;
      call.send.displacements = call.recv.displacements = from;
      const int error = run::run_node(call, group, true);
      errors += error == (me == 1 && number == 0 ? mpi().err_truncate : mpi_success) ? 0 : 1;
      for (const std::byte b : recv) wrong += b == static_cast<std::byte>(10 * number + 1 - me) ? 0 : 1;
    }
  });
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(wrong, 0);
}

// Without rings nothing replaces a write that fails: both ranks learn of it.
TEST(NodeExchange, AWriteThatFailsIsAnErrorOfBoth) {
  constexpr int bytes = 2000;
  ThreadsOfANode node(settings_for({.write = 100, .cma_fails = 100, .rings = false}, 2, 0));
  std::atomic<int> errors{0};
  node.run([&](int me, run::Group& group) {
    const std::vector<std::byte> send(bytes);
    std::vector<std::byte> recv(bytes);
    const int sent_counts[] = {0, me == 0 ? bytes : 0}, from[] = {0, 0};
    const int expected_counts[] = {me == 1 ? bytes : 0, 0};
    run::Call call{Collective::alltoallv, {}, {}};
    call.send.base = const_cast<std::byte*>(send.data()), call.recv.base = recv.data();
    call.send.type = call.recv.type = mpi().byte;
    call.send.counts = sent_counts, call.recv.counts = expected_counts;
    call.send.displacements = call.recv.displacements = from;
    errors += run::run_node(call, group, true) == mpi().err_other ? 1 : 0;
  });
  EXPECT_EQ(errors, 2);
}

INSTANTIATE_TEST_SUITE_P(All, NodeEngines, testing::ValuesIn(all_reaches),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quadrille::test
