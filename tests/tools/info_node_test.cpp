// The ways inside a node are tried. On a machine that forbids one there must be a reason; that a
// forbidden one is seen is tested with a process that nobody may look into.
#include "tool/machine/info_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace quadrille::tools {
namespace {

using testing::HasSubstr;

std::vector<std::string> names(const std::vector<Reach>& ways) {
  std::vector<std::string> list;
  for (const Reach& way : ways) list.push_back(way.name);
  return list;
}

int next_descriptor() {
  const int descriptor = dup(0);
  close(descriptor);
  return descriptor;
}

TEST(InsideANode, EveryWayIsThereOrHasAReason) {
  const std::vector<Reach> ways = ways_of_node({});
  EXPECT_EQ(names(ways), (std::vector<std::string>{"heap", "xpmem", "cma-read", "cma-write", "ring"}));
  for (const Reach& way : ways) EXPECT_NE(way.detail, "") << way.name;
}

TEST(InsideANode, WhatTheUserLeavesOutIsNotAvailable) {
  const std::vector<Reach> ways = ways_of_node({false, false, false, false, false});
  ASSERT_EQ(ways.size(), 5u);
  for (const Reach& way : ways) {
    EXPECT_FALSE(way.available) << way.name;
    EXPECT_THAT(way.detail, HasSubstr("QUADRILLE_REACH"));
  }
}

TEST(InsideANode, TrialsLeaveNothingBehind) {
  const int before = next_descriptor();
  error_of_sibling_access(Access::read);
  error_of_sibling_access(Access::write);
  EXPECT_EQ(next_descriptor(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// Runs in a child that made itself and its children opaque, as a hardened system does.
int trial_of_opaque_processes(Access access) {
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return 3;
  if (geteuid() == 0 && setuid(65534) != 0) return 3;
  const int error = error_of_sibling_access(access);
  return error == 0 ? 1 : error == EPERM ? 0 : 2;
}

TEST(InsideANode, AForbiddenAccessIsSeen) {
  for (const Access access : {Access::read, Access::write}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(trial_of_opaque_processes(access));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "a process cannot be made opaque here";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(InsideANode, XpmemNeedsTheLibraryAndTheDevice) {
  EXPECT_THAT(xpmem_obstacle("libnowhere.so", "/dev/nowhere"), HasSubstr("libnowhere.so"));
  EXPECT_THAT(xpmem_obstacle("libc.so.6", "/dev/nowhere"), HasSubstr("no /dev/nowhere"));
  EXPECT_THAT(xpmem_obstacle("libnowhere.so", "/dev/null"), HasSubstr("no libnowhere.so"));
  EXPECT_EQ(xpmem_obstacle("libc.so.6", "/dev/null"), "");
}

TEST(InsideANode, TheTextHasWhatTheJsonHas) {
  nlohmann::ordered_json node = describe_node();
  node["numa_domains"] = 7;
  node["settings"]["QUADRILLE_REACH"] = "ring";
  node["ways"][1]["detail"] = "for a test";
  node["warnings"] = {"something is wrong"};
  const std::string text = node_text(node);
  EXPECT_THAT(text, HasSubstr("xpmem          no   for a test"));
  EXPECT_THAT(text, HasSubstr("NUMA domains   7"));
  EXPECT_THAT(text, HasSubstr("QUADRILLE_REACH        ring"));
  EXPECT_THAT(text, HasSubstr("warning: something is wrong"));
  EXPECT_THAT(text, HasSubstr(node["copy_kernels"].get<std::string>()));
  EXPECT_FALSE(node["all_copy_kernels"].empty());
}

}  // namespace
}  // namespace quadrille::tools
