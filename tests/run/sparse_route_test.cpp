// The routes of the sparse exchange by store and forward: all ranks in one loop, messages in a
// table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "run/sparse.hpp"

namespace quadrille::run {
namespace {

using Bytes = std::vector<std::byte>;

// A block of the pattern: who sent it, to whom, and which of the sender's it is.
struct Sent {
  int source, destination;
  Bytes data;
};

Bytes some_bytes(std::mt19937& random, std::size_t most) {
  Bytes data(random() % (most + 1));
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  return data;
}

std::vector<Sent> some_pattern(std::mt19937& random, int ranks) {
  std::vector<Sent> all;
  for (int source = 0; source < ranks; ++source) {
    const int blocks = static_cast<int>(random() % 6);
    for (int i = 0; i < blocks; ++i) {
      const int to = static_cast<int>(random() % static_cast<unsigned>(ranks));
      all.push_back({source, to, some_bytes(random, 40)});
    }
  }
  return all;
}

// All ranks of an exchange, in step.
struct World {
  int ranks, radix;
  std::vector<std::vector<Parcel>> held;
  std::vector<int> error;
  std::vector<std::unique_ptr<Bytes>> memory;
  std::size_t messages = 0;

  World(int p, int r, const std::vector<Sent>& pattern)
      : ranks(p), radix(r), held(static_cast<std::size_t>(p)), error(static_cast<std::size_t>(p)) {
    for (const Sent& s : pattern) {
      held[static_cast<std::size_t>(s.source)].push_back({s.source, s.destination, s.data.size(), s.data.data()});
    }
  }

  void run() {
    for (const SparseRound& round : sparse_rounds(ranks, radix)) step(round);
  }

  void step(const SparseRound& round) {
    std::map<std::pair<int, int>, Bytes*> under_way;  // from, to
    for (int me = 0; me < ranks; ++me) {
      auto& mine = held[static_cast<std::size_t>(me)];
      const auto by_hop = sort_by_hop(mine, me, ranks, round, radix);
      mine = by_hop[0];
      for (int z = 1; z <= round.hops; ++z) {
        const auto& parcels = by_hop[static_cast<std::size_t>(z)];
        memory.push_back(std::make_unique<Bytes>(message_bytes(parcels)));
        write_message(parcels, error[static_cast<std::size_t>(me)], memory.back()->data());
        const int to = rank_above(me, z * round.weight, ranks);
        EXPECT_TRUE(under_way.insert({{me, to}, memory.back().get()}).second);
        EXPECT_NE(me, to);
      }
    }
    messages += under_way.size();
    for (int me = 0; me < ranks; ++me) {
      for (int z = 1; z <= round.hops; ++z) {
        const int from = rank_below(me, z * round.weight, ranks);
        const auto found = under_way.find({from, me});
        ASSERT_NE(found, under_way.end()) << from << " sent nothing to " << me;
        const Bytes& message = *found->second;
        EXPECT_TRUE(read_message(message.data(), message.size(), held[static_cast<std::size_t>(me)],
                                 error[static_cast<std::size_t>(me)]));
        under_way.erase(found);
      }
    }
    EXPECT_TRUE(under_way.empty()) << "a message that nobody waits for";
  }
};

void expect_delivered(const World& world, const std::vector<Sent>& pattern) {
  for (int me = 0; me < world.ranks; ++me) {
    std::vector<const Sent*> expected;  // sorted by source, as the pattern is
    for (const Sent& s : pattern) {
      if (s.destination == me) expected.push_back(&s);
    }
    std::vector<Parcel> got = world.held[static_cast<std::size_t>(me)];
    std::stable_sort(got.begin(), got.end(), [](const Parcel& a, const Parcel& b) { return a.source < b.source; });
    ASSERT_EQ(got.size(), expected.size()) << "rank " << me << " of " << world.ranks;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].source, expected[i]->source);
      EXPECT_EQ(got[i].destination, me);
      EXPECT_EQ(Bytes(got[i].data, got[i].data + got[i].bytes), expected[i]->data);
    }
  }
}

std::vector<int> rank_numbers() {
  std::vector<int> numbers;
  for (int p = 1; p <= 20; ++p) numbers.push_back(p);
  numbers.push_back(33);
  return numbers;
}

