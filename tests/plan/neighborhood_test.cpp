// Neighbourhood collectives: every algorithm is proved on small grids of all shapes, with all kinds
// of neighbourhoods, and its costs are compared with the closed forms of the paper.
#include "plan/neighborhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plan/cost.hpp"
#include "plan/verify.hpp"
#include "plan/verify_parts.hpp"
#include "tool/bench/named_neighborhoods.hpp"

namespace quadrille::plan {
namespace {

struct Algorithm {
  const char* name;
  BuildNeighbors build;
  Pattern pattern;
};

void PrintTo(const Algorithm& algorithm, std::ostream* out) { *out << algorithm.name; }

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      {"straightforward", neighbor_straightforward, Pattern::alltoall},
      {"torus", neighbor_torus, Pattern::alltoall},
      {"torus_direct", neighbor_torus_direct, Pattern::alltoall},
      {"basis", neighbor_basis, Pattern::alltoall},
      {"allgather_straightforward", neighbor_allgather_straightforward, Pattern::allgather},
      {"allgather_torus", neighbor_allgather_torus, Pattern::allgather},
      {"allgather_torus_direct", neighbor_allgather_torus_direct, Pattern::allgather},
      {"allgather_basis", neighbor_allgather_basis, Pattern::allgather},
  };
  return all;
}

std::string describe(const Grid& grid, const Neighborhood& neighborhood) {
  std::string text = "grid";
  for (std::size_t j = 0; j < grid.extents.size(); ++j) {
    text += ' ' + std::to_string(grid.extents[j]) + (grid.periodic[j] ? "p" : "");
  }
  text += ", offsets";
  for (int i = 0; i < std::min(neighborhood.size(), 30); ++i) {
    text += " (";
    for (const int c : neighborhood.offset(i)) text += std::to_string(c) + ',';
    text.back() = ')';
  }
  return text;
}

Neighborhood random_neighborhood(int dimensions, int size, int radius, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> coordinate(-radius, radius);
  Neighborhood result{dimensions, {}};
  for (int k = 0; k < size * dimensions; ++k) result.offsets.push_back(coordinate(random));
  return result;
}

Neighborhood with(Neighborhood neighborhood, const std::vector<int>& more) {
  neighborhood.offsets.insert(neighborhood.offsets.end(), more.begin(), more.end());
  return neighborhood;
}

// Neighbourhoods of all kinds, small enough for many grids.
std::vector<Neighborhood> neighborhoods(int d) {
  const auto n = static_cast<std::size_t>(d);
  const std::vector<int> zero(n, 0), far(n, 5), back(n, -3);
  std::vector<int> corner(n, 1), mixed(n, 0);
  corner.back() = 2;
  mixed.front() = -6;
  std::vector<Neighborhood> all = {
      von_neumann(d),
      {d, {}},
      {d, zero},
      {d, corner},
      with(with(with(von_neumann(d), zero), corner), corner),  // duplicates
      with(with(with({d, corner}, far), back), mixed),         // larger than the extents
      with(with({d, zero}, zero), far),
      random_neighborhood(d, 7, 2, 1),
      random_neighborhood(d, 9, 4, 2),
  };
  if (d <= 3) all.push_back(moore(d, 1));
  if (d <= 2) all.push_back(moore(d, 2));
  return all;
}

// All grids with extents up to `largest` in d dimensions, each dimension periodic or not. With
// `thin` only some of them, well mixed.
void for_grids(int d, int largest, int thin, const std::function<void(const Grid&)>& visit) {
  int count = 1, at = 0;
  for (int j = 0; j < d; ++j) count *= 2 * largest;
  for (int number = 0; number < count; ++number) {
    // Mixed, lest whole extents be left out.
    const std::uint32_t mixed = static_cast<std::uint32_t>(number) * 2654435761u >> 8;
    if (mixed % static_cast<std::uint32_t>(thin) != 0) continue;
    Grid grid;
    at = number;
    for (int j = 0; j < d; ++j) {
      grid.extents.push_back(at / 2 % largest + 1);
      grid.periodic.push_back(at % 2 == 1);
      at /= 2 * largest;
    }
    visit(grid);
  }
}

