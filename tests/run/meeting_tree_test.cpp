// The trees by which the ranks of a node meet, on machines of several caches and packages.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "memory/meeting.hpp"

namespace quadrille::memory {
namespace {

using Places = std::vector<sys::Place>;
using Trees = std::vector<MeetingTree>;  // [rank]

const MeetingTree& of_rank(const Trees& trees, int rank) { return trees[static_cast<std::size_t>(rank)]; }
std::pair<int, int> cache_of(const Places& places, int rank) {
  const sys::Place& at = places[static_cast<std::size_t>(rank)];
  return {at.package, at.cache};
}
int package_of(const Places& places, int rank) { return cache_of(places, rank).first; }

Trees trees_along(const Places& places, int radix) {
  Trees trees;
  for (int me = 0; me < static_cast<int>(places.size()); ++me) trees.push_back(meeting_tree(places, me, radix));
  return trees;
}
// The same ranks of unknown places.
Trees one_heap(const Places& places, int radix) { return trees_along(Places(places.size()), radix); }

// The first rank of the group of `me`, by what of_group(rank) gives.
template <class OfGroup>
int first_like(int me, const OfGroup& of_group) {
  int rank = 0;
  while (of_group(rank) != of_group(me)) ++rank;
  return rank;
}

// Levels below the root.
int depth_of(const Trees& trees) {
  int depth = 0;
  for (int me = 0; me < static_cast<int>(trees.size()); ++me) {
    int levels = 0;
    for (int at = me; of_rank(trees, at).parent >= 0; at = of_rank(trees, at).parent) ++levels;
    depth = std::max(depth, levels);
  }
  return depth;
}
std::size_t most_children(const Trees& trees) {
  std::size_t most = 0;
  for (const MeetingTree& tree : trees) most = std::max(most, tree.children.size());
  return most;
}
// Waits of parents for children, and of children for parents, of another group.
template <class OfGroup>
int waits_across(const Trees& trees, const OfGroup& of_group) {
  int waits = 0;
  for (int me = 0; me < static_cast<int>(trees.size()); ++me) {
    const int parent = of_rank(trees, me).parent;
    if (parent >= 0 && of_group(me) != of_group(parent)) waits += 2;
  }
  return waits;
}

// Each rank but the first has one parent, of a lower number, which knows it as its child.
void expect_tree(const Trees& trees) {
  std::multiset<int> children;
  for (int me = 0; me < static_cast<int>(trees.size()); ++me) {
    for (const int child : of_rank(trees, me).children) {
      EXPECT_EQ(of_rank(trees, child).parent, me);
      EXPECT_LT(me, child);
      children.insert(child);
    }
  }
  std::multiset<int> all_but_the_first;
  for (int rank = 1; rank < static_cast<int>(trees.size()); ++rank) all_but_the_first.insert(rank);
  EXPECT_EQ(children, all_but_the_first);
  EXPECT_EQ(of_rank(trees, 0).parent, -1);
}

// A rank has its parent in the smallest group of which it is not the first.
void expect_groups(const Trees& trees, const Places& places) {
  const auto cache = [&](int rank) { return cache_of(places, rank); };
  const auto package = [&](int rank) { return package_of(places, rank); };
  for (int me = 1; me < static_cast<int>(trees.size()); ++me) {
    const int parent = of_rank(trees, me).parent;
    if (first_like(me, cache) != me) {
      EXPECT_EQ(cache(parent), cache(me)) << me;
    } else if (first_like(me, package) != me) {
      EXPECT_EQ(package(parent), package(me)) << me;
      EXPECT_EQ(first_like(parent, cache), parent) << me;
    } else {
      EXPECT_EQ(first_like(parent, package), parent) << me;
    }
  }
}

// 64 ranks on two packages of four caches: one cache after the other, or in turn.
Places places_of_64(bool in_turn) {
  Places places;
  for (int rank = 0; rank < 64; ++rank) {
    const int cache = in_turn ? rank % 8 : rank / 8;
    places.push_back({cache / 4, 100 + cache});
  }
  return places;
}

TEST(MeetingTree, FollowsCachesAndPackages) {
  for (const bool in_turn : {false, true}) {
    const Places places = places_of_64(in_turn);
    const auto cache = [&](int rank) { return cache_of(places, rank); };
    const auto package = [&](int rank) { return package_of(places, rank); };
    const Trees trees = trees_along(places, 8);
    expect_tree(trees);
    expect_groups(trees, places);
    EXPECT_EQ(depth_of(trees), 3);
    EXPECT_EQ(most_children(trees), 7U + 3 + 1) << "of the cache, the package, the machine";
    EXPECT_EQ(waits_across(trees, package), 2) << "one each way";
    EXPECT_EQ(waits_across(trees, cache), 2 * 7) << "one each way for each cache but the first";
  }
  const Places in_order = places_of_64(false);
  const auto cache = [&](int rank) { return cache_of(in_order, rank); };
  const auto package = [&](int rank) { return package_of(in_order, rank); };
  EXPECT_EQ(waits_across(one_heap(in_order, 8), package), 2 * 32) << "each rank of the second package";
  EXPECT_EQ(waits_across(one_heap(in_order, 8), cache), 2 * 56);
}

TEST(MeetingTree, TheExampleOfTheHead) {
  Places places;
  for (int rank = 0; rank < 12; ++rank) places.push_back({rank / 6, rank / 3});
  const Trees trees = trees_along(places, 8);
  EXPECT_EQ(of_rank(trees, 0).children, std::vector<int>({1, 2, 3, 6}));
  EXPECT_EQ(of_rank(trees, 3).children, std::vector<int>({4, 5}));
  EXPECT_EQ(of_rank(trees, 6).children, std::vector<int>({7, 8, 9}));
  EXPECT_EQ(of_rank(trees, 9).children, std::vector<int>({10, 11}));
  EXPECT_EQ(of_rank(trees, 9).parent, 6);
  EXPECT_EQ(of_rank(trees, 11).parent, 9);
  expect_tree(trees);
}

// The ranks of one cache, or of none, are a heap.
TEST(MeetingTree, OneGroupIsAHeap) {
  for (const auto& [radix, most] : {std::pair(8, 300), std::pair(1, 20), std::pair(3, 50)}) {
    for (int ranks = 1; ranks <= most; ++ranks) {
      for (int me = 0; me < ranks; ++me) {
        const MeetingTree tree = meeting_tree(Places(static_cast<std::size_t>(ranks)), me, radix);
        EXPECT_EQ(tree.radix, radix);
        EXPECT_EQ(tree.parent, me == 0 ? -1 : (me - 1) / radix) << ranks;
        std::vector<int> children;
        for (int child = radix * me + 1; child < std::min(radix * me + 1 + radix, ranks); ++child) {
          children.push_back(child);
        }
        EXPECT_EQ(tree.children, children) << ranks << " ranks, rank " << me;
      }
    }
  }
  const Places one_cache(40, sys::Place{1, 7});
  EXPECT_EQ(of_rank(trees_along(one_cache, 8), 2).children, meeting_tree(Places(40), 2, 8).children);
}

TEST(MeetingTree, NoTree) {
  const MeetingTree tree = meeting_tree(places_of_64(false), 9, 0);
  EXPECT_EQ(tree.radix, 0);
  EXPECT_EQ(tree.parent, -1);
  EXPECT_TRUE(tree.children.empty());
}

// Groups of all sizes, some ranks in none.
TEST(MeetingTree, IsOneWhateverThePlaces) {
  std::minstd_rand random(1);
  const auto draw = [&](unsigned below) { return static_cast<int>(random() % below); };
  for (int i = 0; i < 200; ++i) {
    Places places(1 + static_cast<std::size_t>(draw(60)));
    for (sys::Place& place : places) {
      if (draw(5) > 0) place = {draw(3), draw(4)};
    }
    const Trees trees = trees_along(places, 1 + draw(9));
    expect_tree(trees);
    expect_groups(trees, places);
  }
}

}  // namespace
}  // namespace quadrille::memory
