// The shape of each distribution, against its exact formula, and values that no machine may change.
#include "tool/bench/distribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace quadrille::tools {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::uint64_t seed = 7;
constexpr std::size_t largest = 1000;

Traffic traffic_of(std::string_view text) {
  Traffic traffic;
  EXPECT_EQ(parse_traffic(text, traffic), "") << text;
  return traffic;
}

std::vector<std::size_t> row_of(const Traffic& traffic, std::uint64_t seed_of_it, std::size_t most, int ranks,
                                int source) {
  std::vector<std::size_t> row;
  for (int d = 0; d < ranks; ++d) {
    row.push_back(block_size(traffic, seed_of_it, most, ranks, source, d));
  }
  return row;
}

// All blocks of 200 ranks.
std::vector<std::size_t> sorted_blocks(std::string_view text, std::size_t most = largest) {
  const Traffic traffic = traffic_of(text);
  std::vector<std::size_t> all;
  for (int s = 0; s < 200; ++s) {
    for (const std::size_t size : row_of(traffic, seed, most, 200, s)) all.push_back(size);
  }
  std::sort(all.begin(), all.end());
  return all;
}

double mean_of(const std::vector<std::size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
}

// The share of sizes up to `size`.
double share_up_to(const std::vector<std::size_t>& sorted, std::size_t size) {
  const auto end = std::upper_bound(sorted.begin(), sorted.end(), size);
  return static_cast<double>(end - sorted.begin()) / static_cast<double>(sorted.size());
}

// ---- One seed, hard-coded: another number on any machine or after any change is a mistake. ----

struct Golden {
  const char* text;
  std::vector<std::size_t> first, second;  // rows 0 and 1 of eight ranks
};

TEST(GoldenSizes, AreTheSameEverywhere) {
  const Golden all[] = {
      {"uniform", {130, 910, 119, 827, 856, 761, 210, 364}, {799, 144, 559, 162, 633, 541, 833, 888}},
      {"window:50", {747, 570, 708, 529, 691, 957, 548, 618}, {601, 831, 766, 902, 776, 648, 850, 752}},
      {"normal", {83, 367, 648, 598, 353, 889, 210, 364}, {799, 577, 559, 630, 673, 541, 440, 734}},
      {"power:0.99", {932, 970, 990, 941, 961, 951, 1000, 980}, {980, 961, 951, 1000, 990, 970, 932, 941}},
      {"power:0.5", {8, 125, 500, 16, 63, 31, 1000, 250}, {250, 63, 31, 1000, 500, 125, 8, 16}},
      {"sparse", {0, 0, 0, 1000, 0, 0, 0, 1000}, {0, 0, 0, 0, 1000, 1000, 0, 0}},
      {"one-heavy", {15, 15, 15, 15, 15, 15, 1000, 15}, {15, 15, 15, 15, 15, 15, 1000, 15}},
  };
  for (const Golden& golden : all) {
    const Traffic traffic = traffic_of(golden.text);
    EXPECT_EQ(row_of(traffic, 1, 1000, 8, 0), golden.first) << golden.text;
    EXPECT_EQ(row_of(traffic, 1, 1000, 8, 1), golden.second) << golden.text;
  }
}

TEST(GoldenSizes, OfLargeBlocksHaveNoLastBitOfTheirOwn) {
  constexpr std::size_t most = std::size_t{1} << 46;
  // Sums over a row of 64 ranks.
  const auto sum = [&](const char* text) {
    const std::vector<std::size_t> row = row_of(traffic_of(text), 1, most, 64, 3);
    return std::accumulate(row.begin(), row.end(), std::size_t{0});
  };
  EXPECT_EQ(sum("uniform"), 1964696275816675u);
  EXPECT_EQ(sum("window:20"), 4033537354640026u);
  EXPECT_EQ(sum("normal"), 2209172543765730u);
  EXPECT_EQ(sum("power:0.999"), 4364623903149431u);
}

// ---- Shapes ----

TEST(Sizes, EqualBlocksAreAllOfTheLargestSize) { EXPECT_THAT(sorted_blocks("equal"), Each(largest)); }

TEST(Sizes, UniformFillsZeroToTheLargestEvenly) {
  const std::vector<std::size_t> sizes = sorted_blocks("uniform");
  EXPECT_EQ(sizes.front(), 0u);
  EXPECT_EQ(sizes.back(), largest);
  EXPECT_NEAR(mean_of(sizes), 500, 5);
  for (std::size_t at = 100; at < largest; at += 100) {
    EXPECT_NEAR(share_up_to(sizes, at), static_cast<double>(at + 1) / 1001, 0.01) << at;
  }
}