class NeighborTest : public testing::TestWithParam<Algorithm> {
 protected:
  void prove(const Grid& grid, const Neighborhood& neighborhood, const Parameters& parameters = {}, int orders = 2) {
    const auto schedules = build_all(GetParam().build, grid, neighborhood, parameters);
    const Report report = verify_neighbors(schedules, grid, neighborhood, GetParam().pattern, orders);
    ASSERT_TRUE(report.ok) << report.what << "\n" << describe(grid, neighborhood);
  }

  // Each grid with all parameters, or with one that is drawn.
  void prove_all(int d, int largest, int thin, bool one_of_them) {
    const std::vector<Parameters> parameters = {{}, {{"ports", 2}}, {{"ports", 0}}, {{"share", 0}, {"ports", 3}}};
    for (const Neighborhood& neighborhood : neighborhoods(d)) {
      std::mt19937 random(1);
      for_grids(d, largest, thin, [&](const Grid& grid) {
        const std::size_t draw = random();
        for (const Parameters& p : parameters) {
          if (HasFatalFailure()) return;
          if (!one_of_them || &p == &parameters[draw % parameters.size()]) prove(grid, neighborhood, p);
        }
      });
    }
  }
};

TEST_P(NeighborTest, IsProvedInOneDimension) { prove_all(1, 9, 1, false); }
TEST_P(NeighborTest, IsProvedInTwoDimensions) { prove_all(2, 4, 1, false); }
TEST_P(NeighborTest, IsProvedInThreeDimensions) { prove_all(3, 4, 1, true); }
TEST_P(NeighborTest, IsProvedInFourDimensions) { prove_all(4, 4, 80, true); }

// The neighbours of a Cartesian communicator, on all grids: a part of the small ones alone would leave out most ways in
// which dimensions of one and two processes meet.
TEST_P(NeighborTest, IsProvedOnEveryGridOfFourDimensions) {
  const std::vector<Parameters> parameters = {{}, {{"ports", 2}}, {{"share", 0}, {"ports", 0}}};
  const Neighborhood nearest = von_neumann(4);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int thin = 16;  // several times as slow
#else
  constexpr int thin = 1;
#endif
  std::size_t grids = 0;
  for_grids(4, 4, thin, [&](const Grid& grid) {
    if (!HasFatalFailure()) prove(grid, nearest, parameters[grids++ % parameters.size()], 1);
  });
  if (thin == 1) {
    EXPECT_EQ(grids, 4096u);
  }
}

TEST_P(NeighborTest, IsProvedOnLargerGrids) {
  prove({{5, 4, 3}, {true, false, true}}, moore(3, 2));
  prove({{6, 7}, {false, false}}, moore(2, 3));
  prove({{7, 6}, {true, true}}, moore(2, 3), {{"ports", 2}});
  prove({{3, 2, 4, 2}, {true, true, false, false}}, moore(4, 1));
  prove({{3, 3, 2, 2, 2}, {true, false, true, false, true}}, random_neighborhood(5, 30, 2, 9));
}