TEST(SparseRoute, DeliversEveryPattern) {
  std::mt19937 random(1);
  for (const int ranks : rank_numbers()) {
    for (const int radix : {2, 3, 4, 7, 1 << 20}) {
      for (int turn = 0; turn < 5; ++turn) {
        const std::vector<Sent> pattern = some_pattern(random, ranks);
        World world(ranks, radix, pattern);
        world.run();
        expect_delivered(world, pattern);
        if (HasFailure()) FAIL() << ranks << " ranks, radix " << radix;
      }
    }
  }
}

TEST(SparseRoute, TellsEveryErrorToEveryRank) {
  for (const int ranks : rank_numbers()) {
    for (const int radix : {2, 3, 4, 7}) {
      for (int wrong = 0; wrong < ranks; ++wrong) {
        World world(ranks, radix, {});
        world.error[static_cast<std::size_t>(wrong)] = 7;
        world.error[0] = std::max(world.error[0], 3);
        world.run();
        EXPECT_EQ(world.error, std::vector<int>(static_cast<std::size_t>(ranks), 7))
            << ranks << " ranks, radix " << radix << ", wrong " << wrong;
      }
    }
  }
}

TEST(SparseRoute, TakesLogarithmicallyManyRounds) {
  const auto rounds = [](int p, int r) { return static_cast<int>(sparse_rounds(p, r).size()); };
  EXPECT_EQ(rounds(1, 2), 0);
  EXPECT_EQ(rounds(2, 2), 1);
  EXPECT_EQ(rounds(8, 2), 3);
  EXPECT_EQ(rounds(9, 2), 4);
  EXPECT_EQ(rounds(27, 3), 3);
  EXPECT_EQ(rounds(28, 3), 4);
  EXPECT_EQ(rounds(1000, 1 << 20), 1);
  EXPECT_EQ(rounds(2'000'000'000, 2), 31);
  EXPECT_EQ(rounds(2'000'000'000, 7), 12);
  World world(16, 4, {});
  world.run();
  EXPECT_EQ(world.messages, 16u * 2 * 3);
}

// Each rank is sent to at most once in all rounds: so one tag is enough for successive calls.
TEST(SparseRoute, NeverSendsTwiceToOneRank) {
  for (const int ranks : rank_numbers()) {
    for (const int radix : {2, 3, 4, 7, 100}) {
      std::set<int> distances;
      for (const SparseRound& round : sparse_rounds(ranks, radix)) {
        for (int z = 1; z <= round.hops; ++z) {
          EXPECT_TRUE(distances.insert(z * round.weight).second);
          EXPECT_LT(z * round.weight, ranks);
        }
      }
    }
  }
}

TEST(SparseRoute, GoesRoundTheCircle) {
  constexpr int many = 2'000'000'011;  // a sum of two ranks does not fit an int
  for (const int rank : {0, 1, many / 2, many - 1}) {
    for (const int distance : {1, many / 2, many - 1}) {
      const int above = rank_above(rank, distance, many);
      EXPECT_EQ(above, (std::int64_t{rank} + distance) % many);
      EXPECT_EQ(rank_below(above, distance, many), rank);
    }
  }
}

// The sizes of a message do not fit an int; nothing is written here.
TEST(SparseRoute, CountsBytesInSixtyFourBits) {
  const std::size_t large = std::size_t{3} << 30;
  const std::vector<Parcel> parcels = {{0, 1, large, nullptr}, {0, 1, large, nullptr}};
  EXPECT_EQ(message_bytes(parcels), 2 * large + 3 * 16);
  // A head that tells of more than the message holds is refused, however large.
  Bytes message(message_bytes({}) + 16);
  write_message({}, 0, message.data());
  const std::uint64_t one = 1, huge = ~std::uint64_t{0} - 8;
  std::memcpy(message.data(), &one, sizeof one);
  std::memcpy(message.data() + 24, &huge, sizeof huge);
  std::vector<Parcel> read;
  int error = 0;
  EXPECT_FALSE(read_message(message.data(), message.size(), read, error));
  EXPECT_FALSE(read_message(message.data(), 3, read, error));
}

}  // namespace
}  // namespace quadrille::run