TEST(Sizes, AWindowOfRPercentEndsAtTheLargest) {
  for (const auto& [text, least] : {std::pair{"window:20", 800u}, {"window:80", 200u}}) {
    const std::vector<std::size_t> sizes = sorted_blocks(text);
    EXPECT_EQ(sizes.front(), least) << text;
    EXPECT_EQ(sizes.back(), largest) << text;
    EXPECT_NEAR(mean_of(sizes), (least + 1000.0) / 2, 5) << text;
    EXPECT_NEAR(share_up_to(sizes, (least + largest) / 2), 0.5, 0.01) << text;
  }
  EXPECT_THAT(sorted_blocks("window:0"), Each(largest));
  EXPECT_EQ(sorted_blocks("window:100"), sorted_blocks("uniform"));
  // A bound between two numbers is rounded up, so that no block is smaller than (100-R)%.
  EXPECT_EQ(sorted_blocks("window:50", 15).front(), 8u);
}

TEST(Sizes, NormalFollowsItsFormulaBetweenThreeSigma) {
  const std::vector<std::size_t> sizes = sorted_blocks("normal", 6000);
  const double sigma = 1000;
  EXPECT_LE(sizes.back(), 6000u);
  EXPECT_NEAR(mean_of(sizes), 3000, 20);
  double square = 0;
  for (const std::size_t size : sizes) square += std::pow(static_cast<double>(size) - 3000, 2);
  // Cut at 3 sigma, the deviation is 0.98658 sigma.
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(sizes.size())), 0.98658 * sigma, 15);
  const auto phi = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  for (double z = -2.75; z < 3; z += 0.25) {
    const double share = (phi(z) - phi(-3)) / (phi(3) - phi(-3));
    EXPECT_NEAR(share_up_to(sizes, static_cast<std::size_t>(3000 + z * sigma)), share, 0.01) << z;
  }
  // Its ends, which a sum of uniform numbers would not have: 0.13% each beyond 2.5 .. 3 sigma.
  EXPECT_NEAR(share_up_to(sizes, 500), (phi(-2.5) - phi(-3)) / (phi(3) - phi(-3)), 0.001);
}

TEST(Sizes, NormalOfTinyBlocksIsStillWithinItsBounds) {
  EXPECT_THAT(sorted_blocks("normal", 0), Each(0u));
  // 0, 1, 2 lie at -3, 0 and 3 sigma: exp(-4.5) against 1.
  const std::vector<std::size_t> sizes = sorted_blocks("normal", 2);
  EXPECT_EQ(sizes.back(), 2u);
  EXPECT_NEAR(share_up_to(sizes, 0), std::exp(-4.5) / (1 + 2 * std::exp(-4.5)), 0.002);
}

TEST(Sizes, APowerLawSendsEachPowerOnce) {
  for (const auto& [text, base] : {std::pair{"power:0.99", 0.99}, {"power:0.5", 0.5}}) {
    const Traffic traffic = traffic_of(text);
    std::vector<std::size_t> expected;
    for (int i = 0; i < 100; ++i) {
      expected.push_back(static_cast<std::size_t>(std::lround(largest * std::pow(base, i))));
    }
    for (const int source : {0, 1, 99}) {
      EXPECT_THAT(row_of(traffic, seed, largest, 100, source), testing::UnorderedElementsAreArray(expected)) << text;
    }
  }
}

TEST(Sizes, APowerLawHasTheMeanOfItsSeries) {
  // N (1 - b^P) / (P (1 - b)).
  const double exact = 1000 * (1 - std::pow(0.999, 200)) / (200 * 0.001);
  EXPECT_NEAR(mean_of(sorted_blocks("power:0.999")), exact, 0.5);
}

TEST(Sizes, APowerLawGoesToEveryDestinationAlike) {
  // The mean of what a rank receives differs from the mean of all only by chance.
  const Traffic traffic = traffic_of("power:0.9");
  for (const int destination : {0, 1, 31, 63}) {
    double sum = 0;
    for (int s = 0; s < 64; ++s) {
      for (std::uint64_t one = 0; one < 64; ++one) {
        sum += static_cast<double>(block_size(traffic, one, largest, 64, s, destination));
      }
    }
    EXPECT_NEAR(sum / (64 * 64), 1000 / (64 * 0.1), 20) << destination;
  }
}

TEST(Sizes, SparseRanksSendToSoManyOthers) {
  for (const auto& [text, degree] : {std::pair{"sparse", 2}, {"sparse:5", 5}, {"sparse:0", 0}}) {
    const Traffic traffic = traffic_of(text);
    std::vector<int> received(50);
    for (int s = 0; s < 50; ++s) {
      const std::vector<std::size_t> row = row_of(traffic, seed, largest, 50, s);
      EXPECT_EQ(std::count(row.begin(), row.end(), largest), degree) << text;
      EXPECT_EQ(std::count(row.begin(), row.end(), 0u), 50 - degree) << text;
      EXPECT_EQ(row[static_cast<std::size_t>(s)], 0u) << text;
      for (std::size_t d = 0; d < 50; ++d) received[d] += row[d] > 0 ? 1 : 0;
    }
    // Destinations are drawn, not the same for all.
    EXPECT_LE(*std::max_element(received.begin(), received.end()), 5 * degree) << text;
  }
}

