// The simulated figures of Fan et al.: what is simulated at their points, their claims, and the stored data by
// simulating again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/figure/bruck_list.hpp"
#include "lab/figure/computed.hpp"
#include "lab/simulate/network.hpp"
#include "stored_figure.hpp"

namespace quadrille::tools {
namespace {

using testing::HasSubstr;

SimulatedFigure simulated(const std::string& name) {
  for (SimulatedFigure& f : simulated_bruck_figures()) {
    if (f.name == name) return std::move(f);
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

// "the total data transmitted per process with the power-law at 4,096 process count is 203,928 bytes compared to
// 1,593,933 bytes"
TEST(BruckLoads, TheSecondPowerLawHasThePapersTotal) {
  EXPECT_EQ(power_mean(0.995)(1024, 4096) * 4096, 203928);
  EXPECT_NE(power_mean(0.999)(1024, 4096) * 4096, 203928);
  EXPECT_EQ(power_mean(0.5)(8, 6) * 6, 8 + 4 + 2 + 1);  // and nothing but whole bytes
}

TEST(BruckLoads, AreTheMeansOfTheirDistributions) {
  EXPECT_EQ(uniform_mean()(64, 9), 32);
  EXPECT_EQ(window_mean(100)(64, 9), 32);
  EXPECT_EQ(window_mean(50)(64, 9), 48);
  EXPECT_EQ(window_mean(0)(64, 9), 64);
  EXPECT_EQ(equal_mean()(64, 9), 64);
}

std::vector<SimulatedPoint> points_of(const SimulatedLine& line, int ranks, std::size_t bytes) {
  return simulate_points({{"", false, {ranks}, {bytes}, uniform_mean(), {line}}}, "theta");
}

TEST(BruckPoints, PaddedBlocksAreAsLargeAsTheLargest) {
  const SimulatedFigure f = simulated("bruck-6-simulated");
  for (const SimulatedLine& line : f.panels[0].lines) {
    const auto points = points_of(line, 8, 64);
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].why_not, "") << line.label;
    EXPECT_GT(points[0].microseconds, 0) << line.label;
    EXPECT_EQ(points[0].mean, line.label.starts_with("padded") ? 64 : 32) << line.label;
    EXPECT_EQ(points[0].algorithm.starts_with("padded"), line.label.starts_with("padded")) << line.label;
  }
}

// As coll_selection.json of MPICH says for an all-to-all of 16 and of 512 bytes.
TEST(BruckPoints, PaddedAlltoallIsWhatMpichTakesForBlocksOfThatSize) {
  const SimulatedLine line = {"padded-alltoall", "", Collective::alltoallv, true};
  EXPECT_EQ(points_of(line, 16, 16)[0].algorithm, "padded-basic-bruck:radix=2");
  EXPECT_EQ(points_of(line, 16, 512)[0].algorithm, "padded-waitall-stride:stride=32");
}

// Basic Bruck rotates P blocks before and P behind.
TEST(BruckPoints, WithoutRotationsTheirCopiesAreMissingAlone) {
  const auto time = [](const char* algorithm, bool without) {
    const SimulatedLine line = {"", algorithm, Collective::alltoall, false, without};
    return simulate_points({{"", true, {16}, {32}, equal_mean(), {line}, 1}}, "theta")[0].microseconds;
  };
  simulate::Network network;
  ASSERT_EQ(simulate::read_network("theta", network), "");
  const double copy = (network.copied_block + 32 * network.copied_byte) / 1000;
  EXPECT_NEAR(time("basic-bruck:radix=2", false) - time("basic-bruck:radix=2", true), 2 * 16 * copy, 16 * copy * 0.1);
  EXPECT_NEAR(time("modified-bruck:radix=2", false) - time("modified-bruck:radix=2", true), 16 * copy, 16 * copy * 0.1);
  EXPECT_EQ(time("zero-rotation-bruck:radix=2", false), time("zero-rotation-bruck:radix=2", true));
}

// A line that does what another does, or sends the same messages in other windows, says so; one of the same times by
// chance not.
TEST(BruckPoints, LinesThatAreAlikeSaySo) {
  const SimulatedLine one = {"one", "spread-out"}, other = {"other", "spread-out"},
                      windows = {"windows", "waitall-stride:stride=3"}, bruck = {"bruck", "two-phase-bruck:radix=2"};
  const auto points = simulate_points({{"", false, {8}, {64}, uniform_mean(), {one, other, windows, bruck}}}, "theta");
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].identical_to + points[0].same_messages_as, "");
  EXPECT_EQ(points[1].identical_to, "one");
  EXPECT_EQ(points[2].identical_to, "");
  EXPECT_EQ(points[2].same_messages_as, "one");
  EXPECT_EQ(points[3].identical_to + points[3].same_messages_as, "");
}

