// The commands that need no MPI: verify, show, list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../temp_folder.hpp"
#include "choose/registry.hpp"
#include "plan/neighborhood.hpp"
#include "team/numa.hpp"
#include "tool/plans/list.hpp"
#include "tool/plans/show.hpp"
#include "tool/plans/verify.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {
namespace {

using testing::HasSubstr;

struct Ran {
  int status;
  std::string out, err;
};

template <class Command>
Ran run(Command command) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = command();
  std::fflush(stdout);
  std::fflush(stderr);
  std::string out = testing::internal::GetCapturedStdout();
  return {status, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(VerifyCommandTest, ProvesASelection) {
  VerifyOptions options;
  options.most_ranks = 6;
  options.algorithms = "spread-out";
  const Ran ran = run([&] { return verify_command(options); });
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* collective : {"alltoall ", "alltoallv", "alltoallw", "allgather ", "allgatherv"}) {
    EXPECT_THAT(ran.out, HasSubstr(collective));
  }
  EXPECT_THAT(ran.out, HasSubstr("all proved: "));
  options.collective = "allgather";
  options.quiet = true;
  const Ran quiet = run([&] { return verify_command(options); });
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST(VerifyCommandTest, ProvesNeighbourCollectives) {
  VerifyOptions options;
  options.most_ranks = 6;
  for (const char* algorithm : {"direct", "straightforward", "torus", "torus-direct", "basis"}) {
    options.algorithms = algorithm;
    const Ran ran = run([&] { return verify_command(options); });
    EXPECT_EQ(ran.status, 0) << ran.err;
    for (const char* collective :
         {"neighbor_alltoall ", "neighbor_alltoallw", "neighbor_allgatherv", "neighbor_allgatherw"}) {
      EXPECT_THAT(ran.out, HasSubstr(collective));
    }
    EXPECT_THAT(ran.out, HasSubstr("all proved: "));
  }
}

// A torus whose last message is not sent by anybody, received by all.
plan::Schedule broken_torus(const plan::NeighborProblem& problem) {
  plan::Schedule schedule = plan::neighbor_torus(problem);
  if (!schedule.rounds.empty() && schedule.rounds.back().sends.count > 0) --schedule.rounds.back().sends.count;
  return schedule;
}

TEST(VerifyCommandTest, ABrokenNeighbourAlgorithmIsNotProved) {
  choose::Choice choice;
  ASSERT_EQ(choose::parse_choice(Collective::neighbor_alltoall, "torus", choice), "");
  choose::Algorithm algorithm = *choice.algorithm;
  algorithm.build_neighbors = broken_torus;
  long cases = 0;
  const plan::Report report = prove(algorithm, Collective::neighbor_alltoall, 6, 1, cases);
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.what, HasSubstr("neighbor_alltoall torus"));
  EXPECT_THAT(report.what, HasSubstr("grid "));
  EXPECT_THAT(report.what, HasSubstr("offsets ("));
}

TEST(VerifyCommandTest, TellsOfAProofThatFailed) {
  VerifyOptions options;
  options.most_ranks = 6;
  options.algorithms = "spread-out";
  const Ran ran = run([&] {
    return verify_command(options, [](const choose::Algorithm&, Collective collective, int ranks, int, long&) {
      const bool fails = collective == Collective::alltoallv && ranks > 2;
      return plan::Report{!fails, fails ? "a block is missing, of " + std::to_string(ranks) : ""};
    });
  });
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAILED  a block is missing, of 3\n")) << "the least";
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("all proved")));
}

TEST(VerifyCommandTest, RefusesWhatItDoesNotKnow) {
  VerifyOptions options;
  options.most_ranks = 2;
  options.algorithms = "nosuch";
  const Ran unknown = run([&] { return verify_command(options); });
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("\"nosuch\"; known: spread-out, pairwise"));
  options.algorithms = "ring";
  options.collective = "alltoall";
  EXPECT_EQ(run([&] { return verify_command(options); }).status, 2);
  options.collective = "alltonone";
  EXPECT_EQ(run([&] { return verify_command(options); }).status, 2);
  VerifyOptions backwards;
  backwards.least_ranks = 4;
  backwards.most_ranks = 3;
  EXPECT_EQ(run([&] { return verify_command(backwards); }).status, 2);
}