TEST(Sizes, FewRanksSendToAllTheOthers) {
  const Traffic traffic = traffic_of("sparse:9");
  EXPECT_THAT(row_of(traffic, seed, largest, 3, 1), ElementsAre(largest, 0, largest));
  EXPECT_THAT(row_of(traffic, seed, largest, 1, 0), ElementsAre(0));
}

TEST(Sizes, OneHeavyRankSendsAndReceivesMore) {
  for (const auto& [text, light] : {std::pair{"one-heavy", 15u}, {"one-heavy:10", 100u}}) {
    const Traffic traffic = traffic_of(text);
    const int heavy = heavy_rank(seed, 20);
    for (int s = 0; s < 20; ++s) {
      for (int d = 0; d < 20; ++d) {
        EXPECT_EQ(block_size(traffic, seed, largest, 20, s, d), s == heavy || d == heavy ? largest : light);
      }
    }
  }
  std::set<int> ranks;
  for (std::uint64_t one = 0; one < 200; ++one) ranks.insert(heavy_rank(one, 20));
  EXPECT_EQ(ranks.size(), 20u);
}

TEST(Sizes, AMatrixIsScaledToTheLargestSize) {
  Traffic traffic = traffic_of("file:x");
  auto matrix = std::make_shared<TrafficMatrix>();
  ASSERT_EQ(parse_matrix("0 1\n400 3\n", "x", 2, *matrix), "");
  traffic.matrix = matrix;
  EXPECT_THAT(row_of(traffic, seed, 400, 2, 0), ElementsAre(0, 1));
  EXPECT_THAT(row_of(traffic, seed, 400, 2, 1), ElementsAre(400, 3));
  EXPECT_THAT(row_of(traffic, seed, 1000, 2, 0), ElementsAre(0, 3));  // 2.5
  EXPECT_THAT(row_of(traffic, seed, 1000, 2, 1), ElementsAre(1000, 8));
  ASSERT_EQ(parse_matrix("0 0\n0 0\n", "x", 2, *matrix), "");
  EXPECT_THAT(row_of(traffic, seed, 1000, 2, 1), ElementsAre(0, 0));
}

TEST(Sizes, OfAStencilAreGhostCells) {
  EXPECT_EQ(stencil_size(512 * 512, 3, 1), 512u * 512);
  EXPECT_EQ(stencil_size(512 * 512, 3, 2), 512u);
  EXPECT_EQ(stencil_size(512 * 512, 3, 3), 1u);
  EXPECT_EQ(stencil_size(4095, 4, 2), 15u * 15);  // 15^3 fits, 16^3 does not
  EXPECT_EQ(stencil_size(100, 1, 1), 100u);
  EXPECT_EQ(stencil_size(100, 2, 2), 1u);
  EXPECT_EQ(stencil_size(0, 3, 1), 0u);
  EXPECT_EQ(stencil_size(0, 3, 2), 0u);
  EXPECT_EQ(stencil_size(std::size_t{1} << 46, 2, 1), std::size_t{1} << 46);
  EXPECT_EQ(stencil_size(std::size_t{1} << 46, 5, 4), 2896u);  // the fourth root of 2^46
}

TEST(Sizes, OfOtherSeedsDiffer) {
  for (const char* text : {"uniform", "window:50", "normal", "power:0.9", "sparse:3"}) {
    const Traffic traffic = traffic_of(text);
    EXPECT_NE(row_of(traffic, 1, largest, 64, 0), row_of(traffic, 2, largest, 64, 0)) << text;
    EXPECT_NE(row_of(traffic, 1, largest, 64, 0), row_of(traffic, 1, largest, 64, 1)) << text;
  }
}

TEST(GatheredSizes, HaveTheShapeToo) {
  std::vector<std::size_t> sizes;
  const auto gather = [&](const char* text) {
    sizes.clear();
    for (int s = 0; s < 64; ++s) {
      sizes.push_back(gathered_size(traffic_of(text), seed, largest, 64, s));
    }
  };
  gather("power:0.9");
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 900u), 1);
  EXPECT_NEAR(mean_of(sizes), 1000 * (1 - std::pow(0.9, 64)) / (64 * 0.1), 1);
  gather("sparse:5");
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), largest), 5);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 0u), 59);
  gather("one-heavy:10");
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), largest), 1);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 100u), 63);
  gather("window:10");
  EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), 900u);
}

}  // namespace
}  // namespace quadrille::tools