TEST(BruckPoints, TheEndsOfANetworkFavourOneWayOrTheOther) {
  const SimulatedLine direct = {"", "spread-out"}, bruck = {"", "two-phase-bruck:radix=2,eager=0"};
  const SimulatedPoint few_copies = points_of(direct, 256, 64)[0], many_copies = points_of(bruck, 256, 64)[0];
  const auto ratio = [&](std::size_t end) { return few_copies.at_ends[end] / many_copies.at_ends[end]; };
  const double usual = few_copies.microseconds / many_copies.microseconds;
  EXPECT_LT(few_copies.at_ends[0], few_copies.microseconds);
  EXPECT_GT(few_copies.at_ends[1], few_copies.microseconds);
  EXPECT_LT(ratio(2), usual);
  EXPECT_GT(ratio(3), usual);
}

// Two lines of one time: no verdict if one sends the other's messages, else one.
TEST(BruckClaims, OfLinesThatAreAlikeHaveNoVerdict) {
  const auto figure = computed_figure("bruck-6-simulated");
  ASSERT_TRUE(figure);
  nlohmann::ordered_json json = {{"panels", nlohmann::ordered_json::array()}};
  for (std::size_t panel = 0; panel < 9; ++panel) json["panels"].push_back({{"rows", nlohmann::ordered_json::array()}});
  nlohmann::ordered_json row = {{"line", "two-phase"}, {"ranks", 1024}, {"bytes", 256}};
  for (const char* us : {"us", "fast_us", "slow_us", "copying_us", "sending_us"}) row[us] = 1;
  nlohmann::ordered_json& rows = json["panels"][3]["rows"];
  rows.push_back(row);
  row["line"] = "MPI";
  rows.push_back(row);
  const auto verdict = [&](nlohmann::ordered_json data) {
    for (const auto& claim : figure->claims(data)) {
      if (claim["text"].get<std::string>().starts_with("1024 ranks, N = 256"))
        return claim["verdict"].get<std::string>();
    }
    return std::string();
  };
  EXPECT_EQ(verdict(json), "disagrees");
  rows[1]["same_messages_as"] = "two-phase";
  EXPECT_EQ(verdict(json), "cannot be told");
}

// "But not at N = 2,048" is a crossover only where two-phase is ahead up to 1,024.
TEST(BruckClaims, ACrossoverNeedsBothSides) {
  const auto figure = computed_figure("bruck-6-simulated");
  ASSERT_TRUE(figure);
  const auto claim_where_mpi_takes = [&](double near, double far) {
    nlohmann::ordered_json json = {{"panels", nlohmann::ordered_json::array()}};
    for (int panel = 0; panel < 9; ++panel) json["panels"].push_back({{"rows", nlohmann::ordered_json::array()}});
    for (const char* line : {"two-phase", "MPI"}) {
      for (const std::size_t bytes : {1024, 2048}) {
        nlohmann::ordered_json row = {{"line", line}, {"ranks", 256}, {"bytes", bytes}};
        const double us = line == std::string("MPI") ? (bytes == 1024 ? near : far) : 1;
        for (const char* name : {"us", "fast_us", "slow_us", "copying_us", "sending_us"}) row[name] = us;
        json["panels"][1]["rows"].push_back(row);
      }
    }
    for (const auto& claim : figure->claims(json)) {
      if (claim["text"] == "256 ranks: but not at N = 2048") return claim;
    }
    return nlohmann::ordered_json();
  };
  EXPECT_EQ(claim_where_mpi_takes(1.5, 0.5).at("verdict"), "agrees");
  EXPECT_EQ(claim_where_mpi_takes(1.5, 1.2).at("verdict"), "disagrees");
  EXPECT_EQ(claim_where_mpi_takes(0.8, 0.5).at("verdict"), "disagrees");
  EXPECT_EQ(claim_where_mpi_takes(0.8, 0.5).at("note"), "no crossover: 0.80 on the near side");
}