TEST(VerifyCommandTest, ReadsRanks) {
  VerifyOptions options;
  EXPECT_EQ(parse_ranks("3:9", options), "");
  EXPECT_EQ(options.least_ranks, 3);
  EXPECT_EQ(options.most_ranks, 9);
  EXPECT_EQ(parse_ranks("17", options), "");
  EXPECT_EQ(options.least_ranks, 17);
  EXPECT_EQ(options.most_ranks, 17);
  for (const char* text : {"", ":", "1:", ":4", "0", "5:4", "-1:3", "x", "1:2:3", "99999999999"}) {
    EXPECT_NE(parse_ranks(text, options), "") << text;
  }
  EXPECT_EQ(options.least_ranks, 17);
}

TEST(ShowCommandTest, ShowsOneRankOrAll) {
  ShowOptions options;
  options.algorithm = "waitany-stride:stride=2";
  options.ranks = 4;
  options.me = 1;
  options.nodes = "blocked:1";
  const Ran one = run([&] { return show_command(options); });
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.out, HasSubstr("alltoall waitany-stride:stride=2\n\nrank 1 of 4, node 1\n"));
  EXPECT_THAT(one.out, HasSubstr("round 0 (2 pairs in flight, refilled as each completes)\n"));
  EXPECT_THAT(one.out, HasSubstr("  send  to 2: send[2]\n"));
  options.me = -1;
  const Ran all = run([&] { return show_command(options); });
  EXPECT_THAT(all.out, HasSubstr("rank 3 of 4"));
}

// In its first step a domain copies what comes from itself, so rank 1 of two domains has other blocks than of one.
TEST(ShowCommandTest, RanksTakeTheDomainsInTurn) {
  ShowOptions options;
  options.algorithm = "sh-numa-co";
  options.ranks = 4;
  options.me = 1;
  const Ran one = run([&] { return show_command(options); });
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("rank 1 of 4, node 0\n"));
  options.unit_domains = {0, 1};
  const Ran two = run([&] { return show_command(options); });
  EXPECT_THAT(two.out, HasSubstr("rank 1 of 4, node 0, NUMA domain 1\n"));
  EXPECT_NE(one.out.substr(one.out.find("fence")), two.out.substr(two.out.find("fence")));
  options.collective = "neighbor_alltoall";
  const Ran neighbours = run([&] { return show_command(options); });
  EXPECT_THAT(neighbours.out, HasSubstr("rank 1 of 4, NUMA domain 1\n")) << neighbours.err;
  options.unit_domains = {team::cache_label(4), team::cache_label(5)};
  EXPECT_THAT(run([&] { return show_command(options); }).out, HasSubstr("rank 1 of 4, L3 cache 5\n"));
  options.algorithm = "torus";  // domains are nothing to it
  EXPECT_THAT(run([&] { return show_command(options); }).out, HasSubstr("rank 1 of 4\n"));
}

TEST(ShowCommandTest, ShowsNeighbourCollectives) {
  ShowOptions options;
  options.collective = "neighbor_alltoall";
  options.neighborhood = "von-neumann:2";
  options.ranks = 12;
  options.me = 0;
  const Ran torus = run([&] { return show_command(options); });
  EXPECT_EQ(torus.status, 0) << torus.err;
  EXPECT_THAT(torus.out, HasSubstr("neighbor_alltoall torus:ports=1,pack=16384, grid 4x3, 4 neighbours\n"));
  EXPECT_THAT(torus.out, HasSubstr("offsets 0:(-1,0) 1:(1,0) 2:(0,-1) 3:(0,1)\n"));
  EXPECT_THAT(torus.out, HasSubstr("rank 0 of 12\nrounds 4, messages 4, blocks sent 4"));
  options.grid = "4mx3";
  options.algorithm = "direct";
  const Ran mesh = run([&] { return show_command(options); });
  EXPECT_EQ(mesh.status, 0) << mesh.err;
  EXPECT_THAT(mesh.out, HasSubstr("grid 4mx3"));
  EXPECT_THAT(mesh.out, HasSubstr("rounds 1, messages 3"));
}

TEST(ShowCommandTest, RefusesBadNeighbourhoods) {
  const auto problem = [](const char* neighborhood, const char* grid, int me) {
    ShowOptions options;
    options.collective = "neighbor_allgather";
    options.neighborhood = neighborhood;
    options.grid = grid;
    options.me = me;
    const Ran ran = run([&] { return show_command(options); });
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
    return ran.err;
  };
  EXPECT_THAT(problem("moor:2,1", "", -1), HasSubstr("--neighborhood=moor:2,1: expected"));
  EXPECT_THAT(problem("moore:2,1", "3x", -1), HasSubstr("--grid=3x: expected"));
  EXPECT_THAT(problem("moore:2,1", "3x3x3", -1), HasSubstr("has 3 dimensions"));
  EXPECT_THAT(problem("moore:2,1", "3x3", 9), HasSubstr("rank 9 is not one of the 9 ranks"));
}

