#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plan/problem.hpp"

namespace quadrille::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> parsed(const std::string& text, int ranks) {
  NodeMap map;
  EXPECT_EQ(parse_node_map(text, ranks, map), "");
  EXPECT_EQ(map.ranks(), ranks);
  EXPECT_EQ(map.nodes, static_cast<int>(std::set<int>(map.node_of.begin(), map.node_of.end()).size()));
  return map.node_of;
}

TEST(NodeMapTest, OneNode) {
  EXPECT_THAT(one_node(3).node_of, ElementsAre(0, 0, 0));
  EXPECT_EQ(one_node(3).nodes, 1);
}

TEST(NodeMapTest, LabelsAreNumberedByFirstAppearance) {
  const NodeMap map = node_map_from_labels({7, -3, 7, 100, -3});
  EXPECT_THAT(map.node_of, ElementsAre(0, 1, 0, 2, 1));
  EXPECT_EQ(map.nodes, 3);
}

TEST(NodeMapTest, Blocked) {
  EXPECT_THAT(parsed("blocked:2", 5), ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(parsed("blocked:1", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(parsed("blocked:2147483647", 3), ElementsAre(0, 0, 0));
}

TEST(NodeMapTest, RoundRobin) {
  EXPECT_THAT(parsed("roundrobin:3", 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(parsed("roundrobin:9", 2), ElementsAre(0, 1));
}

TEST(NodeMapTest, Even) {
  EXPECT_THAT(parsed("even:2", 4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(parsed("even:3", 7), ElementsAre(0, 0, 0, 1, 1, 2, 2));
  EXPECT_THAT(parsed("even:9", 2), ElementsAre(0, 1));
  EXPECT_THAT(parsed("even:2147483647", 3), ElementsAre(0, 1, 2));
}

TEST(NodeMapTest, RaggedRepeats) {
  EXPECT_THAT(parsed("ragged:1,3,4", 11), ElementsAre(0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4));
  EXPECT_THAT(parsed("ragged:2", 3), ElementsAre(0, 0, 1));
}

TEST(NodeMapTest, PermutedIsTheSameForOneSeedAndNotInOrder) {
  EXPECT_EQ(parsed("permuted:1", 40), parsed("permuted:1", 40));
  EXPECT_NE(parsed("permuted:1", 40), parsed("permuted:2", 40));
  bool unordered = false;
  int largest = 0;
  for (int seed = 0; seed < 10; ++seed) {
    const auto nodes = parsed("permuted:" + std::to_string(seed), 12);
    unordered = unordered || !std::is_sorted(nodes.begin(), nodes.end());
    largest = std::max(largest, *std::max_element(nodes.begin(), nodes.end()));
  }
  EXPECT_TRUE(unordered);
  EXPECT_GT(largest, 1);
  EXPECT_EQ(parsed("permuted:18446744073709551615", 1).size(), 1u);
}

// The map itself is part of the agreement between ranks, so it may not change with the machine.
TEST(NodeMapTest, PermutedIsTheSameEverywhere) {
  EXPECT_THAT(parsed("permuted:7", 8), ElementsAre(0, 0, 1, 0, 2, 2, 2, 0));
}

TEST(NodeMapTest, SomeRanksHaveTheNodesThatTheyHaveAmongAll) {
  NodeMap all;
  ASSERT_EQ(parse_node_map("ragged:3,5", 8, all), "");
  const auto some = [&](const std::vector<int>& ranks) { return nodes_of(all, ranks); };
  EXPECT_THAT(some({0, 1, 2, 3}).node_of, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(some({4, 5, 6, 7}).node_of, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(some({4, 5, 6, 7}).nodes, 1);
  EXPECT_THAT(some({6, 2}).node_of, ElementsAre(0, 1));  // numbered anew, by the first rank of each
  EXPECT_EQ(some({0, 1, 2, 3, 4, 5, 6, 7}), all);
}

// A list of zeros alone would have room for nobody.
TEST(NodeMapTest, RaggedNodesHaveRanks) {
  NodeMap map = one_node(2);
  EXPECT_NE(parse_node_map("ragged:0,2", 2, map), "");
  EXPECT_EQ(map, one_node(2));
}

TEST(NodeMapTest, ErrorsAreOneLineAndLeaveTheMapAlone) {
  const std::vector<std::string> texts = {"",
                                          "blocked",
                                          "blocked:",
                                          "blocked:0",
                                          "blocked:-1",
                                          "blocked:2x",
                                          "blocked: 2",
                                          "blocked:2,3",
                                          "Blocked:2",
                                          "blocked:99999999999999999999",
                                          "ragged:",
                                          "ragged:1,,2",
                                          "ragged:1,",
                                          "ragged:,1",
                                          "ragged:0",
                                          "ragged:1 2",
                                          "roundrobin:0",
                                          "even:0",
                                          "roundrobin",
                                          "permuted:",
                                          "permuted:-1",
                                          "permuted:x",
                                          "permuted",
                                          "permuted:1e3",
                                          "hilbert:2",
                                          ":2",
                                          "permuted:18446744073709551616"};
  for (const std::string& text : texts) {
    NodeMap map = one_node(2);
    const std::string error = parse_node_map(text, 4, map);
    EXPECT_THAT(error, HasSubstr("node map \"" + text + "\": "));
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(map, one_node(2));
  }
  NodeMap map;
  EXPECT_THAT(parse_node_map("blocked:1", 0, map), HasSubstr("at least one rank"));
  EXPECT_THAT(parse_node_map("hilbert:2", 4, map), HasSubstr("expected blocked:K, roundrobin:N"));
}

TEST(ValueOfTest, FindsOrFallsBack) {
  const Parameters parameters = {{"radix", 4}, {"stride", 9}};
  EXPECT_EQ(value_of(parameters, "stride", 5), 9);
  EXPECT_EQ(value_of(parameters, "window", 5), 5);
  EXPECT_EQ(value_of({}, "radix", 2), 2);
}

}  // namespace
}  // namespace quadrille::plan
