// What is chosen for neighbours: combined messages or direct ones, and orders of copies inside a node.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "choose/select.hpp"

namespace quadrille::choose {
namespace {

// 8 neighbours in 4 messages and 12 blocks: the cut-off is alpha / beta, 1024 bytes.
TEST(Select, CombinesBlocksOfNeighboursBelowTheCutOff) {
  const Algorithm* torus = find(Collective::neighbor_alltoall, "torus");
  const CombiningCosts costs = {8, {{torus, 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 1023, &costs};
  const auto name = [&](const char* forced = nullptr) {
    return select_neighbors(k, forced != nullptr ? plain(k.collective, forced) : Choice()).choice.algorithm->name;
  };
  EXPECT_EQ(name(), "torus");
  EXPECT_EQ(name("direct"), "direct");
  k.bytes = 1024;
  EXPECT_EQ(name(), "mpi");
  EXPECT_EQ(name("torus"), "torus");
  k.bytes = 8, k.rounds_are_cheap = false;
  EXPECT_EQ(name(), "mpi");
  k.by_ourselves = true;
  EXPECT_EQ(name(), "direct");
  k.sizes_known = false;
  EXPECT_EQ(name("torus"), "direct");
  EXPECT_EQ(name("straightforward"), "straightforward");
  k.isomorphic = false;
  EXPECT_EQ(name("straightforward"), "direct");
  EXPECT_EQ(name("rings"), "direct");
  k.in_node = true;
  EXPECT_EQ(name(), "rings");
  EXPECT_EQ(name("rings"), "rings");
  EXPECT_EQ(name("direct"), "direct");
  EXPECT_EQ(name("sh-co"), "rings");
  k.load_store = true;
  EXPECT_EQ(name("sh-co"), "sh-co");
  EXPECT_EQ(name(), "rings");
}

// Alpha / beta of the model takes the place of the 1024 bytes; waiting counts against each round but the first.
TEST(Select, CombinesBlocksOfNeighboursBelowTheCutOffOfTheModel) {
  const CombiningCosts costs = {8, {{find(Collective::neighbor_alltoall, "torus"), 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 0, &costs};
  const auto combines = [&](std::size_t bytes) {
    k.bytes = bytes;
    return select_neighbors(k, {}).choice.algorithm->name == "torus";
  };
  k.machine = {20e-6, 1e-9, 0};
  EXPECT_TRUE(combines(19999)) << "above what is combined without a model";
  EXPECT_FALSE(combines(20000));
  EXPECT_EQ(select_neighbors((k.bytes = 8, k), {}).why.then.at(0).reason, Reason::combining_modelled);
  k.rounds_are_cheap = false;
  EXPECT_TRUE(combines(19999)) << "the model knows what waiting costs";
  k.machine = {20e-9, 1e-9, 0};
  EXPECT_TRUE(combines(19));
  EXPECT_FALSE(combines(20));
  k.machine.rho = 27e-9;
  EXPECT_FALSE(combines(1));
  k.machine.rho = 20e-9;
  EXPECT_TRUE(combines(4));
  EXPECT_FALSE(combines(5));
  k.machine = {1e-6, 0, 0};
  EXPECT_TRUE(combines(8191)) << "bytes are said to cost nothing";
  EXPECT_FALSE(combines(8192));
  k.machine = {0, 0, 0, 0, 1e-6};
  EXPECT_FALSE(combines(1)) << "messages are";
}

// What was measured comes before the model and before what is known without one, both ways; what is forced before that.
TEST(Select, CombinesBlocksOfNeighboursAsMeasured) {
  const Algorithm *torus = find(Collective::neighbor_alltoall, "torus"),
                  *straight = find(Collective::neighbor_alltoall, "straightforward");
  const CombiningCosts costs = {8, {{straight, 8, 8}, {torus, 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoallv, false, true, false, false, true, true, 0, &costs};
  const auto name = [&](std::size_t bytes, const Choice& forced = {}) {
    k.bytes = bytes;
    return select_neighbors(k, forced).choice.algorithm->name;
  };
  std::vector<NeighborEntry> measured = {{Collective::neighbor_alltoall, 4, 1, false, {8, 4, 12}, 100000}};
  k.measured = measured;
  for (const double alpha : {0.0, 1e-9}) {  // without a model, and with one that is against combining
    k.machine = {alpha, alpha, 0};
    EXPECT_EQ(name(100000), "torus");
    EXPECT_EQ(name(100001), "mpi");
  }
  EXPECT_EQ(name(100001, plain(k.collective, "torus")), "torus");
  EXPECT_EQ(name(8, plain(k.collective, "direct")), "direct");
  EXPECT_EQ(select_neighbors((k.bytes = 8, k), {}).why.then.at(0).reason, Reason::combining_measured);
  k.rounds_are_cheap = false;
  EXPECT_EQ(name(100000), "torus") << "measured where ranks share processors";
  k.rounds_are_cheap = true;
  measured[0].largest_combined = 0;
  for (const double alpha : {0.0, 1.0}) {
    k.machine = {alpha, 1e-9, 0};
    EXPECT_EQ(name(1), "mpi");
  }
  k.machine = {};
  measured[0].collective = Collective::neighbor_allgather;
  EXPECT_EQ(name(8), "torus") << "of another collective";
}

TEST(Select, TheNearestKindOfNeighbourhoodCounts) {
  const Collective c = Collective::neighbor_alltoall;
  const std::vector<NeighborEntry> measured = {{c, 4, 1, false, {26, 6, 54}, 1},
                                               {c, 4, 1, false, {8, 4, 12}, 2},
                                               {Collective::neighbor_allgather, 4, 1, false, {8, 4, 8}, 3}};
  const auto largest = [&](Collective of, const NeighborhoodKind& kind) {
    const NeighborEntry* found = nearest_kind(std::span<const NeighborEntry>(measured), of, kind);
    return found == nullptr ? std::size_t{0} : found->largest_combined;
  };
  EXPECT_EQ(largest(c, {26, 6, 54}), 1U);
  EXPECT_EQ(largest(c, {20, 6, 40}), 1U);
  EXPECT_EQ(largest(c, {10, 4, 14}), 2U);
  EXPECT_EQ(largest(Collective::neighbor_alltoallw, {10, 4, 14}), 2U);
  EXPECT_EQ(largest(Collective::neighbor_allgatherv, {8, 4, 8}), 3U);
  EXPECT_EQ(largest(c, {60, 6, 54}), 0U) << "more than twice as many";
  EXPECT_EQ(largest(c, {8, 1, 12}), 0U);
  NeighborhoodKind kind;
  EXPECT_FALSE(kind_of({4, {{nullptr, 4, 4}, {nullptr, 5, 4}}}, kind));
  EXPECT_TRUE(kind_of({8, {{nullptr, 8, 8}, {nullptr, 4, 14}, {nullptr, 4, 12}, {nullptr, 5, 8}}}, kind));
  EXPECT_EQ(kind, (NeighborhoodKind{8, 4, 12}));
  EXPECT_TRUE(kind_of({4, {{nullptr, 4, 4}, {nullptr, 5, 4}}}, kind, 0)) << "nothing to combine";
  EXPECT_EQ(kind, (NeighborhoodKind{4, 4, 4}));
  EXPECT_FALSE(kind_of({0, {{nullptr, 0, 0}}}, kind, 0)) << "nobody to send to";
}

// Of a near kind of neighbourhood, where all ranks know the sizes and reach each other; what is forced comes first.
TEST(Select, CopiesInsideANodeInTheMeasuredOrder) {
  const Collective c = Collective::neighbor_alltoall;
  const CombiningCosts costs = {4, {{find(c, "torus"), 4, 4}}};  // nothing to combine
  const std::vector<InsideEntry> inside = {{c, 4, false, {4, 4, 4}, {{100, {}}, {1000, plain(c, "sh-co")}}}};
  NeighborKey k{c, false, false, true, true, true, true, 0, &costs};
  k.inside = inside;
  const auto name = [](const NeighborKey& key, const char* forced = nullptr) {
    return select_neighbors(key, forced != nullptr ? plain(key.collective, forced) : Choice()).choice.algorithm->name;
  };
  const auto with = [&](std::size_t bytes, auto change) {
    NeighborKey changed = k;
    changed.bytes = bytes;
    change(changed);
    return name(changed);
  };
  const auto as_it_is = [](NeighborKey&) {};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1001}}) {
    EXPECT_EQ(with(bytes, as_it_is), "rings") << bytes;
  }
  EXPECT_EQ(with(101, as_it_is), "sh-co");
  EXPECT_EQ(with(1000, as_it_is), "sh-co");
  for (const Collective form : {Collective::neighbor_alltoallv, Collective::neighbor_alltoallw}) {
    EXPECT_EQ(with(1000, [&](NeighborKey& key) { key.collective = form; }), "sh-co");
  }
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.collective = Collective::neighbor_allgather; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.load_store = false; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.sizes_known = false; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.costs = nullptr; }), "rings") << "a graph that is no grid";
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.in_node = false; }), "mpi");
  const CombiningCosts others = {9, {{find(c, "torus"), 4, 4}}};
  EXPECT_EQ(with(1000, [&](NeighborKey& key) { key.costs = &others; }), "rings") << "another kind";
  k.bytes = 1000;
  for (const char* forced : {"rings", "direct", "sh-naive", "mpi"}) EXPECT_EQ(name(k, forced), forced);
  EXPECT_EQ(select_neighbors(k, {}).why.reason, Reason::measured_in_a_node);
}

// Rounds that wait for each other are no gain over hardly more messages at once.
TEST(Select, CombinesOnlyIfThatHalvesTheMessages) {
  const Algorithm* basis = find(Collective::neighbor_alltoall, "basis");
  const auto name = [&](std::int64_t neighbors, std::int64_t rounds) {
    const CombiningCosts costs = {neighbors, {{basis, rounds, neighbors + 2}}};
    const NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 8, &costs};
    return select_neighbors(k, Choice()).choice.algorithm->name;
  };
  EXPECT_EQ(name(4, 3), "mpi");
  EXPECT_EQ(name(6, 4), "mpi");
  EXPECT_EQ(name(6, 3), "basis");
}

}  // namespace
}  // namespace quadrille::choose
