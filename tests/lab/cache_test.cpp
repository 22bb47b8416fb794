// The simulated caches, by cases small enough to count by hand, the equations by the paper's own example, and the
// stored tables by counting them again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/cache/equations.hpp"
#include "lab/cache/lru.hpp"
#include "lab/cache/misses.hpp"
#include "lab/figure/computed.hpp"
#include "stored_figure.hpp"

namespace quadrille::lab {
namespace {

using plan::Buffer;

// The misses among the uses, as a string of hits and misses.
std::string uses(std::size_t lines, const std::vector<std::uint64_t>& of) {
  LruCache cache(lines);
  std::string said;
  for (const std::uint64_t line : of) said += cache.use(line) ? 'h' : 'm';
  return said;
}

TEST(LruCache, TheLineThatWasUsedLeastRecentlyGoes) {
  EXPECT_EQ(uses(2, {1, 2, 1, 3, 1, 2}), "mmhmhm");  // 3 drives 2 out, as 1 was used after it
  EXPECT_EQ(uses(2, {1, 2, 3, 1}), "mmmm");
  EXPECT_EQ(uses(3, {1, 2, 3, 1, 4, 2, 3, 1}), "mmmhmmmm");
  EXPECT_EQ(uses(1, {7, 7, 8, 7}), "mhmm");
  EXPECT_EQ(uses(0, {7, 7}), "mh");  // at least one
}

// Walking round one line more than fit misses always; as many as fit, only the first time.
TEST(LruCache, ACycleFitsOrNeverHits) {
  for (const std::size_t size : {1, 2, 5, 64, 1000}) {
    for (const std::size_t cycle : {size, size + 1}) {
      LruCache cache(size);
      std::size_t misses = 0;
      for (std::size_t i = 0; i < 5 * cycle; ++i) misses += cache.use((i % cycle) << 40) ? 0 : 1;
      EXPECT_EQ(misses, cycle == size ? size : 5 * cycle) << size;
    }
  }
}

plan::Copy copy(int from, int from_block, int to, int to_block) {
  return {{from, from_block, Buffer::send}, {to, to_block, Buffer::recv}};
}

std::uint64_t count(const CopiesOfRanks& copies, std::size_t block, std::size_t lines, std::vector<int> sharing = {},
                    Start start = Start::empty) {
  return count_misses(copies, {block, 2, 2}, {lines * 64, 64, std::move(sharing)}, start);
}

TEST(Misses, BlocksOfALineShareNone) {
  const CopiesOfRanks two = {{copy(0, 0, 0, 0), copy(1, 0, 0, 1)}};
  EXPECT_EQ(count(two, 64, 100), 4U);
  EXPECT_EQ(count(two, 8, 100), 3U);   // both destinations lie in one line
  EXPECT_EQ(count(two, 96, 100), 7U);  // 2 + 2 lines; then 2 of the source, and line 1 is there
  EXPECT_EQ(count(two, 96, 1), 8U);    // but not if it had to go
  EXPECT_EQ(count(two, 0, 100), 0U);
}

TEST(Misses, ASourceThatIsUsedAgainIsThereIfTheCacheHoldsIt) {
  const CopiesOfRanks gather = {{copy(0, 0, 0, 0), copy(0, 0, 1, 0)}};
  EXPECT_EQ(count(gather, 128, 4), 2U + 2 + 2);
  EXPECT_EQ(count(gather, 128, 2), 8U);  // source 0, destination 0, source 1 drives out source 0
}

TEST(Misses, EachRankHasACacheUnlessTheyShareOne) {
  const CopiesOfRanks same_source = {{copy(0, 0, 0, 0)}, {copy(0, 0, 1, 0)}};
  EXPECT_EQ(count(same_source, 64, 10), 4U);
  EXPECT_EQ(count(same_source, 64, 10, {0, 0}), 3U);
  EXPECT_EQ(count(same_source, 64, 10, {0, 1}), 4U);
  // In turns: with one line a shared cache keeps nothing between the two.
  EXPECT_EQ(count(same_source, 64, 1, {0, 0}), 4U);
}

TEST(Misses, OwnBuffersAreThereAtTheStartOfFigure9) {
  const CopiesOfRanks pulled = {{copy(0, 0, 0, 0), copy(1, 0, 0, 1)}, {}};
  EXPECT_EQ(count(pulled, 64, 10, {}, Start::own_buffers), 1U);  // the block of rank 1
  EXPECT_EQ(count(pulled, 64, 10, {0, 0}, Start::own_buffers), 0U);
  // Three lines hold the end of what was walked through: send block 1, and the recv buffer. Send block 0 drives out
  // block 1, and that of rank 1 then drives out recv block 1, whose turn it was.
  EXPECT_EQ(count(pulled, 64, 3, {}, Start::own_buffers), 3U);
}

// Whatever the order, all lines come once at least; with caches that hold all no rank brings one twice.
TEST(Misses, OfAllOrdersAreAtLeastTheLinesThereAre) {
  for (const int ranks : {2, 7, 16}) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const char* algorithm : {"sh-naive", "sh-co", "sh-numa-co"}) {
      const CopiesOfRanks copies = copies_of(Collective::alltoall, algorithm, ranks, {});
      const Buffers buffers = buffers_of(Collective::alltoall, ranks, 64);
      std::vector<int> together(p, 0);
      EXPECT_EQ(count_misses(copies, buffers, {64, 64, {}}, Start::empty), 2 * p * p);
      EXPECT_EQ(count_misses(copies, buffers, {std::size_t{1} << 18, 64, together}, Start::empty), 2 * p * p);
    }
  }
}