// In a ring of even extent n the offsets n/2 and -n/2 lead to one process. Blocks travel in steps that all ranks make
// together: would the ranks that say n/2 send upwards and those that say -n/2 downwards, then nobody would receive what
// they send. So the side must not depend on the sign that a rank was given.
TEST_P(NeighborTest, HalfOfARingIsTheSameSideForAllRanks) {
  const auto with_other_signs = [](const Grid& grid, Neighborhood n, std::uint32_t which) {
    const std::size_t d = grid.extents.size();
    for (std::size_t k = 0; k < n.offsets.size(); ++k, which = which << 1 | which >> 31) {
      const bool half = grid.periodic[k % d] && 2 * std::abs(n.offsets[k]) == grid.extents[k % d];
      if (half && (which & 1U) != 0) n.offsets[k] = -n.offsets[k];
    }
    return n;
  };
  const std::vector<std::pair<Grid, Neighborhood>> cases = {
      {{{2}, {true}}, {1, {1, -1}}},
      {{{4}, {true}}, {1, {2}}},
      {{{4}, {true}}, {1, {1, 2, -1}}},      // as far up as down
      {{{6}, {true}}, {1, {3, -1, 3, -2}}},  // further down
      {{{6}, {true}}, {1, {3, 2, -1, -3}}},  // further up
      {{{4, 3}, {true, false}}, {2, {2, 1, -2, -1, 2, 0, 1, 1}}},
      {{{4, 2}, {true, true}}, moore(2, 2)},
  };
  for (const auto& [grid, n] : cases) {
    for (const std::uint32_t seed : {0x5a5a5a5au, 0x12345678u}) {
      std::vector<Schedule> schedules;
      for (int me = 0; me < grid.ranks(); ++me) {
        const Neighborhood mine = with_other_signs(grid, n, seed * static_cast<std::uint32_t>(me));
        schedules.push_back(GetParam().build({&grid, &mine, me, {}}));
      }
      const Report report = verify_neighbors(schedules, grid, n, GetParam().pattern, 2);
      EXPECT_TRUE(report.ok) << report.what << "\n" << describe(grid, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NeighborTest, testing::ValuesIn(algorithms()),
                         [](const auto& info) { return std::string(info.param.name); });

// A torus on which no offset is shortened.
Grid wide_torus(const Neighborhood& neighborhood) {
  int largest = 0;
  for (const int c : neighborhood.offsets) largest = std::max(largest, std::abs(c));
  const auto d = static_cast<std::size_t>(neighborhood.dimensions);
  return {std::vector<int>(d, 2 * largest + 1), std::vector<bool>(d, true)};
}

Counts counts_of(BuildNeighbors build, const Neighborhood& neighborhood, const Parameters& parameters = {}) {
  const Grid grid = wide_torus(neighborhood);
  return count(build({&grid, &neighborhood, grid.ranks() / 2, parameters}));
}

void expect_counts(const Counts& counts, std::int64_t rounds, std::int64_t blocks) {
  EXPECT_EQ(counts.rounds, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(counts.messages, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(counts.blocks_sent, static_cast<std::uint64_t>(blocks));
}

void expect_counts(const Counts& counts, NeighborCounts expected) {
  expect_counts(counts, expected.rounds, expected.blocks);
}

// D and V of straightforward, of both collectives: a message for each offset that is not zero.
NeighborCounts straightforward_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int i = 0; i < neighborhood.size(); ++i) {
    const auto offset = neighborhood.offset(i);
    counts.rounds += std::all_of(offset.begin(), offset.end(), [](int c) { return c == 0; }) ? 0 : 1;
  }
  counts.blocks = counts.rounds;
  return counts;
}

// D of torus: for each dimension the largest coordinate upwards and the largest downwards. V: all hops.
NeighborCounts torus_counts(const Neighborhood& neighborhood) {
  NeighborCounts counts;
  for (int j = 0; j < neighborhood.dimensions; ++j) {
    std::int64_t up = 0, down = 0;
    for (int i = 0; i < neighborhood.size(); ++i) {
      const std::int64_t c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      up = std::max(up, c);
      down = std::max(down, -c);
      counts.blocks += std::max(c, -c);
    }
    counts.rounds += up + down;
  }
  return counts;
}

// W by the paper's words: all prefixes of the offsets, each with the hops of its last coordinate.
std::int64_t trie_hops(const Neighborhood& neighborhood, const std::vector<int>& order, bool direct) {
  std::set<std::vector<int>> prefixes;
  std::int64_t hops = 0;
  for (int i = 0; i < neighborhood.size(); ++i) {
    std::vector<int> prefix;
    for (const int j : order) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      prefix.push_back(c);
      if (prefixes.insert(prefix).second) hops += direct ? (c != 0 ? 1 : 0) : std::abs(c);
    }
  }
  return hops;
}

// W if a block that passes a process on its way stays there too: the furthest way up and down from
// each prefix.
std::int64_t shared_hops(const Neighborhood& neighborhood, const std::vector<int>& order) {
  std::map<std::vector<int>, std::pair<int, int>> furthest;  // [prefix] up, down
  for (int i = 0; i < neighborhood.size(); ++i) {
    std::vector<int> prefix;
    for (const int j : order) {
      const int c = neighborhood.offset(i)[static_cast<std::size_t>(j)];
      auto& [up, down] = furthest[prefix];
      up = std::max(up, c);
      down = std::max(down, -c);
      prefix.push_back(c);
    }
  }
  std::int64_t hops = 0;
  for (const auto& [prefix, way] : furthest) hops += way.first + way.second;
  return hops;
}

std::vector<Neighborhood> measured() {
  std::vector<Neighborhood> all;
  for (int d = 1; d <= 3; ++d) {
    for (const Neighborhood& n : neighborhoods(d)) all.push_back(n);
  }
  all.push_back(moore(3, 3));
  all.push_back(moore(4, 1));
  all.push_back(random_neighborhood(3, 40, 5, 3));
  return all;
}

// An allgather has the rounds of its all-to-all, and the hops of the prefix trie.
TEST(NeighborCountsTest, EqualThePapersFormulas) {
  for (const Neighborhood& n : measured()) {
    SCOPED_TRACE(describe(wide_torus(n), n));
    const NeighborCounts torus = torus_counts(n), direct = torus_direct_counts(n);
    const std::vector<int> order = neighbors::trie_order(n);
    const std::int64_t hops = trie_hops(n, order, false), shared = shared_hops(n, order);
    expect_counts(counts_of(neighbor_straightforward, n), straightforward_counts(n));
    expect_counts(counts_of(neighbor_torus, n), torus);
    expect_counts(counts_of(neighbor_torus_direct, n), direct);
    expect_counts(counts_of(neighbor_allgather_straightforward, n), straightforward_counts(n));
    expect_counts(counts_of(neighbor_allgather_torus, n), torus.rounds, shared);
    expect_counts(counts_of(neighbor_allgather_torus, n, {{"share", 0}}), torus.rounds, hops);
    expect_counts(counts_of(neighbor_allgather_torus_direct, n), direct.rounds, trie_hops(n, order, true));
    EXPECT_LE(hops, torus.blocks);  // W <= V
    EXPECT_LE(shared, hops);
  }
}

// Numbers that the paper names: s = (2r + 1)^d - 1 neighbours, D = 2rd rounds.
TEST(NeighborCountsTest, OfMooreNeighborhoods) {
  for (int d = 1; d <= 5; ++d) {
    for (int r = 1; r <= 3 && d * r <= 9; ++r) {
      const Neighborhood n = moore(d, r);
      EXPECT_EQ(n.size(), std::lround(std::pow(2 * r + 1, d)) - 1);
      EXPECT_EQ(torus_counts(n).rounds, 2 * r * d);
      EXPECT_EQ(torus_direct_counts(n).rounds, 2 * r * d);
      // Shared, an allgather sends every other block once: there is no less.
      const std::vector<int> order = neighbors::trie_order(n);
      EXPECT_EQ(shared_hops(n, order), n.size());
      EXPECT_EQ(trie_hops(n, order, true), n.size());
    }
  }
  EXPECT_EQ(torus_counts(moore(3, 1)).rounds, 6);  // instead of 26
  EXPECT_EQ(torus_counts(moore(2, 1)).blocks, 12);
  EXPECT_EQ(torus_counts(moore(3, 1)).blocks, 54);
}

// With enough ports up and down go together, and the dimensions follow each other.
TEST(NeighborCountsTest, PortsShareRounds) {
  const Neighborhood n = moore(3, 2);
  EXPECT_EQ(counts_of(neighbor_torus, n, {{"ports", 2}}).rounds, 6u);
  EXPECT_EQ(counts_of(neighbor_torus, n, {{"ports", 0}}).rounds, 6u);
  EXPECT_EQ(counts_of(neighbor_torus_direct, n, {{"ports", 2}}).rounds, 6u);
  EXPECT_EQ(counts_of(neighbor_torus_direct, n, {{"ports", 0}}).rounds, 3u);
  EXPECT_EQ(counts_of(neighbor_allgather_torus_direct, n, {{"ports", 3}}).rounds, 6u);
  EXPECT_EQ(counts_of(neighbor_straightforward, n, {{"ports", 10}}).rounds, 13u);
  EXPECT_EQ(counts_of(neighbor_straightforward, n, {{"ports", 0}}).rounds, 1u);
  EXPECT_EQ(counts_of(neighbor_torus, n, {{"ports", 2}}).messages, 12u);
  EXPECT_EQ(counts_of(neighbor_torus, n, {{"ports", 2}}).blocks_sent, counts_of(neighbor_torus, n).blocks_sent);
}

TEST(NeighborCountsTest, ZeroCopy) {
  for (const auto build : {neighbor_torus, neighbor_torus_direct, neighbor_allgather_torus}) {
    EXPECT_EQ(counts_of(build, moore(3, 2)).blocks_copied, 0u);
  }
  const Neighborhood n = with(with(moore(2, 1), {0, 0}), {1, 1});
  EXPECT_EQ(counts_of(neighbor_torus, n).blocks_copied, 1u);
  EXPECT_EQ(counts_of(neighbor_allgather_torus, n).blocks_copied, 2u);  // and the duplicate
}

TEST(NeighborCountsTest, Scratch) {
  EXPECT_EQ(counts_of(neighbor_straightforward, moore(2, 1)).scratch_blocks, 0u);
  EXPECT_EQ(counts_of(neighbor_torus, von_neumann(3)).scratch_blocks, 0u);
  EXPECT_LE(counts_of(neighbor_torus, moore(2, 1)).scratch_blocks, 8u);
  EXPECT_EQ(counts_of(neighbor_allgather_torus, moore(2, 1)).scratch_blocks, 0u);
  // Every corner passes the same places, one after the other.
  EXPECT_EQ(counts_of(neighbor_allgather_torus, {2, {9, 9}}).scratch_blocks, 2u);
}

TEST(NeighborCountsTest, ShortWaysOnSmallTori) {
  const Neighborhood n = moore(2, 2);
  const auto rounds = [&n](const Grid& grid) {
    const Counts counts = count(neighbor_torus({&grid, &n, 0, {}}));
    expect_counts(counts, torus_counts(travelled(grid, n)));
    return counts.rounds;
  };
  EXPECT_EQ(rounds({{5, 5}, {true, true}}), 8u);
  EXPECT_EQ(rounds({{4, 4}, {true, true}}), 6u);  // two down and two up are one place
  EXPECT_EQ(rounds({{3, 2}, {true, true}}), 3u);
  EXPECT_EQ(rounds({{1, 1}, {true, true}}), 0u);
}

TEST(NeighborhoodTest, Travelled) {
  const auto ways = [](int extent, bool periodic, std::vector<int> offsets) {
    return travelled({{extent}, {periodic}}, {1, std::move(offsets)}).offsets;
  };
  using Ways = std::vector<int>;
  EXPECT_EQ(ways(5, true, {-7, -3, -2, 2, 3, 5, 14}), (Ways{-2, 2, -2, 2, -2, 0, -1}));
  EXPECT_EQ(ways(4, true, {-2, 2, 1}), (Ways{2, 2, 1}));
  EXPECT_EQ(ways(4, true, {-2, 2, -1}), (Ways{-2, -2, -1}));  // two rounds, not three
  // As far up as down: either side takes as many rounds. Upwards is what neighborhood.hpp promises and what a graph
  // that is recognized gets (plan/recognize.hpp), whatever sign the half was given with.
  for (const int half : {-2, 2}) {
    EXPECT_EQ(ways(4, true, {half}), (Ways{2}));
    EXPECT_EQ(ways(4, true, {half, 1, -1}), (Ways{2, 1, -1}));
    EXPECT_EQ(ways(2, true, {half / 2}), (Ways{1}));
  }
  EXPECT_EQ(ways(6, true, {-3, 3, -1, 2, 1, -2}), (Ways{3, 3, -1, 2, 1, -2}));
  EXPECT_EQ(ways(4, false, {-4, -3, 3, 4, 0}), (Ways{0, -3, 3, 0, 0}));
  EXPECT_EQ(travelled({{4, 3}, {true, false}}, {2, {3, 2, 3, 3}}).offsets, (Ways{-1, 2, 0, 0}));
}

// The dimension in which most neighbours have the same coordinate comes first.
TEST(NeighborCountsTest, TheTrieBeginsWhereMostNeighborsAgree) {
  const Neighborhood n{2, {1, 3, 2, 3, -1, 3}};
  EXPECT_EQ(neighbors::trie_order(n), (std::vector<int>{1, 0}));
  EXPECT_EQ(counts_of(neighbor_allgather_torus, n).blocks_sent, 3u + 2u + 1u);
  EXPECT_EQ(counts_of(neighbor_allgather_torus_direct, n).blocks_sent, 1u + 3u);
}

// MPI allows Cartesian communicators without dimensions: one process.
TEST(NeighborhoodTest, WithoutDimensions) {
  const Grid grid{};
  const Neighborhood n{};
  EXPECT_EQ(grid.ranks(), 1);
  for (const Algorithm& algorithm : algorithms()) {
    const auto schedules = build_all(algorithm.build, grid, n, {});
    EXPECT_TRUE(schedules[0].rounds.empty());
    EXPECT_TRUE(verify_neighbors(schedules, grid, n, algorithm.pattern).ok);
  }
}

TEST(NeighborCountsTest, AMeshSendsOnlyWhatArrives) {
  const Neighborhood n = moore(2, 1);
  const Grid grid{{3, 3}, {false, false}};
  std::uint64_t straight = 0, torus = 0;
  for (int me = 0; me < 9; ++me) {
    straight += count(neighbor_straightforward({&grid, &n, me, {}})).blocks_sent;
    torus += count(neighbor_torus({&grid, &n, me, {}})).blocks_sent;
  }
  EXPECT_EQ(straight, 40u);          // 24 along the axes, 16 to corners
  EXPECT_EQ(torus, 24u + 2u * 16u);  // nothing else
}

TEST(NeighborhoodTest, RankAt) {
  const Grid grid{{2, 3, 4}, {true, false, true}};
  EXPECT_EQ(grid.ranks(), 24);
  const auto at = [&grid](int me, std::vector<int> offset, int sign) { return rank_at(grid, me, offset, sign); };
  EXPECT_EQ(at(0, {0, 0, 0}, 1), 0);
  EXPECT_EQ(at(0, {1, 2, 3}, 1), 23);
  EXPECT_EQ(at(23, {1, 2, 3}, -1), 0);
  EXPECT_EQ(at(5, {-1, 0, -1}, 1), 16);
  EXPECT_EQ(at(5, {101, 0, 402}, 1), 12 + 7);
  EXPECT_EQ(at(5, {0, 2, 0}, 1), -1);
  EXPECT_EQ(at(5, {0, 2, 0}, -1), -1);
  EXPECT_EQ(at(5, {0, 1, 0}, 1), 9);
  EXPECT_EQ(at(5, {std::numeric_limits<int>::min(), 0, std::numeric_limits<int>::max()}, -1), 6);
}

TEST(NeighborhoodTest, CutOff) {
  const Machine machine{1e-6, 1e-9, 0};
  const Neighborhood n = moore(3, 1);
  const NeighborCounts torus = torus_counts(n);
  const double bytes = cut_off(machine, n.size(), torus.rounds, torus.blocks);
  EXPECT_NEAR(bytes, 1000.0 * 20 / 28, 1e-9);
  // Both cost the same there.
  const auto seconds = [&](std::int64_t rounds, std::int64_t blocks) {
    return machine.alpha * static_cast<double>(rounds) + machine.beta * bytes * static_cast<double>(blocks);
  };
  EXPECT_NEAR(seconds(26, 26), seconds(torus.rounds, torus.blocks), 1e-12);
  EXPECT_EQ(cut_off(machine, 6, 6, 6), 0);
  EXPECT_EQ(cut_off(machine, 6, 7, 9), 0);
  EXPECT_EQ(cut_off(machine, 6, 4, 6), std::numeric_limits<double>::infinity());
  EXPECT_EQ(cut_off({1e-6, 0, 0}, 6, 4, 8), std::numeric_limits<double>::infinity()) << "bytes cost nothing";
  EXPECT_EQ(cut_off({0, 1e-9, 0}, 6, 4, 8), 0) << "there is nothing to save";
  EXPECT_EQ(cut_off({0, 0, 0}, 6, 4, 8), 0);
}

// Six messages in one round, or four in four: two are saved, and three times more is waited.
TEST(NeighborhoodTest, CutOffWhereWaitingCosts) {
  EXPECT_DOUBLE_EQ(cut_off({1e-6, 1e-9, 0, 0, 0.5e-6}, 6, 4, 8), 250);
  EXPECT_EQ(cut_off({1e-6, 1e-9, 0, 0, 1e-6}, 6, 4, 8), 0);
}

// The k-th edge between two ranks pairs with the k-th, whatever lies between.
TEST(NeighborDirectTest, IsProvedOnRandomGraphs) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto ranks = 1 + random() % 6;
    std::vector<std::vector<int>> sources(ranks), destinations(ranks);
    for (std::uint32_t edge = random() % 30; edge > 0; --edge) {
      const auto from = random() % ranks, to = random() % ranks;
      destinations[from].push_back(static_cast<int>(to));
      sources[to].push_back(static_cast<int>(from));
    }
    std::vector<Schedule> schedules, gathers;
    for (std::size_t me = 0; me < ranks; ++me) {
      std::shuffle(sources[me].begin(), sources[me].end(), random);
      std::shuffle(destinations[me].begin(), destinations[me].end(), random);
      if (random() % 4 == 0) sources[me].insert(sources[me].begin(), -2);  // no neighbour
      if (random() % 4 == 0) destinations[me].push_back(-2);
      const auto rank = static_cast<int>(me);
      schedules.push_back(neighbor_direct(rank, sources[me], destinations[me]));
      gathers.push_back(neighbor_direct(rank, sources[me], destinations[me], Pattern::allgather));
    }
    const Report report = verify_graph(schedules, sources, destinations);
    ASSERT_TRUE(report.ok) << report.what;
    const Report gather = verify_graph(gathers, sources, destinations, Pattern::allgather);
    ASSERT_TRUE(gather.ok) << gather.what;
  }
}

