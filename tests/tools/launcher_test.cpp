#include "tool/launch/launcher.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tool/launch/process.hpp"
#include "tool/launch/run.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

TEST(Launcher, NamesThatTell) {
  EXPECT_EQ(abi_of_launcher_name("orterun"), Abi::openmpi);
  EXPECT_EQ(abi_of_launcher_name("prterun"), Abi::openmpi);
  EXPECT_EQ(abi_of_launcher_name("mpiexec.hydra"), Abi::mpich);
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

TEST(Preload, TheDirectoryOfTheUserComesFirst) {
  setenv("QUADRILLE_LIB_DIR", "/given", 1);
  EXPECT_EQ(preload_candidates(Abi::mpich).front(), "/given/mpich/libquadrille_mpi.so");
  unsetenv("QUADRILLE_LIB_DIR");
  EXPECT_NE(preload_candidates(Abi::mpich).front(), "/given/mpich/libquadrille_mpi.so");
}

TEST(Preload, TheLibraryBesideTheToolIsTakenForTheAbisThatItKnows) {
  const std::string plain = own_directory() + "/../lib/libquadrille_mpi.so";
  for (const Abi abi : {Abi::openmpi, Abi::mpich, Abi::standard, Abi::other}) {
    const std::vector<std::string> all = preload_candidates(abi);
    EXPECT_EQ(std::find(all.begin(), all.end(), plain) != all.end(), knows(abi)) << name_of(abi);
  }
  EXPECT_TRUE(knows(own_abi()));
  EXPECT_FALSE(knows(Abi::other));
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
