#include "tool/launch/launcher.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "../temp_folder.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/run.hpp"
#include "tool/launch/signals.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

TEST(Launcher, NamesThatTell) {
  EXPECT_EQ(abi_of_launcher_name("orterun"), Abi::openmpi);
  EXPECT_EQ(abi_of_launcher_name("prterun"), Abi::openmpi);
  EXPECT_EQ(abi_of_launcher_name("mpiexec.hydra"), Abi::mpich);
  EXPECT_EQ(abi_of_launcher_name("hydra_pmi_proxy"), Abi::mpich);
  EXPECT_EQ(abi_of_launcher_name("mpirun.mpich"), Abi::mpich);
  EXPECT_EQ(abi_of_launcher_name("mpirun"), Abi::none);
  EXPECT_EQ(abi_of_launcher_name("srun"), Abi::none);
}

TEST(Launcher, VersionTextsThatTell) {
  EXPECT_EQ(abi_of_version_text("mpirun (Open MPI) 5.0.11\n\nReport bugs"), Abi::openmpi);
  EXPECT_EQ(abi_of_version_text("mpirun.openmpi (OpenRTE) 4.1.4\n"), Abi::openmpi);
  EXPECT_EQ(abi_of_version_text("HYDRA build details:\n    Version: 5.0.2\n"), Abi::mpich);
  EXPECT_EQ(abi_of_version_text("Intel(R) MPI Library for Linux* OS, Version 2021.16 Build 2025"), Abi::mpich);
  EXPECT_EQ(abi_of_version_text("usage: something else"), Abi::none);
  EXPECT_EQ(abi_of_version_text(""), Abi::none);
}

TEST(Launcher, VersionNumbers) {
  EXPECT_EQ(version_in("mpirun (Open MPI) 5.0.11\n"), "Open MPI 5.0.11");
  EXPECT_EQ(version_in("mpirun.openmpi (OpenRTE) 4.1.4\n"), "Open MPI 4.1.4");
  EXPECT_EQ(version_in("HYDRA build details:\n    Version:                4.0.2\n"), "MPICH 4.0.2");
  EXPECT_EQ(version_in("Intel(R) MPI Library for Linux* OS, Version 2021.16 Build 2"), "Intel MPI 2021.16");
  EXPECT_EQ(version_in("Version:"), "");
}

TEST(Launcher, LibraryVersionTexts) {
  EXPECT_EQ(first_words_of_version("Open MPI v4.1.4, package: Debian OpenMPI"), "Open MPI v4.1.4");
  EXPECT_EQ(first_words_of_version("MPICH Version:      5.0.2\nMPICH Release date: x"), "MPICH 5.0.2");
}

using Names = std::vector<std::string>;