TEST(Misses, LargeBlocksMayBeCountedInPieces) {
  const std::vector<int> domains = {0, 0, 0, 0, 1, 1, 1, 1};
  for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
    for (const char* algorithm : {"sh-naive", "sh-co", "sh-numa-co"}) {
      const CopiesOfRanks copies = copies_of(collective, algorithm, 8, domains);
      const Buffers buffers = buffers_of(collective, 8, 128 << 10);
      ASSERT_EQ(lines_together(buffers.block_bytes, 64), 32U);
      for (const std::size_t bytes : {32U << 10, 256U << 10, 2048U << 10}) {
        for (const Start start : {Start::empty, Start::own_buffers}) {
          for (const std::vector<int>& sharing : {std::vector<int>{}, domains}) {
            const Cache cache{bytes, 64, sharing};
            const auto one = static_cast<double>(count_misses(copies, buffers, cache, start));
            EXPECT_NEAR(static_cast<double>(count_misses_in_pieces(copies, buffers, cache, start)), one, 8 * 31)
                << algorithm << bytes;
          }
        }
      }
    }
  }
  EXPECT_EQ(lines_together(4096, 64), 1U);
  EXPECT_EQ(lines_together(2 << 20, 64), 64U);
}

// Section 4.1.2: "4190" and "7907" a process.
TEST(Equations, GiveThePapersExample) {
  const IdealCache c{72, 4096, 256 * 1024, 70.4, 80.6};
  EXPECT_EQ(case_of(c), Case::exceeds);
  EXPECT_NEAR(allgather_co(c) / 72, 4190, 0.5);
  EXPECT_NEAR(allgather_naive(c) / 72, 7907, 0.5);
}

TEST(Equations, HaveThreeCases) {
  const IdealCache large{72, 200 * 1024, 256 * 1024}, small{72, 8, 256 * 1024};
  EXPECT_EQ(case_of(large), Case::too_large);
  EXPECT_EQ(case_of(small), Case::fits);
  EXPECT_DOUBLE_EQ(allgather_co(large), allgather_naive(large));
  EXPECT_DOUBLE_EQ(allgather_co(small), 72 * (1 + 9));
  EXPECT_DOUBLE_EQ(allgather_co_bound(small), 72 * 72 * 8 / 64.0 + std::pow(72, 1.5));
  EXPECT_DOUBLE_EQ(alltoall_naive(small), 72 * (9 + 72));
  EXPECT_DOUBLE_EQ(alltoall_co(small), 2 * 72 * 9);
}

}  // namespace
}  // namespace quadrille::lab

