// Recognition of a torus behind a graph: every torus of up to 24 ranks, each process with an order of its own.
#include "plan/recognize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace quadrille::plan {
namespace {

struct Lists {
  std::vector<std::vector<int>> destinations, sources;  // [rank]
};

// The graph of a neighbourhood, whose lists each process has in a random order.
Lists graph_of(const Grid& torus, const Neighborhood& around, std::mt19937& random) {
  const int ranks = torus.ranks();
  Lists lists{std::vector<std::vector<int>>(static_cast<std::size_t>(ranks)),
              std::vector<std::vector<int>>(static_cast<std::size_t>(ranks))};
  for (int me = 0; me < ranks; ++me) {
    auto& to = lists.destinations[static_cast<std::size_t>(me)];
    for (int i = 0; i < around.size(); ++i) {
      to.push_back(rank_at(torus, me, around.offset(i), 1));
      lists.sources[static_cast<std::size_t>(to.back())].push_back(me);
    }
    std::ranges::shuffle(to, random);
  }
  for (auto& from : lists.sources) std::ranges::shuffle(from, random);
  return lists;
}

Neighborhood random_offsets(int dimensions, std::mt19937& random) {
  Neighborhood around{dimensions, {}};
  const unsigned size = 1 + random() % 7;
  for (unsigned i = 0; i < size * static_cast<unsigned>(dimensions); ++i) {
    around.offsets.push_back(static_cast<int>(random() % 7) - 3);
  }
  return around;
}

// Which of the edges to, or from, `peer` the entry `at` of a list is.
int turn_of(const std::vector<int>& list, int at) {
  return static_cast<int>(std::count(list.begin(), list.begin() + at, list[static_cast<std::size_t>(at)]));
}

// Offset i joins an edge of the sender to the same edge of the receiver.
void expect_edges_meet(const Grid& torus, const Lists& lists, const std::vector<TorusView>& views) {
  for (std::size_t me = 0; me < views.size(); ++me) {
    const TorusView& view = views[me];
    std::set<int> sent(view.order.begin(), view.order.end());
    std::set<int> received(view.received.begin(), view.received.end());
    EXPECT_EQ(sent.size(), lists.destinations[me].size());
    EXPECT_EQ(received.size(), lists.sources[me].size());
    for (int i = 0; i < view.around.size(); ++i) {
      const int peer = rank_at(torus, static_cast<int>(me), view.around.offset(i), 1);
      const auto to = static_cast<std::size_t>(peer), block = static_cast<std::size_t>(i);
      EXPECT_EQ(lists.destinations[me][static_cast<std::size_t>(view.order[block])], peer);
      EXPECT_EQ(lists.sources[to][static_cast<std::size_t>(views[to].received[block])], static_cast<int>(me));
      EXPECT_EQ(turn_of(lists.destinations[me], view.order[block]),
                turn_of(lists.sources[to], views[to].received[block]));
    }
  }
}

std::vector<TorusView> views_of(const Grid& torus, const Lists& lists, bool& fits) {
  std::vector<TorusView> views(lists.sources.size());
  fits = true;
  for (std::size_t me = 0; me < views.size(); ++me) {
    fits = view_in(torus, static_cast<int>(me), lists.sources[me], lists.destinations[me], views[me]) && fits;
    fits = fits && fingerprint(views[me].around) == fingerprint(views[0].around);
  }
  return views;
}

TEST(Recognize, TheToriOfSomeRanks) {
  EXPECT_TRUE(tori(1, 4, 100).empty());
  const std::size_t expected[] = {1, 1, 2, 1, 3, 1, 4, 2, 3, 1, 8};  // ordered factorisations of 2 to 12
  for (int ranks = 2; ranks <= 12; ++ranks) {
    const std::vector<Grid> all = tori(ranks, 4, 100);
    EXPECT_EQ(all.size(), expected[ranks - 2]) << ranks;
    std::set<std::vector<int>> different;
    for (const Grid& grid : all) {
      EXPECT_EQ(grid.ranks(), ranks);
      EXPECT_TRUE(different.insert(grid.extents).second);
    }
    EXPECT_EQ(all.front().extents, std::vector<int>{ranks});
  }
  EXPECT_EQ(tori(4096, 4, 1000).size(), 232u);
  EXPECT_EQ(tori(4096, 4, 100).size(), 100u);
}

TEST(Recognize, EveryTorusWhateverTheOrderOfTheNeighbours) {
  std::mt19937 random(1);
  for (int ranks = 2; ranks <= 24; ++ranks) {
    for (const Grid& torus : tori(ranks, 4, 1000)) {
      for (int turn = 0; turn < 5; ++turn) {
        const Lists lists =
            graph_of(torus, random_offsets(static_cast<int>(torus.extents.size()), random), random);
        bool fits = false;
        const std::vector<TorusView> views = views_of(torus, lists, fits);
        ASSERT_TRUE(fits);
        expect_edges_meet(torus, lists, views);
      }
    }
  }
}

// Two processes exchange one neighbour each: all still have as many, in and out, but no torus fits.
TEST(Recognize, NoTorusFitsAGraphWithTwoEdgesExchanged) {
  std::mt19937 random(2);
  for (int ranks = 7; ranks <= 24; ++ranks) {
    Lists lists;
    const Grid ring{{ranks}, {true}};
    lists = graph_of(ring, {1, {1, -1}}, random);
    // 0 -> 1 and 3 -> 4 become 0 -> 4 and 3 -> 1.
    std::ranges::replace(lists.destinations[0], 1, 4);
    std::ranges::replace(lists.destinations[3], 4, 1);
    std::ranges::replace(lists.sources[1], 0, 3);
    std::ranges::replace(lists.sources[4], 3, 0);
    for (const Grid& torus : tori(ranks, 4, 1000)) {
      bool fits = true;
      views_of(torus, lists, fits);
      EXPECT_FALSE(fits) << ranks << " ranks, " << torus.extents.size() << " dimensions";
    }
  }
}

// The lists of a mesh with a border are not those of a torus, nor those of ranks that receive more than they send.
TEST(Recognize, SourcesMustMirrorDestinations) {
  TorusView view;
  const Grid ring{{5}, {true}};
  EXPECT_TRUE(view_in(ring, 0, std::vector{4}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{1}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4}, std::vector{4}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4, 4}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4, 1}, std::vector{1, 1}, view));
  EXPECT_TRUE(view_in(ring, 0, {}, {}, view));
}

}  // namespace
}  // namespace quadrille::plan