// What `of` says of a rank. `files` lie on the machine; names without a folder are libraries that the loader finds.
// Open MPI's are in /o.
template <class Of>
std::string with_started(const Names& ancestors, const Names& files, const Names& variables, Abi wanted, const Of& of) {
  const auto has = [](const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto is_there = [&](const std::string& file) { return has(files, file); };
  const auto is_of_openmpi = [](const std::string& library) { return library.starts_with("/o/"); };
  const auto variable = [&](const char* name) { return has(variables, name) ? "1" : ""; };
  return of(Started{ancestors, is_there, is_there, variable, is_of_openmpi, wanted});
}
std::string library_for(const Names& ancestors, const Names& files, const Names& variables = {},
                        Abi wanted = Abi::none) {
  return with_started(ancestors, files, variables, wanted,
                      [](const Started& started) { return library_of_launcher(started); });
}

TEST(LibraryOfLauncher, LiesBesideTheNearestLauncher) {
  const Names files = {"/o/lib/libmpi.so.40",    "/m/lib/libmpi.so.12", "/m/lib/libmpi_abi.so.1",
                       "/s/lib/libmpi_abi.so.1", "libmpi.so.40",        "libmpi.so.12"};
  EXPECT_EQ(library_for({"/usr/bin/dash", "/o/bin/prterun"}, files), "/o/lib/libmpi.so.40");
  EXPECT_EQ(library_for({"/m/bin/hydra_pmi_proxy", "/o/bin/prterun"}, files), "/m/lib/libmpi.so.12");
  EXPECT_EQ(library_for({"/s/bin/mpiexec.hydra"}, files), "/s/lib/libmpi_abi.so.1");
  EXPECT_EQ(library_for({"/m/bin/mpiexec.hydra"}, files, {}, Abi::standard), "/m/lib/libmpi_abi.so.1");
  EXPECT_EQ(library_for({"/o/bin/prterun"}, files, {}, Abi::mpich), "");
  EXPECT_EQ(library_for({"/m/bin/own-launcher"}, files), "/m/lib/libmpi.so.12");
  EXPECT_EQ(library_for({"/o/bin/python3", "/m/bin/hydra_pmi_proxy"}, files), "/m/lib/libmpi.so.12");
  EXPECT_EQ(library_for({"/o/bin/prterun"}, files, {"QUADRILLE_LIBMPI"}), "");
}

TEST(LibraryOfLauncher, MayHaveTheStandardsAbi) {
  const Names files = {"/o/lib/libmpi.so.40", "/o/lib/libmpi_abi.so.1", "libmpi_abi.so.1"};
  EXPECT_EQ(library_for({"/o/bin/prterun"}, files), "/o/lib/libmpi.so.40");
  EXPECT_EQ(library_for({"/o/bin/prterun"}, files, {}, Abi::standard), "/o/lib/libmpi_abi.so.1");
  EXPECT_EQ(library_for({"/usr/bin/orterun"}, files, {}, Abi::standard), "") << "that of another MPI";
  EXPECT_EQ(library_for({"/usr/bin/mpiexec.hydra"}, files, {}, Abi::standard), "libmpi_abi.so.1");
}

// For programs that do not reveal theirs, for example on other hosts alone.
TEST(LibraryOfLauncher, OfOpenMpiMayHaveTheStandardsAbi) {
  const auto library = [](const std::string& launcher, const Names& files) {
    return with_started({}, files, {}, Abi::standard,
                        [&](const Started& here) { return standard_library_of_openmpi(launcher, here); });
  };
  const Names files = {"/o/lib/libmpi.so.40", "/o/lib/libmpi_abi.so.1", "/m/lib/libmpi_abi.so.1", "libmpi_abi.so.1"};
  EXPECT_EQ(library("/o/bin/mpirun", files), "/o/lib/libmpi_abi.so.1");
  EXPECT_EQ(library("/m/bin/mpirun", files), "") << "that of another MPI";
  EXPECT_EQ(library("/usr/bin/mpirun", files), "") << "the loader's is of another MPI";
  EXPECT_EQ(library("/o/bin/mpirun", {"/o/lib/libmpi.so.40"}), "") << "Open MPI 5 has none";
}

TEST(LibraryOfLauncher, IsFoundByTheLoaderIfNoneLiesBeside) {
  const Names debian = {"/usr/lib/libmpi.so.40", "libmpi.so.40", "libmpich.so.12"};
  EXPECT_EQ(library_for({"/usr/bin/orterun"}, debian), "libmpi.so.40");
  EXPECT_EQ(library_for({"/usr/bin/hydra_pmi_proxy"}, debian), "libmpich.so.12");
  // A folder with another MPI.
  EXPECT_EQ(library_for({"/usr/local/bin/mpiexec.hydra"}, {"/usr/local/lib/libmpi.so.40", "libmpi.so.12"}),
            "libmpi.so.12");
  EXPECT_EQ(library_for({"/usr/bin/mpiexec.hydra"}, {"libmpi.so.40"}), "");
}

TEST(LibraryOfLauncher, IsToldByVariablesOfUnknownLaunchers) {
  const Names files = {"libmpi.so.40", "libmpi.so.12"};
  const Names batch = {"/usr/sbin/slurmstepd"};
  EXPECT_EQ(library_for(batch, files, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}), "libmpi.so.40");
  EXPECT_EQ(library_for(batch, files, {"PMI_SIZE"}), "libmpi.so.12");
  EXPECT_EQ(library_for(batch, files, {"PMI_FD"}), "libmpi.so.12");
  EXPECT_EQ(library_for(batch, files), "");
}

TEST(Abis, AreThoseOfTheMpisThatTheBuildHasAHeaderOf) {
  EXPECT_TRUE(std::ranges::any_of(all_abis, knows));
  EXPECT_FALSE(knows(Abi::other));
}

TEST(Abis, OneLauncherMayServeTwo) {
  EXPECT_TRUE(starts(Abi::mpich, Abi::standard, false));
  EXPECT_FALSE(starts(Abi::mpich, Abi::standard, true));
  EXPECT_FALSE(starts(Abi::standard, Abi::mpich, false));
  EXPECT_FALSE(starts(Abi::openmpi, Abi::mpich, false));
  EXPECT_FALSE(starts(Abi::openmpi, Abi::standard, false));
  EXPECT_TRUE(starts(Abi::openmpi, Abi::standard, true));
  EXPECT_TRUE(starts(Abi::none, Abi::openmpi, true));
}

TEST(Preload, TheDirectoryOfTheUserComesFirst) {
  setenv("QUADRILLE_LIB_DIR", "/given", 1);
  EXPECT_EQ(preload_candidates().front(), "/given/libquadrille_mpi.so");
  unsetenv("QUADRILLE_LIB_DIR");
  EXPECT_EQ(preload_candidates().front(), own_directory() + "/../lib/quadrille/libquadrille_mpi.so");
  EXPECT_EQ(preload_candidates().back(), own_directory() + "/../lib/libquadrille_mpi.so");
}

