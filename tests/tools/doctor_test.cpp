// What `quadrille doctor` makes of limits, ways, settings, commands, and what launchers print.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "tool/doctor/limits.hpp"
#include "tool/doctor/program.hpp"
#include "tool/doctor/trial.hpp"

namespace quadrille::tools {
namespace {

using Lines = std::map<std::string, std::string>;

System system_of(Lines files, Lines variables = {}) {
  return {[files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; },
          [files](const std::string& path) { return files.contains(path); },
          [variables](const char* name) { return variables.contains(name) ? variables.at(name) : ""; }};
}

// "bad node, note cma-read"
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
  EXPECT_EQ(short_of(judge_limits(limits)),
            "note address space, note descriptors, note file size, note memory, note memory");
  for (const Finding& one : judge_limits(limits)) EXPECT_FALSE(one.advice.empty()) << one.what;
  limits = {};
  limits.container = "Docker";
  EXPECT_EQ(short_of(judge_limits(limits)), "good limits, good container");
}

TEST(Doctor, JudgesWays) {
  std::vector<Reach> ways = {
      {"heap", true, ""}, {"xpmem", false, "no"}, {"cma-read", true, ""}, {"cma-write", true, ""}, {"ring", true, ""}};
  EXPECT_EQ(short_of(judge_ways(ways, {})), "good node");
  ways[2].available = ways[3].available = false;
  EXPECT_EQ(short_of(judge_ways(ways, {})), "good node, note cma-read");
  Limits docker;
  docker.container = "Docker";
  EXPECT_NE(judge_ways(ways, docker).back().advice.find("--cap-add=SYS_PTRACE"), std::string::npos);
  EXPECT_NE(judge_ways(ways, {}).back().advice.find("ptrace_scope"), std::string::npos);
  for (Reach& way : ways) way.available = false;
  EXPECT_EQ(short_of(judge_ways(ways, {})), "bad node");
}

TEST(Doctor, JudgesSettings) {
  const auto guess = [](const std::string& name) {
    return name == "QUADRILLE_ALGORITM" ? std::string("QUADRILLE_ALGORITHM") : "";
  };
  EXPECT_EQ(short_of(judge_settings({}, guess, {}, false)), "");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_TRIALS"}, guess, {}, false)), "good settings");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_ALGORITM"}, guess, {}, false)), "note setting");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE_TRIALS"}, guess, {"expected on"}, false)), "note setting");
  EXPECT_EQ(short_of(judge_settings({"QUADRILLE"}, guess, {}, true)), "bad setting");
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

Command command_of(const std::vector<std::string>& words) {
  return read_command(words, [](std::string_view word, std::string_view) { return std::string(word); });
}

Environment environment_of(Lines variables) {
  return [variables](const char* name) { return variables.contains(name) ? variables.at(name) : ""; };
}

TEST(Doctor, TriesTheLauncherWithItsOptions) {
  const auto trial = [&](const std::vector<std::string>& words) {
    return joined(trial_words(words, command_of(words), Abi::mpich, "/q"));
  };
  const std::string measured = "env QUADRILLE_EXPLAIN=1 /q doctor --mpi mpich --measure-for /app";
  EXPECT_EQ(trial({"mpirun", "-n", "4", "--bind-to", "core", "/app", "in.txt"}),
            "mpirun -n 4 --bind-to core " + measured);
  EXPECT_EQ(trial({"mpirun", "-n", "4", "/app", ":", "-n", "1", "/other"}), "mpirun -n 4 " + measured);
  EXPECT_EQ(trial({"/app", "in.txt"}), measured);
  EXPECT_TRUE(trial({"mpirun", "./app"}).ends_with("--measure-for " + std::filesystem::absolute("app").string()));
}

