#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tool/bench/options.hpp"

namespace quadrille::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::size_t> sizes_of(std::string_view text) {
  std::vector<std::size_t> sizes;
  EXPECT_EQ(parse_sizes(text, sizes), "") << text;
  return sizes;
}

TEST(Sizes, RangesDouble) { EXPECT_THAT(sizes_of("8:64"), ElementsAre(8, 16, 32, 64)); }

TEST(Sizes, RangesStep) {
  EXPECT_THAT(sizes_of("8:200:x4"), ElementsAre(8, 32, 128));
  EXPECT_THAT(sizes_of("0:24:+8"), ElementsAre(0, 8, 16, 24));
  EXPECT_THAT(sizes_of("0:4"), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(sizes_of("5:5"), ElementsAre(5));
}

TEST(Sizes, Lists) {
  EXPECT_THAT(sizes_of("8,64,100"), ElementsAre(8, 64, 100));
  EXPECT_THAT(sizes_of("3,1K:2K,7"), ElementsAre(3, 1024, 2048, 7));
}

TEST(Sizes, Units) { EXPECT_THAT(sizes_of("4K,4k,1M,2G"), ElementsAre(4096, 4096, 1 << 20, std::size_t{2} << 30)); }

TEST(Sizes, MistakesAreExplained) {
  std::vector<std::size_t> sizes;
  for (const char* text : {"",         ",",       "8,",     "x",         "8x",
                           "-8",       "8:",      ":8",     "9:8",       "8:16:3",
                           "8:16:x1",  "8:16:+0", "8:16:x", "1:2:x2:x2", "99999999999999999999",
                           "9999999G", "1:1M:+1", " 8",     "8.5",       "4KB"}) {
    EXPECT_NE(parse_sizes(text, sizes), "") << text;
  }
}

TEST(Sizes, ARangeEndsAtTheLargestSize) {
  const std::vector<std::size_t> sizes = sizes_of("1:65536G");
  EXPECT_EQ(sizes.size(), 47u);
  EXPECT_EQ(sizes.back(), std::size_t{1} << 46);
}

TEST(AlgorithmList, CommasOfParametersDoNotSplit) {
  EXPECT_THAT(split_algorithms("ring,bruck:radix=4,window=2,pairwise"),
              ElementsAre("ring", "bruck:radix=4,window=2", "pairwise"));
  EXPECT_THAT(split_algorithms("a,b:x=1,c:y=2"), ElementsAre("a", "b:x=1", "c:y=2"));
  EXPECT_TRUE(split_algorithms("").empty());
}

BenchOptions options_for(const char* collective) {
  BenchOptions options;
  options.collective = collective;
  return options;
}

TEST(Understand, AllMeansEveryAlgorithmOfTheCollective) {
  BenchOptions options = options_for("allgather");
  options.algorithms = "all";
  BenchPlan plan;
  ASSERT_EQ(understand(options, plan), "");
  EXPECT_THAT(plan.algorithms, testing::Contains("ring"));
  EXPECT_THAT(plan.algorithms, testing::Not(testing::Contains("mpi")));
  EXPECT_THAT(plan.algorithms, testing::Not(testing::Contains("pairwise")));
}

TEST(Understand, UnknownNamesGetTheKnownOnes) {
  BenchPlan plan;
  BenchOptions options = options_for("alltoall");
  options.algorithms = "default,fast";
  EXPECT_THAT(understand(options, plan), HasSubstr("pairwise"));
  options = options_for("scatter");
  EXPECT_THAT(understand(options, plan), HasSubstr("allgatherv"));
  options = options_for("alltoall");
  options.datatype = "int";
  EXPECT_THAT(understand(options, plan), HasSubstr("byte, double, strided"));
}

TEST(Understand, MemoryHasFourKindsAndAnOlderName) {
  BenchPlan plan;
  BenchOptions options = options_for("alltoall");
  ASSERT_EQ(understand(options, plan), "");
  EXPECT_EQ(plan.memory, BufferMemory::heap);
  for (const char* name : {"heap", "private", "stack", "mmap"}) {
    options.memory = name;
    ASSERT_EQ(understand(options, plan), "");
    EXPECT_EQ(name_of(plan.memory), name);
  }
  options.memory = "shared";
  ASSERT_EQ(understand(options, plan), "");
  EXPECT_EQ(plan.memory, BufferMemory::heap);
  options.memory = "static";
  EXPECT_EQ(understand(options, plan), "--memory=static: expected one of heap, private, stack, mmap");
}

TEST(Understand, TouchedStepsAreOfTheHostAndBegunTogether) {
  BenchPlan plan;
  BenchOptions options = options_for("neighbor_alltoallw");
  options.touch = options.cold = true;
  options.given = {"--touch", "--cold"};
  EXPECT_EQ(understand(options, plan), "");
  options.late = "500";
  EXPECT_THAT(understand(options, plan), HasSubstr("leave --late and --counters out"));
  options.late = "";
  options.counters = true;
  EXPECT_THAT(understand(options, plan), HasSubstr("leave --late and --counters out"));
  options = options_for("alltoall");
  options.given = {"--touch"};
  options.device = "cuda";
  EXPECT_THAT(understand(options, plan), HasSubstr("--touch is about memory of the host"));
  options.device = "";
  options.overlap = true;
  EXPECT_EQ(understand(options, plan), "--touch has no effect with --overlap: leave it out");
}

TEST(Understand, AMatrixIsScaledOnlyToSizesThatAreGiven) {
  BenchPlan plan;
  BenchOptions options = options_for("alltoallv");
  options.distribution = "file:m";
  ASSERT_EQ(understand(options, plan), "");
  EXPECT_TRUE(plan.sizes.empty());
  options.sizes_given = true;
  ASSERT_EQ(understand(options, plan), "");
  EXPECT_EQ(plan.sizes.size(), 14u);
  options.collective = "allgatherv";
  EXPECT_THAT(understand(options, plan), HasSubstr("matrix is for alltoallv"));
}

TEST(Effect, OverlapHasItsOwn) {
  BenchPlan plan;
  BenchOptions options = options_for("neighbor_alltoallv");
  options.given = {"collective", "--cold", "--no-ceiling", "--json"};
  EXPECT_EQ(understand(options, plan), "");
  options.overlap = true;
  EXPECT_EQ(understand(options, plan), "--cold, --no-ceiling have no effect with --overlap: leave them out");
  options.given = {"collective",     "--overlap",    "--tests",    "--sizes",   "--algorithms",
                   "--no-node",      "--nodes",      "--datatype", "--memory",  "--distribution",
                   "--neighborhood", "--grid",       "--in-place", "--seed",    "--json",
                   "--csv",          "--iterations", "--warmup",   "--node-map"};
  EXPECT_EQ(understand(options, plan), "");
  options.given = {"collective", "--overlap", "--counters"};
  EXPECT_EQ(understand(options, plan), "--counters has no effect with --overlap: leave it out");
}

TEST(Understand, OverlapNeedsANonblockingForm) {
  BenchPlan plan;
  for (const char* collective : {"alltoall", "allgatherv", "neighbor_allgatherw"}) {
    BenchOptions options = options_for(collective);
    options.overlap = true;
    EXPECT_EQ(understand(options, plan), "");
  }
  BenchOptions options = options_for("exchange");
  EXPECT_THAT(understand(options, plan), HasSubstr("unknown collective 'exchange'"));
  options.overlap = true;
  EXPECT_THAT(understand(options, plan), HasSubstr("exchange has no nonblocking form"));
  options = options_for("alltoall");
  options.overlap = true;
  for (const int tests : {-1, 1000001}) {
    options.tests = tests;
    EXPECT_THAT(understand(options, plan), HasSubstr("--tests: expected")) << tests;
  }
}

TEST(Understand, ImpossibleCombinationsAreRefused) {
  BenchPlan plan;
  BenchOptions options = options_for("allgather");
  options.distribution = "uniform";
  EXPECT_THAT(understand(options, plan), HasSubstr("one size"));
  options.distribution = "power:0.9";
  EXPECT_THAT(understand(options, plan), HasSubstr("'--distribution power:0.9' is for"));
  options = options_for("neighbor_allgather");
  options.distribution = "uniform";
  EXPECT_THAT(understand(options, plan), HasSubstr("one size"));
  for (const char* collective : {"alltoallw", "allgatherv", "neighbor_allgatherv", "neighbor_allgatherw"}) {
    options = options_for(collective);
    options.distribution = "stencil";
    EXPECT_THAT(understand(options, plan), HasSubstr("neighbor_alltoallv and neighbor_alltoallw"));
  }
  options = options_for("neighbor_allgatherv");
  options.distribution = "file:m";
  EXPECT_THAT(understand(options, plan), HasSubstr("one block to all"));
  options = options_for("neighbor_alltoallv");
  options.distribution = "stencil";
  EXPECT_EQ(understand(options, plan), "");
  options = options_for("alltoall");
  options.no_node = true;
  options.nodes = "blocked:2";
  EXPECT_THAT(understand(options, plan), HasSubstr("contradict"));
  options = options_for("alltoall");
  for (const char* iterations : {"0", "-1", "ten", "5x", ""}) {
    options.iterations = iterations;
    EXPECT_THAT(understand(options, plan), HasSubstr("iterations")) << iterations;
  }
}

}  // namespace
}  // namespace quadrille::tools
