// What `quadrille doctor` makes of limits, ways, settings, commands, and what launchers print.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tools/doctor/limits.hpp"
#include "tools/doctor/trial.hpp"

namespace quadrille::tools {
namespace {

using Lines = std::map<std::string, std::string>;

System system_of(Lines files, Lines variables = {}) {
  return {[files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; },
          [files](const std::string& path) { return files.contains(path); },
          [variables](const char* name) { return variables.contains(name) ? variables.at(name) : ""; }};
}

// "bad node, note cma read"
std::string short_of(const Findings& findings) {
  std::string all;
  for (const Finding& one : findings) {
    const char* level = one.level == Level::good ? "good " : one.level == Level::note ? "note " : "bad ";
    all += (all.empty() ? "" : ", ") + std::string(level) + one.of;
  }
  return all;
}

TEST(Doctor, ReadsLimits) {
  EXPECT_EQ(read_limits(system_of({})).memory, no_limit);
  EXPECT_EQ(read_limits(system_of({{"/sys/fs/cgroup/memory.max", "max"}})).memory, no_limit);
  EXPECT_EQ(read_limits(system_of({{"/sys/fs/cgroup/memory.max", "1048576"}})).memory, 1048576U);
  const std::string old = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
  EXPECT_EQ(read_limits(system_of({{old, "9223372036854771712"}})).memory, no_limit);
  EXPECT_EQ(read_limits(system_of({{old, "4096"}})).memory, 4096U);
  EXPECT_EQ(read_limits(system_of({})).container, "");
  EXPECT_EQ(read_limits(system_of({{"/.dockerenv", ""}})).container, "Docker");
  EXPECT_EQ(read_limits(system_of({{"/run/.containerenv", ""}})).container, "Podman");
  EXPECT_EQ(read_limits(system_of({}, {{"APPTAINER_CONTAINER", "/a.sif"}})).container, "Apptainer");
}

TEST(Doctor, JudgesLimits) {
  EXPECT_EQ(short_of(judge_limits({})), "good limits");
  Limits limits;
  limits.address_space = std::uint64_t{8} << 30;
  limits.descriptors = 64;
  limits.file_bytes = 1 << 20;
  limits.memory = std::uint64_t{512} << 20;
  limits.overcommit = "2";
  EXPECT_EQ(short_of(judge_limits(limits)), "note address space, note descriptors, note file size, note memory, note memory");
  for (const Finding& one : judge_limits(limits)) EXPECT_FALSE(one.advice.empty()) << one.what;
  limits = {};
  limits.container = "Docker";
  EXPECT_EQ(short_of(judge_limits(limits)), "good limits, good container");
}

TEST(Doctor, JudgesWays) {
  std::vector<Reach> ways = {{"heap", true, ""}, {"xpmem", false, "no"}, {"cma read", true, ""}, {"cma write", true, ""}, {"ring", true, ""}};
  EXPECT_EQ(short_of(judge_ways(ways, {})), "good node");
  ways[2].available = ways[3].available = false;
  EXPECT_EQ(short_of(judge_ways(ways, {})), "good node, note cma read");
  Limits docker;
  docker.container = "Docker";
  EXPECT_NE(judge_ways(ways, docker).back().advice.find("--cap-add=SYS_PTRACE"), std::string::npos);
  EXPECT_NE(judge_ways(ways, {}).back().advice.find("ptrace_scope"), std::string::npos);
  for (Reach& way : ways) way.available = false;
  EXPECT_EQ(short_of(judge_ways(ways, {})), "bad node");
}

TEST(Doctor, JudgesSettings) {
  const auto guess = [](const std::string& name) { return name == "QUADRILLE_ALGORITM" ? std::string("QUADRILLE_ALGORITHM") : ""; };
  EXPECT_EQ(short_of(judge_settings({}, guess, {}, false)), "");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_TRIALS"}, guess, {}, false)), "good settings");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_ALGORITM"}, guess, {}, false)), "note setting");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_TRIALS"}, guess, {"it must be on"}, false)), "note setting");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE"}, guess, {}, true)), "bad setting");
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(Doctor, TriesTheLauncherWithItsOptions) {
  const auto exists = [](std::string_view word, std::string_view) { return std::string(word); };
  const auto trial = [&](const std::vector<std::string>& words) { return joined(trial_words(words, read_command(words, exists), "/q")); };
  const std::string bench = "env QUADRILLE_EXPLAIN=1 /q bench alltoall --sizes 1K,64K --iterations 200 --warmup 20";
  EXPECT_EQ(trial({"mpirun", "-n", "4", "--bind-to", "core", "./app", "in.txt"}), "mpirun -n 4 --bind-to core " + bench);
  EXPECT_EQ(trial({"mpirun", "-n", "4", "./app", ":", "-n", "1", "./other"}), "mpirun -n 4 " + bench);
  EXPECT_EQ(trial({"./app", "in.txt"}), bench);
}

TEST(Doctor, JudgesWhatLaunchersSay) {
  std::string text;
  const std::string table =
      "# quadrille 0.1.0  Open MPI\n# alltoall, 4 ranks, byte\n     bytes algorithm\n"
      "quadrille: 4 ranks, 1 node: large blocks inside a node go by heap\nsome noise\n"
      "      1024 default                  inbox    2.0 1.0 0.5\n";
  EXPECT_EQ(short_of(judge_trial(table, text)), "good trial");
  EXPECT_EQ(text.find("noise"), std::string::npos);
  EXPECT_NE(text.find("inbox"), std::string::npos);
  EXPECT_EQ(short_of(judge_trial(table + "quadrille: a way is not to be had: cma-read: no\n", text)), "good trial, note trial");
  EXPECT_EQ(short_of(judge_trial("# alltoall, 1 ranks, byte\n      1024 default   mpi  1\n", text)), "good trial, bad trial");
  EXPECT_EQ(short_of(judge_trial("", text)), "bad trial");
  const Findings slots = judge_trial("There are not enough slots available in the system\n", text);
  EXPECT_EQ(short_of(slots), "bad trial");
  EXPECT_NE(slots[0].advice.find("OVERSUBSCRIBE"), std::string::npos);
  EXPECT_EQ(text, "There are not enough slots available in the system\n");
}

}  // namespace
}  // namespace quadrille::tools