TEST(Run, SaysThatAnMpirunInsideForwardsNothing) {
  Prepared prepared;
  prepared.abi = Abi::openmpi;
  EXPECT_NE(not_forwarded(prepared), "") << "a program on other hosts";
  prepared.command.programs = {{0, resolve_executable("sh", "")}};
  EXPECT_NE(not_forwarded(prepared).find("/sh starts"), std::string::npos);
  prepared.command.launcher = 0;
  EXPECT_EQ(not_forwarded(prepared), "") << "the launcher is told";
  prepared.command.launcher = -1;
  prepared.abi = Abi::mpich;
  EXPECT_EQ(not_forwarded(prepared), "") << "MPICH's launcher forwards all";
}

TEST(RunWords, OwnOptionsEndAtTheCommand) {
  std::vector<std::string> own, command;
  split_run_words({"--explain", "--mpi", "mpich", "--", "mpirun", "--explain"}, own, command);
  EXPECT_EQ(own, (std::vector<std::string>{"--explain", "--mpi", "mpich"}));
  EXPECT_EQ(command, (std::vector<std::string>{"mpirun", "--explain"}));
  own.clear();
  split_run_words({"--mpi=mpich", "mpirun", "--", "x"}, own, command);
  EXPECT_EQ(own, (std::vector<std::string>{"--mpi=mpich"}));
  EXPECT_EQ(command, (std::vector<std::string>{"mpirun", "--", "x"}));
}

TEST(Process, OutputOfAProgramIsReadAndItIsStoppedInTime) {
  EXPECT_EQ(output_of({"sh", "-c", "echo out; echo err >&2"}, 10), "out\nerr\n");
  EXPECT_EQ(output_of({"/nowhere/program"}, 10), "");
  std::string begun;  // later on a busy machine
  for (int seconds = 1; begun.empty() && seconds <= 64; seconds *= 4)
    begun = output_of({"sh", "-c", "echo begun; exec sleep 1000"}, seconds);
  EXPECT_EQ(begun, "begun\n");
}

// Ends when it is asked to, and says so in a file; a second file says that it is ready to.
std::vector<std::string> asked_to_end(const test::TempFolder& folder) {
  return {"sh", "-c",
          "trap 'echo asked >" + folder.file("asked") + "; exit' TERM; echo >" + folder.file("ready") +
              "; echo begun; while :; do sleep 0.1; done"};
}

TEST(Process, AProgramThatTakesTooLongIsAskedToEnd) {
  const test::TempFolder folder;
  for (int seconds = 1; !std::filesystem::exists(folder.file("ready")) && seconds <= 64; seconds *= 4)
    output_of(asked_to_end(folder), seconds);
  EXPECT_EQ(first_line(folder.file("asked")), "asked");
}

TEST(Process, ASignalGoesToTheProgramThatIsWaitedFor) {
  const test::TempFolder folder;
  bool raised = false;
  {
    const Signals signals;
    output_of(asked_to_end(folder), 300, [&](int) {
      if (raised || !std::filesystem::exists(folder.file("ready"))) return;
      raised = true;
      raise(SIGTERM);
    });
    EXPECT_EQ(Signals::received(), SIGTERM);
  }
  EXPECT_TRUE(raised);
  EXPECT_EQ(first_line(folder.file("asked")), "asked");
  { const Signals signals; }
  EXPECT_EQ(Signals::received(), 0);
}

TEST(Process, MuchOutputDoesNotEndAProgram) {
  const std::string script = "echo first; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i + 1)); done; ";
  const std::string kept = output_of({"sh", "-c", script + "echo '[0] sign: one'; echo last"}, 60, nullptr, "sign: ");
  EXPECT_TRUE(kept.starts_with("first\n0123456789\n")) << kept.substr(0, 100);
  EXPECT_TRUE(kept.substr(64 * 1024).starts_with("[0] sign: one\n"));
  EXPECT_TRUE(kept.ends_with("\n0123456789\nlast\n")) << "the end says why it failed";
  EXPECT_LT(kept.size(), 96U * 1024);
  EXPECT_EQ(output_of({"head", "-c", "100000", "/dev/zero"}, 60).size(), 64U * 1024);
}

TEST(Process, ExecutablesAreFoundAsAShellDoes) {
  EXPECT_NE(resolve_executable("sh", ""), "");
  EXPECT_EQ(resolve_executable("/bin/sh", ""), "/bin/sh");
  EXPECT_EQ(resolve_executable("./sh", "/bin"), "/bin/./sh");
  EXPECT_EQ(resolve_executable("/bin", ""), "") << "a directory";
  EXPECT_EQ(resolve_executable("/etc/passwd", ""), "") << "not executable";
  EXPECT_EQ(resolve_executable("", ""), "");
}

}  // namespace
}  // namespace quadrille::tools