namespace quadrille::tools {
namespace {

double ratio(const nlohmann::ordered_json& json, const char* cache, std::size_t bytes) {
  for (const auto& row : json.at("counts")) {
    if (row["cache"] == cache && row["bytes"] == bytes && row["start"] == "empty" && row["line_bytes"] == 64) {
      return row["naive_over"]["SH-CO"];
    }
  }
  return 0;
}

std::string verdict(const std::string& paper, double here, const std::string& reason = "") {
  return claim_of_number("it is faster", "a", "b", paper, here, reason).at("verdict");
}

TEST(ComputedClaims, NoDifferenceIsNotTheDifferenceOfThePaper) {
  EXPECT_EQ(verdict("1.19", 1.0), "disagrees");
  EXPECT_EQ(verdict("1.19", 1.02), "agrees");
  EXPECT_EQ(verdict("1.05", 1.0), "agrees");
  EXPECT_EQ(verdict("0.85", 1.0), "disagrees");
  EXPECT_EQ(verdict("0.85", 0.98), "agrees");
  EXPECT_EQ(verdict("2.00", 1.5), "disagrees");
  EXPECT_EQ(verdict("above 1", 1.5), "agrees");
  EXPECT_EQ(verdict("above 1", 0.9), "disagrees");
  EXPECT_EQ(verdict("2.00", 0), "disagrees");
  EXPECT_EQ(verdict("0.9 to 1.1", 1.0), "agrees");
  EXPECT_EQ(verdict("2.00", -1, "it was not simulated"), "cannot be told");
  EXPECT_EQ(verdict("2.00", 2, "it was not simulated"), "cannot be told");
}

// Of several assumptions all must lead to it.
TEST(ComputedClaims, OnSeveralAssumptions) {
  const auto claim = [](std::vector<double> here) {
    return claim_of_numbers("it is faster", "a", "b", "above 1", here);
  };
  EXPECT_EQ(claim({1.5, 1.1, 2}).at("verdict"), "agrees");
  EXPECT_EQ(claim({1.5, 0.9, 2}).at("verdict"), "cannot be told");
  EXPECT_EQ(claim({1.5, 0.9, 2}).at("reason"), "the networks differ");
  EXPECT_EQ(claim({0.5, 0.9, 0.7}).at("verdict"), "disagrees");
  EXPECT_EQ(claim({-1, 0.9, 0.7}).at("verdict"), "cannot be told");
  EXPECT_EQ(claim({1.5, 0.9, 2}).at("least"), 0.9);
  EXPECT_NE(claims_table(nlohmann::ordered_json::array({claim({1.5, 0.9, 2})}))
                .find("| 1.50 (0.90..2.00) | cannot be told: the networks differ |"),
            std::string::npos);
}

// The paper's tables are of caches with a rank's own buffers in them.
TEST(CacheTables, AreJudgedAsThePaperMeasured) {
  const nlohmann::ordered_json json = expect_as_stored("cache-oblivious", "co-table-1");
  const nlohmann::ordered_json claims = computed_figure("co-table-1")->claims(json);
  for (const auto& row : json.at("counts")) {
    if (row["start"] != "own buffers") continue;
    const std::string text = row["cache"].get<std::string>() + ", " + row["bytes"].dump() + " bytes: fewer misses";
    const bool fills =
        (row["cache"] == "L1" && row["bytes"] >= 32768) || (row["cache"] == "L2" && row["bytes"] >= 262144);
    for (const auto& claim : claims) {
      if (claim["text"] != text) continue;
      const std::string line = claim["fast"];
      EXPECT_EQ(claim["here"], row["naive_over"][line]) << text;
      // Of a block that fills the cache nothing is told by any order.
      EXPECT_EQ(claim["verdict"] == "cannot be told", fills) << text;
    }
  }
  EXPECT_EQ(claims.size(), 36u);
}

TEST(CacheTables, AreStoredAsTheyComeOut) {
  for (const char* name : {"co-table-1", "co-table-2"}) {
    const nlohmann::ordered_json json = expect_as_stored("cache-oblivious", name);
    if (name != std::string("co-table-1")) continue;
    EXPECT_NEAR(ratio(json, "L2", 512), 1.7, 0.05);
    EXPECT_NEAR(ratio(json, "L2", 4096), 1.7, 0.05);
    EXPECT_NEAR(ratio(json, "L2", 32768), 1.4, 0.05);
  }
}

}  // namespace
}  // namespace quadrille::tools