TEST(Doctor, ReadsWhatIsPreloaded) {
  const auto preloaded = [](const std::vector<std::string>& words, Lines variables = {}) {
    return joined(preloaded_by_user(words, command_of(words), environment_of(std::move(variables))));
  };
  EXPECT_EQ(preloaded({"mpirun", "-n", "2", "./app", "LD_PRELOAD=/not.so"}), "");
  EXPECT_EQ(preloaded({"mpirun", "./app"}, {{"LD_PRELOAD", "/a.so:/b.so /c.so"}}), "/a.so /b.so /c.so");
  EXPECT_EQ(preloaded({"mpirun", "-x", "LD_PRELOAD=/a.so", "./app"}), "/a.so");
  EXPECT_EQ(preloaded({"mpirun", "-genv", "LD_PRELOAD", "/a.so", "./app"}), "/a.so");
  EXPECT_EQ(preloaded({"mpirun", "env", "LD_PRELOAD=/a.so", "./app"}), "/a.so");
  EXPECT_EQ(preloaded({"mpirun", "./app", "LD_PRELOAD=/not.so", ":", "-x", "LD_PRELOAD=/a.so", "./app"}), "/a.so");
  EXPECT_EQ(preloaded({"srun", "--export=ALL,LD_PRELOAD=/a.so,OTHER=1", "./app"}), "/a.so");
}

#if defined(__GLIBC__)  // musl has no dlvsym
TEST(Doctor, SeesProgramsThatCallDlvsym) {
  EXPECT_EQ(dlvsym(RTLD_DEFAULT, "no_such_function", "NONE_1"), nullptr);  // so this program is one
  const std::string own = std::filesystem::canonical("/proc/self/exe").string();
  const auto judged = [](const std::vector<std::string>& words) {
    return judge_lookups(command_of(words), loader_paths());
  };
  const Findings findings = judged({"mpirun", "-n", "2", own});
  EXPECT_EQ(short_of(findings), "note lookup");
  EXPECT_NE(findings.at(0).what.find(own + " calls dlvsym"), std::string::npos);
  EXPECT_EQ(short_of(judged({"mpirun", "-n", "2", "/bin/sh"})), "");
}
#endif

TEST(Doctor, SeesWhatAsksForFaultTolerance) {
  const auto requested = [](const std::vector<std::string>& words, Lines variables = {}) {
    return fault_tolerance_requested(words, command_of(words), environment_of(std::move(variables)));
  };
  EXPECT_EQ(requested({"mpirun", "-n", "2", "./app"}), "");
  EXPECT_EQ(requested({"mpirun", "--with-ft", "ulfm", "-n", "2", "./app"}), "--with-ft ulfm");
  EXPECT_EQ(requested({"mpirun", "--with-ft=ulfm", "./app"}), "--with-ft=ulfm");
  EXPECT_EQ(requested({"mpirun", "--mca", "mpi_ft_enable", "1", "./app"}), "mpi_ft_enable 1");
  EXPECT_EQ(requested({"mpirun", "--mca", "mpi_ft_enable", "false", "./app"}), "");
  EXPECT_EQ(requested({"mpirun", "--tune", "ft-mpi", "./app"}), "--tune ft-mpi");
  EXPECT_EQ(requested({"mpirun", "--tune=ft-mpi", "./app"}), "--tune=ft-mpi");
  EXPECT_EQ(requested({"mpirun", "-x", "OMPI_MCA_mpi_ft_enable=true", "./app"}), "OMPI_MCA_mpi_ft_enable=true");
  EXPECT_EQ(requested({"srun", "./app"}, {{"OMPI_MCA_mpi_ft_enable", "1"}}), "OMPI_MCA_mpi_ft_enable=1");
  EXPECT_EQ(requested({"srun", "./app"}, {{"OMPI_MCA_mpi_ft_enable", "0"}}), "");
  EXPECT_EQ(requested({"mpirun", "./app", "--with-ft", "ulfm"}), "") << "the program's own";
  EXPECT_EQ(requested({"mpirun", "./app", "--with-ft", "ulfm", ":", "-n", "1", "./app"}), "") << "the program's own";
}

