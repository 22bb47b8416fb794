// Where a few ranks of a few nodes are alike all are, and one node gives the times of all.
#include <gtest/gtest.h>

#include <numeric>

#include "cases.hpp"
#include "lab/simulate/rivals.hpp"

namespace quadrille::simulate {
namespace {

using enum Collective;

struct Layout {
  int nodes, per_node;
};

std::vector<std::string> candidates(Collective collective, const plan::NodeMap& map) {
  std::vector<std::string> list;
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (!choose::serves(algorithm, collective) || !why_not({&algorithm, {}}, map).empty()) continue;
    const std::string name(algorithm.name);
    list.push_back(name);
    for (const choose::ParameterRange& range : algorithm.parameters) {
      if (range.name == "exchange") {
        for (const std::string_view value : range.names) list.push_back(fmt::format("{}:exchange={}", name, value));
      }
      if (range.name == "radix") list.push_back(fmt::format("{}:radix=3", name));
      if (range.name == "leaders") list.push_back(fmt::format("{}:leaders=2", name));
    }
  }
  return list;
}

std::vector<int> all_up_to(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void all_are_alike(Collective collective, Layout layout) {
  const plan::NodeMap map = map_of(layout.nodes * layout.per_node, fmt::format("blocked:{}", layout.per_node));
  int alike = 0;
  for (const std::string& name : candidates(collective, map)) {
    const Asked asked = asked_for(collective, name, map);
    const Alike some = alike_of(asked);
    const auto program = [&](int rank) { return program_of(asked, rank); };
    if (some == Alike::not_known) continue;
    ++alike;
    EXPECT_EQ(alike_at(program, map, all_up_to(layout.nodes), all_up_to(layout.per_node)), some)
        << name << ", " << layout.nodes << " x " << layout.per_node;
  }
  EXPECT_GT(alike, 5);
}

TEST(Crowd, WhereSomeRanksAreAlikeAllAre) {
  for (const Collective collective : {alltoall, alltoallv, allgather}) {
    for (const Layout layout : {Layout{2, 3}, {4, 4}, {8, 4}, {6, 5}, {9, 2}, {16, 1}, {12, 1}, {15, 4}, {16, 8}}) {
      all_are_alike(collective, layout);
    }
  }
}

TEST(Crowd, WhereSomeOf1024RanksAreAlikeAllAre) {
  all_are_alike(alltoall, {32, 32});
  all_are_alike(allgather, {64, 16});
}

void same_times(const Asked& asked, const Network& network, double bytes) {
  Asked one_node = asked;
  one_node.every_rank = false;
  Crowd some, all;
  ASSERT_EQ(gather(one_node, some), "");
  ASSERT_EQ(gather(asked, all), "");
  if (!some.one_node) return;
  ASSERT_FALSE(all.one_node);
  const Outcome few = Engine(some).run(network, {bytes, bytes}), every = Engine(all).run(network, {bytes, bytes});
  const std::string what =
      fmt::format("{}, {} ranks, {} bytes", choose::to_string(asked.choice), asked.map.ranks(), bytes);
  EXPECT_EQ(few.problem, "") << what;
  EXPECT_EQ(every.problem, "") << what;
  EXPECT_EQ(few.seconds, every.seconds) << what;
  EXPECT_EQ(few.first_seconds, every.first_seconds) << what;
  const auto nodes = static_cast<std::uint64_t>(asked.map.nodes);
  EXPECT_EQ(few.messages * nodes, every.messages) << what;
  EXPECT_EQ(few.bytes * nodes, every.bytes) << what;
  EXPECT_EQ(few.events * nodes, every.events) << what;
}

Network named(const char* name) {
  Network network;
  EXPECT_EQ(read_network(name, network), "");
  return network;
}

TEST(Crowd, OneNodeGivesTheTimesOfAll) {
  for (const Collective collective : {alltoall, alltoallv, allgather}) {
    for (const Layout layout : {Layout{4, 4}, {6, 5}, {16, 1}, {8, 8}}) {
      const plan::NodeMap map = map_of(layout.nodes * layout.per_node, fmt::format("blocked:{}", layout.per_node));
      for (const std::string& name : candidates(collective, map)) {
        const Asked asked = asked_for(collective, name, map);
        for (const double bytes : {8.0, 2000.0}) {
          same_times(asked, named("slingshot"), bytes);
          same_times(asked, plain_network(), bytes);  // where much happens at one time
        }
      }
    }
  }
}

TEST(Crowd, OneNodeGivesTheTimesOfAllOf1024Ranks) {
  for (const auto& [collective, name] : {std::pair(alltoall, "zero-rotation-bruck:radix=4"),
                                         {alltoall, "basic-bruck"},
                                         {alltoall, "leaders:leaders=32"},
                                         {alltoall, "leaders"},
                                         {alltoall, "tuna-hierarchical"},
                                         {alltoallv, "two-phase-bruck:radix=4"},
                                         {alltoallv, "waitall-stride:stride=32"},
                                         {alltoall, "spread-out"},
                                         {alltoall, "hint-network"},
                                         {alltoall, "single-copy"},
                                         {allgather, "bruck"},
                                         {allgather, "recursive-doubling"},
                                         {allgather, "leaders:leaders=32"},
                                         {allgather, "ring"}}) {
    same_times(asked_for(collective, name, map_of(1024, "blocked:32")), named("slingshot"), 64);
  }
}

TEST(Crowd, ProcessorsThatRanksShare) {
  Network network = plain_network();
  network.processors = 2;
  network.turn = 30;
  for (const char* name : {"spread-out", "leaders:leaders=2", "zero-rotation-bruck", "hint-row"}) {
    same_times(asked_for(alltoall, name, map_of(32, "blocked:8")), network, 100);
  }
}

// Not alike: ranks of other maps, and an order of pairs that depends on the rank.
TEST(Crowd, WhoIsNotAlikeIsSimulatedOneByOne) {
  for (const char* text : {"roundrobin:4", "ragged:1,3", "permuted:2", "blocked:5"}) {
    Asked asked = asked_for(alltoall, "spread-out", map_of(16, text), false);
    Crowd crowd;
    ASSERT_EQ(gather(asked, crowd), "");
    EXPECT_FALSE(crowd.one_node) << text;
    EXPECT_EQ(crowd.programs.size(), 16U);
  }
  Crowd crowd;
  ASSERT_EQ(gather(asked_for(allgather, "recursive-doubling", map_of(16, "blocked:2"), false), crowd), "");
  EXPECT_EQ(crowd.alike, Alike::exclusive_or);
  ASSERT_EQ(gather(asked_for(allgather, "recursive-doubling", map_of(24, "blocked:2"), false), crowd), "");
  EXPECT_EQ(crowd.alike, Alike::not_known);
}

TEST(Crowd, RefusesWhatNeedsTooMuchMemory) {
  Asked asked = asked_for(alltoall, "spread-out", map_of(512, "blocked:4"));
  asked.most_bytes = 1e6;
  Crowd crowd;
  EXPECT_NE(gather(asked, crowd).find("would need"), std::string::npos);
  EXPECT_LE(crowd.programs.size(), 4U);
  EXPECT_EQ(why_not(asked_for(alltoall, "mpi", map_of(4, "blocked:2")).choice, asked.map), "it is the MPI's own");
}

TEST(Rivals, AreAlgorithmsOfOurs) {
  for (const Rival& rival : rivals()) {
    for (const Collective collective : {alltoall, alltoallv, alltoallw, allgather, allgatherv}) {
      for (const int ranks : {2, 3, 4, 7, 8, 15, 16, 33, 64, 100, 128, 300, 512, 1000, 1024, 2048, 4096, 32768}) {
        for (const double bytes : {1.0, 8.0, 256.0, 257.0, 1024.0, 4096.0, 65536.0, 1048576.0}) {
          const RivalChoice of = rival_choice(rival.name, collective, ranks, bytes);
          choose::Choice choice;
          EXPECT_EQ(choose::parse_choice(collective, of.algorithm, choice), "")
              << rival.name << " " << ranks << " " << bytes;
          EXPECT_FALSE(of.says.empty());
        }
      }
    }
  }
}

TEST(Rivals, ChooseAsTheirTablesSay) {
  const auto of = [](const char* rival, Collective collective, int ranks, double bytes) {
    return rival_choice(rival, collective, ranks, bytes).says;
  };
  EXPECT_EQ(of("openmpi", alltoall, 32768, 2047), "modified_bruck");
  EXPECT_EQ(of("openmpi", alltoall, 32768, 2048), "linear_sync");
  EXPECT_EQ(of("openmpi", alltoall, 4095, 1024), "linear_sync");
  EXPECT_EQ(of("openmpi", alltoall, 600, 300000), "pairwise");
  EXPECT_EQ(of("openmpi", alltoallv, 512, 8), "pairwise");
  EXPECT_EQ(of("openmpi", alltoallv, 32768, 8), "linear");
  EXPECT_EQ(of("openmpi", allgather, 32768, 16), "bruck");
  EXPECT_EQ(of("openmpi", allgather, 32768, 1024), "recursive_doubling");
  EXPECT_EQ(of("mpich", alltoall, 32768, 256), "brucks");
  EXPECT_EQ(of("mpich", alltoall, 32768, 257), "scattered");
  EXPECT_EQ(of("mpich", alltoall, 7, 8), "scattered");
  EXPECT_EQ(of("mpich", alltoall, 32768, 40000), "pairwise");
  EXPECT_EQ(of("mpich", alltoallv, 32768, 8), "scattered");
  EXPECT_EQ(of("mpich", allgather, 1024, 8), "recursive_doubling");
  EXPECT_EQ(of("mpich", allgather, 1000, 8), "brucks");
  EXPECT_EQ(of("mpich", allgather, 1024, 1024), "ring");
}

}  // namespace
}  // namespace quadrille::simulate