// Offsets of one's own, on the command line and in a file: the same schedule.
TEST(ShowCommandTest, TakesOnesOwnOffsets) {
  const test::TempFolder folder;
  const std::string path = folder.file("offsets.txt");
  std::ofstream(path) << "# to the right, and back across\n1 0\n-1 -1\n";
  const auto shown = [](const std::string& neighborhood) {
    ShowOptions options;
    options.collective = "neighbor_alltoall";
    options.algorithm = "direct";
    options.neighborhood = neighborhood;
    options.grid = "4x3";
    options.me = 0;
    const Ran ran = run([&] { return show_command(options); });
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  };
  const std::string told = shown("offsets:1,0/-1,-1");
  EXPECT_THAT(told, HasSubstr("grid 4x3, 2 neighbours\noffsets 0:(1,0) 1:(-1,-1)\n"));
  EXPECT_EQ(shown("file:" + path), told);
}

TEST(ShowCommandTest, RefusesWhatWouldDoNothing) {
  const auto problem = [](const char* collective, auto change) {
    ShowOptions options;
    options.collective = collective;
    change(options);
    const Ran ran = run([&] { return show_command(options); });
    EXPECT_EQ(ran.status, 2) << ran.out;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
    return ran.err;
  };
  for (const char* neighborhood : {"moore:2,1", "nonsense", "file:/nowhere"}) {
    EXPECT_THAT(problem("alltoall", [&](ShowOptions& o) { o.neighborhood = neighborhood; }),
                HasSubstr("--neighborhood is for neighbour collectives, not for alltoall"));
  }
  EXPECT_THAT(problem("allgatherv", [](ShowOptions& o) { o.grid = "4x3"; }),
              HasSubstr("--grid is for neighbour collectives, not for allgatherv"));
  EXPECT_THAT(problem("alltoallv", [](ShowOptions& o) { o.grid = "4x3", o.neighborhood = "moore:2,1"; }),
              HasSubstr("--neighborhood and --grid are for neighbour collectives"));
  EXPECT_THAT(problem("neighbor_alltoall", [](ShowOptions& o) { o.nodes = "blocked:2"; }),
              HasSubstr("--node-map are for collectives of all ranks, not for neighbor_alltoall"));
}

TEST(ShowCommandTest, RefusesBadOptions) {
  const auto status = [](auto change) {
    ShowOptions options;
    change(options);
    const Ran ran = run([&] { return show_command(options); });
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), ran.status == 0 ? 0 : 1);
    return ran.status;
  };
  EXPECT_EQ(status([](ShowOptions&) {}), 0);
  EXPECT_EQ(status([](ShowOptions& o) { o.collective = "gather"; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.algorithm = "bruck"; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.algorithm = "mpi"; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.ranks = 0; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.ranks = 2000000000; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.me = 8; }), 2);
  EXPECT_EQ(status([](ShowOptions& o) { o.nodes = "blocked"; }), 2);
}

TEST(ListCommandTest, JsonHoldsTheRegistry) {
  const Ran ran = run([] { return list_command(true); });
  EXPECT_EQ(ran.status, 0);
  const nlohmann::json all = nlohmann::json::parse(ran.out);
  ASSERT_EQ(all.size(), choose::algorithms().size());
  const auto found =
      std::find_if(all.begin(), all.end(), [](const auto& one) { return one.at("name") == "basic-bruck"; });
  ASSERT_NE(found, all.end());
  const nlohmann::json& bruck = *found;
  EXPECT_EQ(bruck.at("collectives"), nlohmann::json::array({"alltoall"}));
  EXPECT_EQ(bruck.at("engine"), "schedule");
  EXPECT_EQ(bruck.at("parameters").at(0).at("name"), "radix");
  EXPECT_EQ(bruck.at("parameters").at(0).at("standard"), 2);
  EXPECT_EQ(bruck.at("needs").at("contiguous"), true);
}

TEST(ListCommandTest, TextNamesEveryAlgorithm) {
  const Ran ran = run([] { return list_command(false); });
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    EXPECT_THAT(ran.out, HasSubstr(std::string(algorithm.name) + "\n    "));
  }
  EXPECT_THAT(ran.out, HasSubstr("stride=5 (1 to 1048576)"));
}

}  // namespace
}  // namespace quadrille::tools
