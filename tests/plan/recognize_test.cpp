// Recognition of a grid behind a graph: every torus and mesh of up to 24 ranks, each process with an order of its own.
#include "plan/recognize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tool/bench/named_neighborhoods.hpp"

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
      const int peer = rank_at(torus, me, around.offset(i), 1);
      if (peer < 0) continue;
      to.push_back(peer);
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
void expect_edges_meet(const Grid& torus, const Lists& lists, const std::vector<GridView>& views) {
  for (std::size_t me = 0; me < views.size(); ++me) {
    const GridView& view = views[me];
    std::set<int> sent(view.order.begin(), view.order.end());
    std::set<int> received(view.received.begin(), view.received.end());
    sent.erase(-1), received.erase(-1);
    EXPECT_EQ(sent.size(), lists.destinations[me].size());
    EXPECT_EQ(received.size(), lists.sources[me].size());
    for (int i = 0; i < view.around.size(); ++i) {
      const int peer = rank_at(torus, static_cast<int>(me), view.around.offset(i), 1);
      const auto to = static_cast<std::size_t>(peer), block = static_cast<std::size_t>(i);
      EXPECT_EQ(view.order[block] < 0, peer < 0);
      EXPECT_EQ(view.received[block] < 0, rank_at(torus, static_cast<int>(me), view.around.offset(i), -1) < 0);
      if (peer < 0) continue;
      EXPECT_EQ(lists.destinations[me][static_cast<std::size_t>(view.order[block])], peer);
      EXPECT_EQ(lists.sources[to][static_cast<std::size_t>(views[to].received[block])], static_cast<int>(me));
      EXPECT_EQ(turn_of(lists.destinations[me], view.order[block]),
                turn_of(lists.sources[to], views[to].received[block]));
    }
  }
}

std::vector<GridView> views_of(const Grid& torus, const Lists& lists, bool& fits) {
  std::vector<GridView> views(lists.sources.size());
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
        const Lists lists = graph_of(torus, random_offsets(static_cast<int>(torus.extents.size()), random), random);
        bool fits = false;
        const std::vector<GridView> views = views_of(torus, lists, fits);
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
  GridView view;
  const Grid ring{{5}, {true}};
  EXPECT_TRUE(view_in(ring, 0, std::vector{4}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{1}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4}, std::vector{4}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4, 4}, std::vector{1}, view));
  EXPECT_FALSE(view_in(ring, 0, std::vector{4, 1}, std::vector{1, 1}, view));
  EXPECT_TRUE(view_in(ring, 0, {}, {}, view));
}

// ---- Meshes ----

// What the processes find together, in the three steps.
std::vector<GridView> views_in_mesh(const Grid& mesh, const Lists& lists, bool& fits) {
  std::vector<Neighborhood> own;
  Reach reach(2 * mesh.extents.size(), 0);
  const auto widen = [](std::vector<int>& most, const std::vector<int>& other) {
    ASSERT_EQ(most.size(), other.size());
    for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], other[k]);
  };
  for (std::size_t me = 0; me < lists.sources.size(); ++me) {
    own.push_back(offsets_in(mesh, static_cast<int>(me), lists.destinations[me]));
    widen(reach, reach_of(own.back()));
  }
  std::vector<int> counts(static_cast<std::size_t>(cells_in(reach, 1 << 20)), 0);
  for (const Neighborhood& around : own) widen(counts, count_offsets(around, reach));
  std::vector<GridView> views(lists.sources.size());
  fits = true;
  for (std::size_t me = 0; me < views.size(); ++me) {
    views[me].around = counted_offsets(counts, reach);
    fits = view_around(mesh, static_cast<int>(me), lists.sources[me], lists.destinations[me], views[me]) && fits;
  }
  return views;
}

bool fits_some_mesh(const Lists& lists) {
  bool fits = false;
  for (const Grid& mesh : meshes(static_cast<int>(lists.sources.size()), 3, 1000)) {
    views_in_mesh(mesh, lists, fits);
    if (fits) return true;
  }
  return false;
}

TEST(Recognize, TheMeshesOfSomeRanks) {
  EXPECT_TRUE(meshes(1, 3, 100).empty());
  const std::vector<Grid> of_8 = meshes(8, 3, 100);
  EXPECT_EQ(of_8.size(), 1u + 2 * 3 + 7);
  std::set<std::pair<std::vector<int>, std::vector<bool>>> different;
  for (const Grid& grid : of_8) {
    EXPECT_EQ(grid.ranks(), 8);
    EXPECT_TRUE(std::ranges::count(grid.periodic, false) > 0);
    EXPECT_TRUE(different.emplace(grid.extents, grid.periodic).second);
  }
  EXPECT_EQ(of_8[1].periodic, (std::vector<bool>{false, false})) << "first the one that is open everywhere";
  EXPECT_EQ(meshes(4096, 3, 1000).size(), 1u + 11 * 3 + 55 * 7);
  EXPECT_EQ(meshes(4096, 3, 100).size(), 100u);
}