// MPI's Cartesian communicators number recv blocks by where they come from. With an extent of 2
// both neighbours are the same process: what it sends down must come where I await what is above.
TEST(NeighborDirectTest, CartesianNumbering) {
  const Neighborhood n = von_neumann(1);
  for (const BuildNeighbors build : {neighbor_straightforward, neighbor_torus}) {
    for (const int extent : {1, 2, 3}) {
      const Grid grid{{extent}, {true}};
      auto schedules = build_all(build, grid, n, {});
      proof::Wishes wishes;
      const auto renumber = [](Span& span) {
        if (span.buffer == Buffer::recv) span.block = 1 - span.block;
      };
      for (int me = 0; me < extent; ++me) {
        Schedule& schedule = schedules[static_cast<std::size_t>(me)];
        for (Span& span : schedule.spans) renumber(span);
        for (Copy& copy : schedule.copies) renumber(copy.from), renumber(copy.to);
        wishes.send_blocks.push_back(2);
        const int below = (me + extent - 1) % extent, above = (me + 1) % extent;
        wishes.recv.push_back({{below, 1}, {above, 0}});
      }
      const NodeMap nodes = one_node(extent);
      const Report report = proof::check_all(proof::Subject(schedules, nodes, wishes), 3, 1);
      EXPECT_TRUE(report.ok) << report.what;
    }
  }
}

}  // namespace
}  // namespace quadrille::plan