// bench/theta.py writes there what it fitted.
TEST(Theta, HasTheConstantsOfTheFit) {
  std::ifstream file(std::string(QUADRILLE_RESULTS) + "/between-nodes/theta.json");
  const auto fit = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(fit.is_object());
  simulate::Network network;
  ASSERT_EQ(simulate::read_network("theta", network), "");
  for (const auto& way : fit["ways"]) {
    if (way["way"] != fit["chosen"]) continue;
    for (const simulate::NetworkField& field : simulate::network_fields()) {
      EXPECT_EQ(network.*(field.value), way["network"][std::string(field.name)]) << field.name;
    }
    return;
  }
  ADD_FAILURE() << "the chosen way is not there";
}

// Each claim looks at lines, ranks and sizes that are there, or says why not.
TEST(BruckClaims, LookAtWhatIsSimulated) {
  std::vector<SimulatedFigure> all = simulated_bruck_figures();
  for (SimulatedFigure& f : simulated_node_figures()) all.push_back(std::move(f));
  for (const SimulatedFigure& f : all) {
    const TimeOf there = [&](std::size_t panel, const std::string& line, int ranks, std::size_t bytes) -> double {
      if (panel >= f.panels.size()) return 0;
      const SimulatedPanel& p = f.panels[panel];
      const auto has = [](const auto& all, const auto& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
      };
      const bool has_line =
          std::any_of(p.lines.begin(), p.lines.end(), [&](const SimulatedLine& l) { return l.label == line; });
      if (!has_line || !has(p.ranks, ranks) || !has(p.sizes, bytes)) return 0;
      return line == "two-phase" ? 1 : 2;
    };
    for (const SimulatedClaim& claim : f.claims) {
      if (!claim.reason.empty()) continue;
      EXPECT_FALSE(claim.here(there) < 0) << f.name << ": " << claim.text;
    }
  }
}

TEST(BruckClaims, ABorderIsTheLastSizeOfThoseAhead) {
  const SimulatedFigure f = simulated("bruck-9-simulated");
  const TimeOf ahead_to_512_and_at_2048 = [](std::size_t, const std::string& line, int, std::size_t bytes) {
    const bool ahead = bytes <= 512 || bytes == 2048;
    return line == "two-phase" ? (ahead ? 1.0 : 3.0) : 2.0;
  };
  EXPECT_EQ(f.claims[0].here(ahead_to_512_and_at_2048), 512);
  const TimeOf never = [](std::size_t, const std::string& line, int, std::size_t) {
    return line == "two-phase" ? 3.0 : 2.0;
  };
  EXPECT_EQ(f.claims[0].here(never), 0);
}

// 512 KiB of 6,144 ranks are 85 bytes of each: up to 64 bytes recursive doubling counts, from 128 to 2,048 a ring.
TEST(NodeClaims, TakeTheAllgatherThatTheMpiTakesForThatMuch) {
  const SimulatedFigure f = simulated_node_figures()[0];
  const TimeOf time = [](std::size_t, const std::string& line, int, std::size_t) {
    return line == "recursive doubling" ? 1.0 : line == "ring" ? 4.0 : 2.0;
  };
  EXPECT_NEAR(f.claims.back().here(time), std::pow(2, (5 - 7) / 12.0), 1e-9);
}

TEST(BruckSimulations, AreStoredAsTheyComeOut) {
  for (const char* name : {"bruck-2-simulated", "bruck-8-simulated"}) {
    const nlohmann::ordered_json json = expect_as_stored("bruck", name);
    EXPECT_THAT(computed_figure(name)->page(json), HasSubstr("Every number is simulated")) << name;
  }
}

}  // namespace
}  // namespace quadrille::tools