TEST(Recognize, EveryMeshWhateverTheOrderOfTheNeighbours) {
  std::mt19937 random(3);
  for (int ranks = 2; ranks <= 24; ++ranks) {
    for (const Grid& mesh : meshes(ranks, 3, 1000)) {
      for (int turn = 0; turn < 3; ++turn) {
        const int d = static_cast<int>(mesh.extents.size());
        Neighborhood around = random_offsets(d, random);
        if (turn == 0) around = moore(d, 1);
        bool fits = false;
        const Lists lists = graph_of(mesh, around, random);
        const std::vector<GridView> views = views_in_mesh(mesh, lists, fits);
        ASSERT_TRUE(fits) << ranks << " ranks, " << d << " dimensions";
        expect_edges_meet(mesh, lists, views);
      }
    }
  }
}

// The offsets are found though no process has all of them: in a mesh of 2 x 2 each has three of eight.
TEST(Recognize, AMeshWithoutInside) {
  std::mt19937 random(4);
  const Grid mesh{{2, 2}, {false, false}};
  bool fits = false;
  const std::vector<GridView> views = views_in_mesh(mesh, graph_of(mesh, moore(2, 1), random), fits);
  EXPECT_TRUE(fits);
  EXPECT_EQ(views[0].around.offsets, moore(2, 1).offsets);
}

void cut(Lists& lists, int from, int to) {
  auto& out = lists.destinations[static_cast<std::size_t>(from)];
  auto& in = lists.sources[static_cast<std::size_t>(to)];
  out.erase(std::ranges::find(out, to));
  in.erase(std::ranges::find(in, from));
}
void join(Lists& lists, int from, int to) {
  lists.destinations[static_cast<std::size_t>(from)].push_back(to);
  lists.sources[static_cast<std::size_t>(to)].push_back(from);
}

// One edge less, one more, or one elsewhere: no mesh explains it.
TEST(Recognize, NoMeshFitsWhatIsNearlyOne) {
  std::mt19937 random(5);
  for (const Grid& mesh : {Grid{{4, 4}, {false, false}}, Grid{{3, 5}, {false, true}},
                           Grid{{3, 3, 3}, {false, false, false}}, Grid{{9}, {false}}}) {
    const Lists whole = graph_of(mesh, moore(static_cast<int>(mesh.extents.size()), 1), random);
    EXPECT_TRUE(fits_some_mesh(whole));
    for (int turn = 0; turn < 20; ++turn) {
      const int from = static_cast<int>(random() % whole.sources.size());
      const auto& out = whole.destinations[static_cast<std::size_t>(from)];
      const int to = out[random() % out.size()];
      Lists lists = whole;
      cut(lists, from, to);
      EXPECT_FALSE(fits_some_mesh(lists)) << from << " lacks " << to;
      join(lists, from, from);
      EXPECT_FALSE(fits_some_mesh(lists)) << from << " has itself instead of " << to;
      lists = whole;
      join(lists, from, to);
      EXPECT_FALSE(fits_some_mesh(lists)) << from << " has " << to << " twice";
    }
  }
}

// Sources that do not go with the destinations: as no MPI would give them.
TEST(Recognize, SourcesMustMirrorDestinationsInAMesh) {
  const Grid line{{3}, {false}};
  GridView view{{1, {-1, 1}}, {}, {}};
  EXPECT_TRUE(view_around(line, 0, std::vector{1}, std::vector{1}, view));
  EXPECT_EQ(view.order, (std::vector{-1, 0}));
  EXPECT_EQ(view.received, (std::vector{0, -1}));
  EXPECT_FALSE(view_around(line, 0, std::vector{2}, std::vector{1}, view));
  EXPECT_FALSE(view_around(line, 0, std::vector{1, 1}, std::vector{1}, view));
  EXPECT_FALSE(view_around(line, 0, {}, std::vector{1}, view));
  EXPECT_FALSE(view_around(line, 1, std::vector{0, 2}, std::vector{0}, view));
}

TEST(Recognize, HowFarOffsetsReach) {
  const Neighborhood around{2, {-1, 2, 0, -3, 1, 2}};
  const Reach reach = reach_of(around);
  EXPECT_EQ(reach, (Reach{1, 1, 3, 2}));
  EXPECT_EQ(cells_in(reach, 100), 18);
  EXPECT_EQ(cells_in(reach, 17), 18);
  EXPECT_EQ(cells_in(reach, 10), 11);
  EXPECT_EQ(cells_in(std::vector<int>(12, 1 << 30), 1024), 1025);
  EXPECT_EQ(counted_offsets(count_offsets(around, reach), reach).offsets, around.offsets);
}

}  // namespace
}  // namespace quadrille::plan
