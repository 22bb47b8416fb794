// The domain of a rank, on machines that hwloc makes up.
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
  EXPECT_THAT(domains(13, "package:2 numa:1 core:4 pu:1"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(domains(6, "numa:3 core:1 pu:2"), ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(NumaTest, UnitsHaveTheirDomains) {
  EXPECT_THAT(domains_of_units("numa:3 core:1 pu:2"), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(domains_of_units("core:2 pu:1"), ElementsAre(0, 0));
  EXPECT_TRUE(domains_of_units("a village").empty());
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
  for (const char* text : {"nonsense", "package:", "package:0", "package:-1", "package:2 numa", " ", "pu:2 core:2",
                           "package:2 numa:1 core:4 pu:1 x", "numa:99999999999"}) {
    EXPECT_THAT(domains(3, text), Each(0)) << text;
  }
  EXPECT_EQ(numa_domain(-1, "package:2 numa:1 core:4 pu:1"), 0);
}

// Two packages of two domains with two processors each.
constexpr const char* eight = "package:2 numa:2 core:2 pu:1";

TEST(NumaTest, TheSmallestThatHoldsAllProcessors) {
  const auto label = [](const char* processors) { return domain_of_processors(eight, processors); };
  EXPECT_EQ(label("0"), 0);
  EXPECT_EQ(label("2-3"), 1);
  EXPECT_EQ(label("7"), 3);
  EXPECT_EQ(label("0-3"), package_label(0));
  EXPECT_EQ(label("1-2"), package_label(0)) << "a part of each of two domains";
  EXPECT_EQ(label("4-7"), package_label(1));
  EXPECT_EQ(label("4-7,99"), package_label(1)) << "processors that the machine does not have";
  EXPECT_EQ(label("0-7"), any_domain);
  EXPECT_EQ(label("3-4"), any_domain) << "of two packages";
  EXPECT_EQ(label(""), any_domain) << "nothing known";
  EXPECT_EQ(domain_of_processors("numa:3 core:2 pu:1", "0-3"), any_domain) << "the only package is the machine";
  EXPECT_EQ(domain_of_processors("package:2 core:2 pu:1", "0-3"), 0) << "one domain over both packages";
}

// Two NUMA domains of two caches each, with four processors a cache.
TEST(NumaTest, ACacheThatIsSmallerThanItsDomain) {
  const auto label = [](const char* processors) {
    return domain_of_processors("package:2 numa:1 l3:2 core:2 pu:2", processors);
  };
  EXPECT_EQ(label("0"), cache_label(0));
  EXPECT_EQ(label("1-2"), cache_label(0));
  EXPECT_EQ(label("4-7"), cache_label(1));
  EXPECT_EQ(label("12-15,99"), cache_label(3));
  EXPECT_EQ(label("0-7"), 0);
  EXPECT_EQ(label("11-12"), 1) << "a part of each of two caches";
  EXPECT_EQ(label("7-8"), any_domain) << "of two packages";
  EXPECT_EQ(label("0-15"), any_domain);
  EXPECT_EQ(label(""), any_domain);
  EXPECT_THAT(domains_of_units("numa:1 l3:4 core:2 pu:1"),
              ElementsAre(cache_label(0), cache_label(0), cache_label(1), cache_label(1), cache_label(2),
                          cache_label(2), cache_label(3), cache_label(3)));
  EXPECT_THAT(domains(3, "numa:1 l3:2 core:1 pu:1"), ElementsAre(cache_label(0), cache_label(1), cache_label(0)));
  EXPECT_THAT(domains(3, "numa:2 l3:2 core:1 pu:1 bind:numa"), ElementsAre(0, 0, 1)) << "a rank of both caches";
  EXPECT_EQ(domain_of_processors("package:2 l3:2 core:2 pu:1", "2-3"), cache_label(1)) << "one domain over packages";
}

TEST(NumaTest, ACacheOfAWholeDomainOrMoreChangesNothing) {
  EXPECT_THAT(domains_of_units("numa:2 l3:1 core:2 pu:1"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(domains_of_units("package:1 l3:1 numa:2 core:2 pu:1"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(domains_of_units("l3:1 core:4 pu:1"), Each(0));
  EXPECT_EQ(domain_of_processors("package:2 l3:1 numa:2 core:2 pu:1", "0-3"), package_label(0)) << "one cache";
}

TEST(NumaTest, RanksAreBoundAsTheLastWordSays) {
  EXPECT_THAT(domains(8, std::string(eight) + " bind:numa"), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(domains(5, "package:2 numa:2 core:1 pu:1 bind:package"),
              ElementsAre(package_label(0), package_label(0), package_label(1), package_label(1), package_label(0)));
  EXPECT_THAT(domains(5, std::string(eight) + " bind:none"), Each(any_domain));
  EXPECT_THAT(domains(5, "core:4 pu:1 bind:none"), Each(0)) << "a machine of one domain";
  EXPECT_EQ(check_topology(std::string(eight) + " bind:package"), "");
  EXPECT_EQ(check_topology(std::string(eight) + " bind:village"),
            "expected bind:numa, bind:package or bind:none as the last word");
  EXPECT_NE(check_topology("bind:none"), "");
}

TEST(NumaTest, WhatWasSeenIsTold) {
  EXPECT_EQ(describe_domains({0, 0, 1, 1, 0}, {0, 1, 2, 3, 4}),
            "2 NUMA domains: domain 0 has 3 ranks (0-1,4), domain 1 has 2 ranks (2-3)");
  EXPECT_EQ(describe_domains({any_domain, 3, package_label(1), 3, 0}, {0, 1, 2, 3}),
            "3 NUMA domains: domain 3 has 2 ranks (1,3), bound to all of package 1 are 1 rank (2), "
            "bound to no package are 1 rank (0)");
  EXPECT_EQ(describe_domains({cache_label(3), cache_label(3), cache_label(0), 1, cache_label(3), cache_label(3)},
                             {0, 1, 2, 3, 4, 5}),
            "3 domains: domain 1 has 1 rank (3), L3 cache 0 has 1 rank (2), L3 cache 3 has 4 ranks (0-1,4-5)");
  EXPECT_EQ(describe_domains({cache_label(1)}, {0}), "1 domain: L3 cache 1 has 1 rank (0)");
}

// hwloc takes this machine for another one, whose processors have these numbers.
class Pretended {
 public:
  explicit Pretended(const char* machine) {
    setenv("HWLOC_SYNTHETIC", machine, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
  }
  ~Pretended() {
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
  }
};

// What is not understood does not fall back to the machine at hand.
TEST(NumaTest, WhatIsNotUnderstoodIsNotTheRealMachine) {
  const Pretended machine("numa:2 core:1 pu:1");
  EXPECT_EQ(numa_domain(1, "nonsense"), 0);
  EXPECT_EQ(numa_domain(1, "numa:2 core:1 pu:1"), 1);
}

// The domain of a thread that may run on `processor` alone, or on all if it is negative; -2 if the
// system does not let it.
int domain_when_bound(int processor) {
  int domain = -2;
  std::jthread([&domain, processor] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (processor >= 0) CPU_SET(static_cast<std::size_t>(processor), &set);
    if (processor >= 0 && sched_setaffinity(0, sizeof set, &set) != 0) return;
    domain = numa_domain(0, "");
  }).join();
  return domain;
}

TEST(NumaTest, ABoundThreadHasTheDomainOfItsProcessor) {
  const Pretended machine("numa:2 core:1 pu:1");
  const int first = domain_when_bound(0), second = domain_when_bound(1);
  if (first == -2 || second == -2) GTEST_SKIP() << "may not run on processors 0 and 1";
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  if (std::thread::hardware_concurrency() == 2) {
    EXPECT_EQ(domain_when_bound(-1), any_domain);
  }
}

// Bound to one processor or to none, the process has some domain, and always the same.
TEST(NumaTest, TheRealMachineHasAnAnswer) {
  const int domain = numa_domain(0, "");
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