TEST(Doctor, JudgesWhatLaunchersSay) {
  std::string text;
  const std::string run =
      R"(quadrille-trial {"mpi": "Open MPI v4.1.4", "library": "/l/libmpi.so.40", "ranks": 4, "memory": "shared"})";
  const std::string row =
      R"([1,0]<stdout>:quadrille-trial {"bytes": 64, "memory": "heap", "mpi_us": 2.0, "quadrille_us": 1.0, )"
      R"("ratio": 0.5, "step_ratio": 0.8, "errors": 0})";
  const std::string told =
      run + "\nquadrille: 4 ranks, 1 node: large blocks inside a node go by heap\nsome noise\n" + row + "\n";
  EXPECT_EQ(short_of(judge_trial(told, "", text)), "good trial, good measured, good quiet");
  EXPECT_EQ(text.find("noise"), std::string::npos);
  EXPECT_NE(text.find("        64     heap       2.00       1.00    0.50        0.80\n"), std::string::npos) << text;
  EXPECT_NE(judge_trial(told, "", text)[1].what.find(
                "4 ranks with Open MPI v4.1.4, /l/libmpi.so.40; buffers in the shared heap"),
            std::string::npos);
  EXPECT_EQ(short_of(judge_trial(told, "/l/libmpi.so.40", text)), "good trial, good measured, good quiet");
  EXPECT_EQ(short_of(judge_trial(told, "/other/libmpi.so.40", text)),
            "good trial, good measured, note measured, good quiet");
  EXPECT_EQ(short_of(judge_trial(told + "quadrille: cma-read is unavailable: no (code=no-cma-read)\n", "", text)),
            "good trial, good measured, good quiet, note trial");
  EXPECT_EQ(judge_trial(told + "quadrille: words (code=no-ring)\n", "", text).back().what, "words");
  EXPECT_EQ(short_of(judge_trial(told + "quadrille: other words (code=not-used)\n", "", text)),
            "good trial, good measured, good quiet, bad trial");
  for (const std::string line : {"quadrille: cma-read is unavailable, not used", "quadrille: x (code=no-xpmem)",
                                 "quadrille: x (code=lacks-progress)", "x (code=not-used)"}) {
    EXPECT_EQ(short_of(judge_trial(told + line + "\n", "", text)), "good trial, good measured, good quiet") << line;
  }
  EXPECT_EQ(short_of(judge_trial(told + told, "", text)), "good trial, good measured, good quiet, bad trial")
      << "each is alone";
  const std::string wrong = R"(quadrille-trial {"bytes": 64, "errors": 3})";
  EXPECT_EQ(short_of(judge_trial(run + "\n" + wrong + "\n", "", text)), "bad trial, good measured, good quiet");
  const std::string problem = R"(quadrille-trial {"problem": "no MPI library could be loaded"})";
  EXPECT_EQ(judge_trial(problem + "\n", "", text)[0].what, "no MPI library could be loaded");
  EXPECT_EQ(short_of(judge_trial("", "", text)), "bad trial");
  const Findings slots = judge_trial("There are not enough slots available in the system\n", "", text);
  EXPECT_EQ(short_of(slots), "bad trial");
  EXPECT_NE(slots[0].advice.find("OVERSUBSCRIBE"), std::string::npos);
  EXPECT_EQ(text, "There are not enough slots available in the system\n");
}

TEST(Doctor, BelievesRanksBeforeLaunchers) {
  std::string text;
  const auto what = [&](const std::string& output) { return judge_trial(output, "", text)[0].what; };
  const std::string problem = R"(quadrille-trial {"problem": "no MPI library could be loaded"})";
  EXPECT_EQ(what("/other: No such file or directory\n" + problem + "\nPMI_Init failed\n"),
            "no MPI library could be loaded");
  EXPECT_EQ(what("/usr/bin/hydra_pmi_proxy ended\nPMIX ERROR in /openmpi/pmix/client/pmix_client.c\n"),
            "the launcher did not start it");
  for (const char* line : {"OMPI was not built with SLURM's PMI support", "MPIR_pmi_init(152): PMI_Init returned 1",
                           "srun: error: cannot find mpi plugin for mpi/pmix"}) {
    EXPECT_EQ(what(line), "the launcher and the MPI use different PMI versions") << line;
  }
}

}  // namespace
}  // namespace quadrille::tools
