// The order of copies between neighbours: all parts together hold each edge once, along the curves of order.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "plan/neighborhood.hpp"
#include "plan/order.hpp"

namespace quadrille::plan {
namespace {

constexpr Order orders[] = {Order::row_numa, Order::morton, Order::morton_numa};

// Some pairs several times, some ranks with none.
std::vector<EdgeCopy> random_edges(int ranks, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<EdgeEnds> destinations(static_cast<std::size_t>(ranks)), sources(destinations.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = random() % destinations.size(), to = random() % destinations.size();
    EdgeEnds &out = destinations[from], &in = sources[to];
    out.blocks.push_back(static_cast<int>(out.peers.size()));
    out.peers.push_back(static_cast<int>(to));
    in.blocks.push_back(static_cast<int>(in.peers.size()));
    in.peers.push_back(static_cast<int>(from));
  }
  return join_edges(destinations, sources);
}

std::vector<EdgeCopy> all_parts(Order order, int ranks, const std::vector<EdgeCopy>& edges,
                                const std::vector<int>& domains) {
  std::vector<EdgeCopy> all;
  for (int me = 0; me < ranks; ++me) {
    const std::vector<EdgeCopy> part = part_of_edges(order, ranks, me, edges, domains);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

bool before(const EdgeCopy& a, const EdgeCopy& b) {
  return std::tie(a.source, a.destination, a.send_block) < std::tie(b.source, b.destination, b.send_block);
}

TEST(OrderEdges, AllPartsTogetherHoldEachEdgeOnce) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (const std::size_t count : {0, 1, 7, 100}) {
      std::vector<EdgeCopy> edges = random_edges(ranks, count, static_cast<std::uint32_t>(ranks));
      ASSERT_EQ(edges.size(), count);
      for (const int domain_size : {ranks, 1, 3}) {
        std::vector<int> domains;
        for (int rank = 0; rank < ranks; ++rank) domains.push_back(rank / domain_size);
        for (const Order order : orders) {
          std::vector<EdgeCopy> all = all_parts(order, ranks, edges, domains);
          std::sort(all.begin(), all.end(), before);
          std::sort(edges.begin(), edges.end(), before);
          EXPECT_EQ(all, edges);
        }
      }
    }
  }
}

// The compact curve: the full curve without the pairs that no edge joins (figure 7 of the paper).
TEST(OrderEdges, MortonFollowsTheFullCurve) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    const std::vector<EdgeCopy> edges = random_edges(ranks, 60, static_cast<std::uint32_t>(ranks) + 100);
    std::map<std::pair<int, int>, std::size_t> place;
    for (int me = 0; me < ranks; ++me) {
      for (const Pair& pair : part_of_order(Order::morton, ranks, me)) {
        place.emplace(std::pair(pair.source, pair.destination), place.size());
      }
    }
    const std::vector<EdgeCopy> all = all_parts(Order::morton, ranks, edges, {});
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::size_t last = place.at({all[i - 1].source, all[i - 1].destination});
      const std::size_t next = place.at({all[i].source, all[i].destination});
      EXPECT_LE(last, next);
      if (last == next) {
        EXPECT_LT(all[i - 1].send_block, all[i].send_block);
      }
    }
  }
}

TEST(OrderEdges, MortonPiecesAreEqual) {
  for (const int ranks : {1, 2, 5, 9, 16}) {
    const std::vector<EdgeCopy> edges = random_edges(ranks, 73, 5);
    for (int me = 0; me < ranks; ++me) {
      const auto size = static_cast<int>(part_of_edges(Order::morton, ranks, me, edges).size());
      EXPECT_LE(std::abs(size - 73 / ranks), 1);
    }
  }
}

TEST(OrderEdges, DomainsWriteOnlyTheirOwnBuffers) {
  const std::vector<int> domains = {7, 7, 3, 7, 3, 5, 5, 3};
  const std::vector<EdgeCopy> edges = random_edges(8, 90, 6);
  for (int me = 0; me < 8; ++me) {
    const int mine = domains[static_cast<std::size_t>(me)];
    for (const EdgeCopy& edge : part_of_edges(Order::morton_numa, 8, me, edges, domains)) {
      EXPECT_EQ(domains[static_cast<std::size_t>(edge.destination)], mine);
    }
    bool left_own = false;  // a rank begins with the sources of its own domain
    for (const EdgeCopy& edge : part_of_edges(Order::row_numa, 8, me, edges, domains)) {
      EXPECT_EQ(edge.destination, me);
      const bool own = domains[static_cast<std::size_t>(edge.source)] == mine;
      EXPECT_FALSE(own && left_own);
      left_own = left_own || !own;
    }
  }
}

// By rows, each rank begins with another source of a domain: of two domains, everybody sends to everybody.
TEST(OrderEdges, ReadersOfADomainAreSpreadOverIt) {
  std::vector<EdgeCopy> edges;
  for (int s = 0; s < 4; ++s) {
    for (int d = 0; d < 4; ++d) edges.push_back({s, d, d, s});
  }
  const std::vector<int> domains = {0, 0, 1, 1};
  std::vector<std::vector<int>> sources;
  for (int me = 0; me < 4; ++me) {
    sources.emplace_back();
    for (const EdgeCopy& edge : part_of_edges(Order::row_numa, 4, me, edges, domains)) {
      sources.back().push_back(edge.source);
    }
  }
  EXPECT_EQ(sources, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}}));
}

// The example of the header.
TEST(OrderEdges, ARingOfFour) {
  std::vector<EdgeEnds> destinations, sources;
  for (int me = 0; me < 4; ++me) {
    destinations.push_back({{(me + 3) % 4, (me + 1) % 4}, {0, 1}});
    sources.push_back({{(me + 3) % 4, (me + 1) % 4}, {0, 1}});
  }
  const std::vector<EdgeCopy> edges = join_edges(destinations, sources);
  const auto part = [&](int me) {
    std::string text;
    for (const EdgeCopy& e : part_of_edges(Order::morton, 4, me, edges)) {
      text += std::to_string(e.source) + "->" + std::to_string(e.destination) + " ";
    }
    return text;
  };
  EXPECT_EQ(part(0), "1->0 0->1 ");
  EXPECT_EQ(part(1), "3->0 2->1 ");
  EXPECT_EQ(part(2), "1->2 0->3 ");
  EXPECT_EQ(part(3), "3->2 2->3 ");
}

// Several edges between two ranks meet in order, and an end without another is left out.
TEST(OrderEdges, EndsAreJoined) {
  const std::vector<EdgeEnds> destinations = {{{1, -1, 1, 0}, {5, 6, 7, 8}}, {{0}, {0}}};
  const std::vector<EdgeEnds> sources = {{{0, -1}, {3, 4}}, {{0, 0, 0}, {2, 1, 0}}};
  const std::vector<EdgeCopy> expected = {{0, 1, 5, 2}, {0, 1, 7, 1}, {0, 0, 8, 3}};
  EXPECT_EQ(join_edges(destinations, sources), expected);
}

}  // namespace
}  // namespace quadrille::plan
