// The rows of the Hilbert orders: both readings are whole, the examples of the files, and the more local one is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/order.hpp"
#include "tests/plan/maps.hpp"
#include "tests/plan/pairs.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::plan {
namespace {

using testing::ElementsAre;

constexpr Order kHilberts[] = {Order::hilbert, Order::square_and_row, Order::square_and_column,
                               Order::square_and_morton};

std::vector<int> labels_for(const std::string& text, int ranks) { return map_of(text, ranks).node_of; }

TEST(RowsTest, TheExamplesOfTheFiles) {
  EXPECT_THAT(part_of_order(Order::hilbert, 4, 0, {}, Rows::destinations),
              ElementsAre(Pair{0, 0}, Pair{1, 0}, Pair{1, 1}, Pair{0, 1}));
  EXPECT_THAT(part_of_order(Order::hilbert, 4, 1, {}, Rows::sources),
              ElementsAre(Pair{1, 3}, Pair{1, 2}, Pair{0, 2}, Pair{0, 3}));
  EXPECT_THAT(part_of_order(Order::hilbert, 4, 1, {}, Rows::destinations),
              ElementsAre(Pair{3, 1}, Pair{2, 1}, Pair{2, 0}, Pair{3, 0}));
  const int who[6][6] = {{0, 0, 1, 1, 0, 0}, {0, 0, 1, 1, 1, 1}, {2, 2, 3, 3, 2, 2},
                         {2, 2, 3, 3, 3, 3}, {4, 4, 4, 4, 4, 4}, {5, 5, 5, 5, 5, 5}};  // [destination][source]
  for (int me = 0; me < 6; ++me) {
    for (const Pair& pair : part_of_order(Order::square_and_row, 6, me, {}, Rows::destinations)) {
      EXPECT_EQ(who[pair.destination][pair.source], me);
    }
  }
}

// As many as there are, and none twice.
void expect_all_pairs(Order order, int ranks, Rows rows) {
  std::set<std::pair<int, int>> pairs;
  for (int me = 0; me < ranks; ++me) {
    const std::vector<Pair> part = part_of_order(order, ranks, me, {}, rows);
    ASSERT_EQ(part.size(), static_cast<std::size_t>(ranks));
    ASSERT_EQ(part.capacity(), part.size());
    for (const Pair& pair : part) {
      ASSERT_TRUE(0 <= std::min(pair.source, pair.destination) && std::max(pair.source, pair.destination) < ranks);
      ASSERT_TRUE(pairs.emplace(pair.source, pair.destination).second) << ranks << " ranks, rank " << me;
    }
  }
}

TEST(RowsTest, BothHoldEachPairOnce) {
  for (const Order order : kHilberts) {
    for (const Rows rows : {Rows::sources, Rows::destinations}) {
      for (int ranks = 1; ranks <= 64; ++ranks) ASSERT_NO_FATAL_FAILURE(expect_all_pairs(order, ranks, rows));
      for (const int ranks : {100, 127, 128, 129}) ASSERT_NO_FATAL_FAILURE(expect_all_pairs(order, ranks, rows));
    }
  }
}

// The other orders have no such rows.
TEST(RowsTest, OnlyHilbertOrdersHaveThem) {
  const std::vector<int> labels = labels_for("blocked:3", 12);
  for (const Order order : {Order::row, Order::column, Order::morton, Order::row_numa, Order::morton_numa}) {
    for (int me = 0; me < 12; ++me) {
      const std::vector<Pair> part = part_of_order(order, 12, me, labels);
      EXPECT_EQ(part_of_order(order, 12, me, labels, Rows::sources), part);
      EXPECT_EQ(part_of_order(order, 12, me, labels, Rows::destinations), part);
    }
  }
}

// Domains change nothing where rows are given. The rest of a square is not transposed.
TEST(RowsTest, ByDestinationsTheCurveIsTransposed) {
  for (const Order order : kHilberts) {
    for (int ranks = 1; ranks <= 40; ++ranks) {
      const std::vector<int> labels = labels_for("blocked:3", ranks);
      int side = 1;
      while (2 * side <= ranks) side *= 2;
      for (int me = 0; me < ranks; ++me) {
        std::vector<Pair> part = part_of_order(order, ranks, me);
        ASSERT_EQ(part_of_order(order, ranks, me, labels, Rows::sources), part) << ranks << " ranks, rank " << me;
        const int of_curve = order == Order::hilbert ? ranks : me < side ? side : 0;
        for (Pair& pair : std::span(part).first(static_cast<std::size_t>(of_curve))) {
          std::swap(pair.source, pair.destination);
        }
        ASSERT_EQ(part_of_order(order, ranks, me, labels, Rows::destinations), part) << ranks << " ranks, rank " << me;
      }
    }
  }
}

TEST(RowsTest, ByDestinationsConsecutiveRanksFillTheirOwnBuffers) {
  for (int ranks = 1; ranks <= 256; ranks *= 2) {
    int rows = 1;
    while (rows * rows < ranks) rows *= 2;
    for (int me = 0; me < ranks; ++me) {
      for (const Pair& pair : part_of_order(Order::hilbert, ranks, me, {}, Rows::destinations)) {
        ASSERT_EQ(pair.destination / rows, me / rows) << ranks << " ranks";
      }
    }
  }
}

TEST(RowsTest, InOneDomainTheyAreSources) {
  for (const Order order : kHilberts) {
    for (const int ranks : {1, 2, 7, 8, 33, 64}) {
      const std::vector<int> same(static_cast<std::size_t>(ranks), 7);
      for (int me = 0; me < ranks; ++me) {
        const std::vector<Pair> part = part_of_order(order, ranks, me, {}, Rows::sources);
        EXPECT_EQ(part_of_order(order, ranks, me), part);
        EXPECT_EQ(part_of_order(order, ranks, me, same), part);
      }
    }
  }
}

// Writes into the domain of the rank that copies.
int local_writes(Order order, const std::vector<int>& domains, Rows rows) {
  const int ranks = static_cast<int>(domains.size());
  const auto domain = [&](int rank) { return domains[static_cast<std::size_t>(rank)]; };
  int local = 0;
  for (int me = 0; me < ranks; ++me) {
    for (const Pair& pair : part_of_order(order, ranks, me, domains, rows)) {
      local += domain(pair.destination) == domain(me) ? 1 : 0;
    }
  }
  return local;
}

void expect_most_local(Order order, const std::vector<int>& domains) {
  EXPECT_EQ(local_writes(order, domains, Rows::by_domains),
            std::max(local_writes(order, domains, Rows::sources), local_writes(order, domains, Rows::destinations)))
      << "order " << static_cast<int>(order) << ", " << testing::PrintToString(domains);
}

// Boxes, and pieces of the curve.
TEST(RowsTest, WithEqualDomainsNoReadingIsMoreLocal) {
  for (const Order order : kHilberts) {
    for (int ranks = 4; ranks <= 64; ++ranks) {
      for (const int domains : {2, 4}) {
        if (ranks % domains != 0) continue;
        expect_most_local(order, labels_for("blocked:" + std::to_string(ranks / domains), ranks));
      }
    }
  }
}

// Of boxes the copies are counted, so it holds for domains of any kind.
TEST(RowsTest, WithAnyDomainsNoBoxesAreMoreLocal) {
  for (const Order order : kHilberts) {
    for (const int ranks : {4, 5, 8, 14, 16, 32, 50}) {
      const bool has_boxes = order != Order::hilbert || (ranks & (ranks - 1)) == 0;
      if (!has_boxes) continue;
      for (const NodeMap& map : tools::node_maps(ranks)) expect_most_local(order, map.node_of);
    }
  }
}

TEST(RowsTest, HalfOfTheWritesOrNoneLeaveTheDomain) {
  const std::vector<int> sockets = labels_for("blocked:8", 16);
  EXPECT_EQ(local_writes(Order::hilbert, sockets, Rows::sources), 128);
  EXPECT_EQ(local_writes(Order::hilbert, sockets, Rows::destinations), 256);
  EXPECT_EQ(local_writes(Order::hilbert, sockets, Rows::by_domains), 256);
  // Pieces of the curve: the other way round.
  const std::vector<int> halves_of_12 = labels_for("blocked:6", 12);
  EXPECT_EQ(local_writes(Order::hilbert, halves_of_12, Rows::sources), 144);
  EXPECT_EQ(local_writes(Order::hilbert, halves_of_12, Rows::destinations), 72);
  EXPECT_EQ(local_writes(Order::hilbert, halves_of_12, Rows::by_domains), 144);
  // Seven of the eight ranks of the square are in one domain.
  const std::vector<int> halves_of_14 = labels_for("blocked:7", 14);
  EXPECT_GT(local_writes(Order::square_and_row, halves_of_14, Rows::sources),
            local_writes(Order::square_and_row, halves_of_14, Rows::destinations));
}

}  // namespace
}  // namespace quadrille::plan
