// The NUMA domain of a rank, on machines that hwloc makes up.
#include "team/numa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace quadrille::team {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<int> domains(int ranks, const std::string& synthetic) {
  std::vector<int> found;
  for (int rank = 0; rank < ranks; ++rank) found.push_back(numa_domain(rank, synthetic));
  return found;
}

TEST(NumaTest, RanksAreBoundInTurn) {
  EXPECT_THAT(domains(10, "package:2 numa:1 core:4 pu:1"),
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(domains(6, "numa:3 core:1 pu:2"), ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(NumaTest, OneDomain) {
  EXPECT_THAT(domains(5, "package:1 numa:1 core:4 pu:1"), Each(0));
  EXPECT_THAT(domains(5, "core:4 pu:1"), Each(0));
}

// Two memories for the processors of a package: the first of them counts.
TEST(NumaTest, ProcessorsOfSeveralDomainsHaveTheFirst) {
  EXPECT_THAT(domains(4, "package:2 [numa] [numa] core:2 pu:1"), ElementsAre(0, 0, 2, 2));
}

TEST(NumaTest, WhatHwlocDoesNotUnderstandIsOneDomain) {
  for (const char* text : {"nonsense", "package:", "package:0", "package:-1", "package:2 numa", " ",
                           "pu:2 core:2", "package:2 numa:1 core:4 pu:1 x", "numa:99999999999"}) {
    EXPECT_THAT(domains(3, text), Each(0)) << text;
  }
  EXPECT_EQ(numa_domain(-1, "package:2 numa:1 core:4 pu:1"), 0);
}

// Bound to one processor or to none, the process has some domain, and always the same.
TEST(NumaTest, TheRealMachineHasAnAnswer) {
  const int domain = numa_domain(0, "");
  EXPECT_GE(domain, 0);
  EXPECT_EQ(numa_domain(17, ""), domain) << "the rank does not matter there";
}

TEST(NumaTest, ThreadsMayAskAtOnce) {
  std::vector<std::vector<int>> found(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<int>& mine : found) {
      threads.emplace_back([&mine] { mine = domains(8, "package:2 numa:1 core:4 pu:1"); });
    }
  }
  EXPECT_THAT(found, Each(ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)));
}

}  // namespace
}  // namespace quadrille::team
