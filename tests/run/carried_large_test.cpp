// Blocks of gibibytes through the carried executor, without the memory: a message layer that moves the heads of
// messages and counts the rest.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "choose/registry.hpp"
#include "run/executor.hpp"

namespace quadrille {
namespace {

constexpr std::size_t moved_at_most = 65536;  // the sizes at the head of a message are less

struct Posted {
  bool is_send;
  int peer;
  std::byte* at;
  std::size_t bytes;
  bool done = false;
};

struct Wires {
  std::vector<std::vector<Posted>> posted;  // [rank]
  std::vector<std::size_t> copied;          // [rank] bytes of blocks
};

class Phantom final : public run::Transport {
 public:
  Phantom(Wires& wires, int me) : wires_(wires), me_(static_cast<std::size_t>(me)) {}
  int start_send(std::size_t, int peer, std::span<const run::Place> places) override {
    wires_.posted[me_].push_back({true, peer, places[0].address, places[0].bytes});
    return 0;
  }
  int start_receive(std::size_t, int peer, std::span<const run::Place> places) override {
    wires_.posted[me_].push_back({false, peer, places[0].address, places[0].bytes});
    return 0;
  }
  int all_done(std::size_t, bool, bool& done) override {
    done = true;
    for (const Posted& p : wires_.posted[me_]) done = done && p.done;
    if (done) wires_.posted[me_].clear();
    return 0;
  }
  int any_done(std::size_t slots, bool, bool, std::size_t& slot) override {
    slot = slots;
    return 0;
  }
  int copy(const run::Place& from, const run::Place& to) override {
    EXPECT_EQ(from.bytes, to.bytes);
    wires_.copied[me_] += to.bytes;
    return 0;
  }

 private:
  Wires& wires_;
  std::size_t me_;
};

void deliver(Wires& wires) {
  for (std::size_t from = 0; from < wires.posted.size(); ++from) {
    for (Posted& send : wires.posted[from]) {
      if (!send.is_send || send.done) continue;
      for (Posted& receive : wires.posted[static_cast<std::size_t>(send.peer)]) {
        if (receive.is_send || receive.done || receive.peer != static_cast<int>(from)) continue;
        // With sizes a message may be shorter than its room.
        ASSERT_LE(send.bytes, receive.bytes);
        if (send.bytes > moved_at_most) {
          ASSERT_EQ(send.bytes, receive.bytes);
        }
        std::memcpy(receive.at, send.at, std::min(send.bytes, moved_at_most));
        send.done = receive.done = true;
        break;
      }
    }
  }
}

// A few huge blocks among small ones; the last hop of (0, 3) is its second of 4 ranks.
std::size_t size_of(int source, int destination) {
  if (source == 0 && destination == 3) return (std::size_t{5} << 30) + 3;
  if (source == 2 && destination == 1) return (std::size_t{2} << 30) + 1;
  return source == destination ? 0 : 70000;
}

// Something to take heads from; blocks begin at it, and nothing reads them to their end.
std::vector<std::byte>& ground() {
  static std::vector<std::byte> bytes(2 * moved_at_most);
  return bytes;
}

void run_huge(const std::string& text, const plan::NodeMap& nodes) {
  const int ranks = nodes.ranks();
  SCOPED_TRACE(testing::Message() << text << " on " << ranks << " ranks");
  choose::Choice choice;
  ASSERT_EQ(choose::parse_choice(Collective::alltoallv, text, choice), "");
  struct Rank {
    std::vector<run::Place> send, recv;
    plan::Schedule schedule;
    run::Binding binding;
    run::CarriedMemory memory;
    std::unique_ptr<Phantom> transport;
    std::unique_ptr<run::Execution> execution;
  };
  Wires wires{std::vector<std::vector<Posted>>(static_cast<std::size_t>(ranks)),
              std::vector<std::size_t>(static_cast<std::size_t>(ranks))};
  std::deque<Rank> all(static_cast<std::size_t>(ranks));
  for (int me = 0; me < ranks; ++me) {
    Rank& r = all[static_cast<std::size_t>(me)];
    for (int p = 0; p < ranks; ++p) {
      r.send.push_back({ground().data(), size_of(me, p), size_of(me, p), 0, true});
      r.recv.push_back({ground().data() + moved_at_most, size_of(p, me), size_of(p, me), 0, true});
    }
    r.schedule = choice.algorithm->build({ranks, me, &nodes, choice.parameters});
    r.binding.send = r.send;
    r.binding.recv = r.recv;
    r.transport = std::make_unique<Phantom>(wires, me);
    const auto eager = static_cast<std::size_t>(plan::value_of(choice.parameters, "eager", 0));
    r.execution =
        std::make_unique<run::Execution>(r.schedule, r.binding, *r.transport, r.memory, run::CarriedLimits{eager});
  }
  bool done = false;
  for (int turn = 0; turn < 100 && !done; ++turn) {
    done = true;
    for (Rank& r : all) {
      ASSERT_EQ(r.execution->advance(false), 0);
      done = done && r.execution->done();
    }
    deliver(wires);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(done);
  // Each rank copied at least what came to it for good.
  for (int me = 0; me < ranks; ++me) {
    std::size_t came = 0;
    for (int p = 0; p < ranks; ++p) came += p == me ? 0 : size_of(p, me);
    EXPECT_GE(wires.copied[static_cast<std::size_t>(me)], came) << "rank " << me;
  }
}

TEST(CarriedLarge, SizesAboveFourGibibytes) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "address space for blocks that are not there";
#endif
  for (const char* text : {"two-phase-bruck", "two-phase-bruck:radix=3", "two-phase-bruck:eager=0", "sloav"}) {
    for (const int ranks : {4, 5}) run_huge(text, plan::one_node(ranks));
  }
  for (const char* text : {"tuna-hierarchical", "tuna-hierarchical:exchange=staggered,burst=2,eager=0"}) {
    for (const char* map : {"blocked:5", "blocked:2", "roundrobin:2", "ragged:1,3"}) {
      plan::NodeMap nodes;
      ASSERT_EQ(plan::parse_node_map(map, 5, nodes), "");
      run_huge(text, nodes);
    }
  }
}

}  // namespace
}  // namespace quadrille
