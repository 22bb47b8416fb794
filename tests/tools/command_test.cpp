#include "tool/launch/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace quadrille::tools {
namespace {

using testing::HasSubstr;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A file system with a few programs. Words that are also values of options are there on purpose.
std::string resolve(std::string_view word, std::string_view directory) {
  static const std::set<std::string, std::less<>> in_path = {
      "mpirun",  "mpiexec", "srun", "orterun", "mpirun.mpich", "app",  "python3", "taskset",
      "numactl", "env",     "nice", "time",    "timeout",      "perf", "gdb",     "stat",
      "host1",   "core",    "ls",   "PATH",    "nsys",         "ncu",  "true"};
  static const std::set<std::string, std::less<>> files = {"./app", "./other", "/opt/mpi/bin/mpirun", "/data/./there"};
  if (in_path.contains(word)) return "/bin/" + std::string(word);
  const std::string path = directory.empty() ? std::string(word) : std::string(directory) + "/" + std::string(word);
  return files.contains(path) ? path : files.contains(word) ? std::string(word) : "";
}

// The words of the programs that are found.
std::vector<std::string> programs_of(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  const Command command = read_command(words, resolve);
  std::vector<std::string> programs;
  for (const CommandProgram& program : command.programs) programs.push_back(words[program.word]);
  return programs;
}

struct Case {
  const char* text;
  const char* program;
};

TEST(Command, FindsTheProgramBehindOptionsWithValues) {
  const Case cases[] = {
      {"mpirun -n 4 ./app", "./app"},
      {"mpirun -np 4 app -n 5", "app"},
      {"/opt/mpi/bin/mpirun ./app ./other", "./app"},
      {"mpirun --host host1 -n 2 ./app", "./app"},
      {"mpirun -host host1 -n 2 ./app", "./app"},
      {"mpirun -x PATH -n 2 ./app", "./app"},
      {"mpirun -x A=b -n 2 ./app", "./app"},
      {"mpirun --mca btl self -mca pml ob1 ./app", "./app"},
      {"mpirun --with-ft ls -n 2 ./app", "./app"},
      {"mpirun --bind-to core --map-by core ./app", "./app"},
      {"mpirun --bind-to=core ./app", "./app"},
      {"mpirun -genv PATH ls -n 2 ./app", "./app"},
      {"mpiexec -env PATH ls -envlist PATH ./app", "./app"},
      {"mpiexec -f hosts -ppn 2 -n 4 ./app", "./app"},
      {"mpirun --oversubscribe -v -l ./app", "./app"},
      {"mpirun -n 2 -- ./app", "./app"},
      {"mpirun --unknown 17 -n 2 ./app", "./app"},
      {"mpirun --unknown ./app", "./app"},
      {"srun -n 4 -N 2 -p core --mpi pmix ./app", "./app"},
      {"srun -c 2 -t 10 ./app", "./app"},
      {"mpirun -p ./app", "./app"},
      {"mpirun -n 2 python3 x.py", "python3"},
      {"./app", "./app"},
      {"./app mpirun -n 2 ./other", "./app"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(programs_of(c.text), testing::ElementsAre(c.program)) << c.text;
  }
}

TEST(Command, LooksThroughWrappers) {
  const Case cases[] = {
      {"mpirun -n 2 taskset -c 0 ./app", "./app"},
      {"mpirun -n 2 numactl -N 0 -m 0 ./app", "./app"},
      {"mpirun -n 2 env A=b -u PATH C=d ./app", "./app"},
      {"mpirun -n 2 nice -n 5 ./app", "./app"},
      {"mpirun -n 2 timeout -k 5 10 ./app", "./app"},
      {"mpirun -n 2 perf stat -e cycles ./app", "./app"},
      {"mpirun -n 2 gdb --args ./app x", "./app"},
      {"mpirun -n 2 nsys profile -f true --stats true -t mpi ./app", "./app"},
      {"mpirun -n 2 nsys profile --stats=true --force-overwrite true ./app", "./app"},
      {"mpirun -n 2 ncu -f --set full --target-processes all ./app", "./app"},
      {"mpirun -n 2 numactl -N 0 -- time ./app", "./app"},
      {"taskset -c 0 ./app", "./app"},
      {"time mpirun -n 2 nice ./app", "./app"},
      {"env A=b mpirun -n 2 ./app", "./app"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(programs_of(c.text), testing::ElementsAre(c.program)) << c.text;
  }
}

TEST(Command, FindsAllProgramsOfSeveralParts) {
  EXPECT_THAT(programs_of("mpirun -n 1 ./app a b : -n 2 -x PATH ./other : nice app"),
              testing::ElementsAre("./app", "./other", "app"));
}

TEST(Command, WordsBehindAProgramAreItsOwnInEachPart) {
  const auto before = [](const std::string& text) {
    const std::vector<std::string> words = words_of(text);
    return words_before_programs(words, read_command(words, resolve));
  };
  EXPECT_EQ(before("time mpirun -n 1 ./app a b : -n 2 -x PATH nice ./other c"),
            words_of("time mpirun -n 1 : -n 2 -x PATH nice"));
  EXPECT_EQ(before("./app a"), std::vector<std::string>());
  EXPECT_EQ(before("mpirun --app file"), words_of("mpirun --app file"));
}

TEST(Command, PathsStartInTheWorkingDirectoryOfTheProgram) {
  for (const char* text : {"mpirun -wdir /data -n 2 ./there", "mpirun --wdir=/data -n 2 ./there",
                           "srun -D /data -n 2 ./there", "srun --chdir=/data -n 2 ./there"}) {
    const Command command = read_command(words_of(text), resolve);
    ASSERT_EQ(command.programs.size(), 1u) << text;
    EXPECT_EQ(command.programs[0].path, "/data/./there") << text;
  }
  EXPECT_TRUE(programs_of("mpirun -n 2 ./there").empty());
}

TEST(Command, TellsTheLauncher) {
  const auto launcher_of = [](const std::string& text) { return read_command(words_of(text), resolve).launcher; };
  EXPECT_EQ(launcher_of("mpirun -n 2 ./app"), 0);
  EXPECT_EQ(launcher_of("env A=b mpirun.mpich ./app"), 2);
  EXPECT_EQ(launcher_of("./app"), -1);
  EXPECT_EQ(launcher_of("taskset -c 0 ./app"), -1);
  EXPECT_EQ(read_command(words_of("/nowhere/mpirun ./app"), resolve).launcher_path, "");
}

TEST(Command, SaysWhatIsMissing) {
  const auto problem_of = [](const std::string& text) { return read_command(words_of(text), resolve).problem; };
  EXPECT_THAT(problem_of("mpirun -n 2 ./nowhere"), HasSubstr("'./nowhere'"));
  EXPECT_THAT(problem_of("mpirun --oversubscribe ./nowhere in.txt"), HasSubstr("'./nowhere'"));
  EXPECT_THAT(problem_of("mpirun --unknown 17 ./nowhere"), HasSubstr("'./nowhere'"));
  EXPECT_EQ(problem_of("mpirun --unknown 17 nice ./nowhere").find("17"), std::string::npos);
  EXPECT_THAT(problem_of("mpirun -n 2"), HasSubstr("no program"));
  EXPECT_THAT(problem_of("mpirun"), HasSubstr("no program"));
  EXPECT_THAT(problem_of("mpirun -n"), HasSubstr("no program"));
  EXPECT_THAT(problem_of("mpirun nice"), HasSubstr("no program"));
  EXPECT_THAT(problem_of("mpirun -n 1 ./app :"), HasSubstr("no program"));
  EXPECT_EQ(problem_of("mpirun --app file"), "");
  EXPECT_EQ(problem_of("mpirun --app=file"), "");
  EXPECT_EQ(problem_of("mpiexec -configfile=file"), "");
  EXPECT_EQ(problem_of("mpiexec -configfile file"), "");
  EXPECT_EQ(problem_of("mpirun -n 2 ./app"), "");
}

TEST(Command, KnowsNames) {
  for (const char* name :
       {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "orterun", "prterun", "srun", "mpirun-openmpi-gcc"}) {
    EXPECT_TRUE(is_launcher_name(name)) << name;
  }
  for (const char* name : {"mpirunner", "app", "", "mpi"}) EXPECT_FALSE(is_launcher_name(name));
  for (const char* name : {"python", "python3", "python3.11", "bash", "sh", "lua5.4", "R"}) {
    EXPECT_TRUE(is_interpreter_name(name)) << name;
  }
  for (const char* name : {"ls", "pythonic", "", "3"}) EXPECT_FALSE(is_interpreter_name(name));
}

std::string exported(const std::string& text, bool open_mpi) {
  const std::vector<std::string> words = words_of(text);
  const std::vector<std::string> names = {"LD_PRELOAD", "QUADRILLE_EXPLAIN"};
  std::string joined;
  for (const std::string& word : with_exports(words, read_command(words, resolve),
                                              open_mpi ? Exports::by_options : Exports::none, "/q.so", names)) {
    joined += (joined.empty() ? "" : " ") + word;
  }
  return joined;
}

TEST(Exports, OpenMpiIsToldInEveryPart) {
  EXPECT_EQ(exported("time mpirun -n 2 ./app : -n 1 ./other", true),
            "time mpirun -x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 2 ./app "
            ": -x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 1 ./other");
}

// What one part exports says nothing of the others, nor do a program's arguments of the parts behind it.
TEST(Exports, EachPartHasItsOwn) {
  EXPECT_EQ(exported("mpirun -x LD_PRELOAD=/u.so ./app : -n 1 ./other", true),
            "mpirun -x QUADRILLE_EXPLAIN -x LD_PRELOAD=/q.so:/u.so ./app "
            ": -x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 1 ./other");
  EXPECT_EQ(exported("mpirun -n 1 ./other : -x LD_PRELOAD ./app", true),
            "mpirun -x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 1 ./other : -x QUADRILLE_EXPLAIN -x LD_PRELOAD ./app");
  EXPECT_EQ(exported("mpirun ./app -x LD_PRELOAD=/p.so --mca mca_base_env_list FOO : ./other", true),
            "mpirun -x LD_PRELOAD -x QUADRILLE_EXPLAIN ./app -x LD_PRELOAD=/p.so --mca mca_base_env_list FOO "
            ": -x LD_PRELOAD -x QUADRILLE_EXPLAIN ./other");
}

// Open MPI ends a job that has both -x and this list.
TEST(Exports, AreAddedToAListOfTheUser) {
  EXPECT_EQ(exported("mpirun --mca mca_base_env_list FOO;BAR -n 2 ./app", true),
            "mpirun --mca mca_base_env_list FOO;BAR;LD_PRELOAD;QUADRILLE_EXPLAIN -n 2 ./app");
  EXPECT_EQ(exported("mpiexec --mca mca_base_env_list FOO ./app", false), "mpiexec --mca mca_base_env_list FOO ./app");
  const std::vector<std::string> words = words_of("mpirun -n 2 ./app"), names = {"LD_PRELOAD"};
  EXPECT_EQ(with_exports(words, read_command(words, resolve), Exports::by_environment, "/q.so", names), words);
}

// Of the command line of such a part Open MPI takes nothing: each line has its own options.
TEST(Exports, AreInTheLinesOfAFile) {
  EXPECT_EQ(exported("mpirun --app file", true), "mpirun --app file");
  EXPECT_EQ(exported("mpirun --app=file", true), "mpirun --app=file");
  EXPECT_EQ(exported("mpirun --app file : -n 1 ./other", true),
            "mpirun --app file : -x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 1 ./other");
  const std::vector<std::string> names = {"LD_PRELOAD", "QUADRILLE_EXPLAIN"};
  EXPECT_EQ(with_exports_in_lines("# two of these\n"
                                  "-n 2 -x A=b  ./app -x LD_PRELOAD=/p.so # both\n"
                                  " \n"
                                  "// one of those\n"
                                  "-n 1 -x LD_PRELOAD=/u.so ./other",
                                  resolve, "/q.so", names),
            "# two of these\n"
            "-x LD_PRELOAD -x QUADRILLE_EXPLAIN -n 2 -x A=b ./app -x LD_PRELOAD=/p.so # both\n"
            " \n"
            "// one of those\n"
            "-x QUADRILLE_EXPLAIN -n 1 -x LD_PRELOAD=/q.so:/u.so ./other\n");
  EXPECT_EQ(with_exports_in_lines("--mca mca_base_env_list FOO ./app\n", resolve, "/q.so", names),
            "--mca mca_base_env_list FOO;LD_PRELOAD;QUADRILLE_EXPLAIN ./app\n");
  EXPECT_EQ(with_exports_in_lines("", resolve, "/q.so", names), "");
}

TEST(Exports, AFileIsNamedByItsOwnWordOrJoined) {
  for (const char* text : {"mpirun --app file", "mpirun -app=file", "mpirun ./app : --app=file"}) {
    const std::vector<std::string> words = words_of(text);
    const std::vector<FileWord> files = read_command(words, resolve).app_files;
    ASSERT_EQ(files.size(), 1u) << text;
    EXPECT_EQ(words[files[0].word].substr(files[0].from), "file") << text;
  }
  EXPECT_TRUE(read_command(words_of("mpirun --app"), resolve).app_files.empty());
}

TEST(Exports, AFileIsLeftAloneBesideAList) {
  const std::vector<std::string> words = words_of("mpirun --mca mca_base_env_list FOO --app file");
  EXPECT_TRUE(gives_env_list(words, read_command(words, resolve)));
  const std::vector<std::string> program = words_of("mpirun ./app --mca mca_base_env_list FOO");
  EXPECT_FALSE(gives_env_list(program, read_command(program, resolve)));
}

TEST(Exports, OtherLaunchersAreLeftAlone) {
  EXPECT_EQ(exported("mpiexec -n 2 ./app", false), "mpiexec -n 2 ./app");
  EXPECT_EQ(exported("./app", true), "./app");
}

TEST(Exports, WhatTheUserExportsStays) {
  EXPECT_EQ(exported("mpirun -x LD_PRELOAD=/u.so ./app", true),
            "mpirun -x QUADRILLE_EXPLAIN -x LD_PRELOAD=/q.so:/u.so ./app");
  EXPECT_EQ(exported("mpirun -x QUADRILLE_EXPLAIN=0 ./app", true), "mpirun -x LD_PRELOAD -x QUADRILLE_EXPLAIN=0 ./app");
  EXPECT_EQ(exported("mpiexec -genv LD_PRELOAD /u.so ./app", false), "mpiexec -genv LD_PRELOAD /q.so:/u.so ./app");
  EXPECT_EQ(exported("mpiexec -n 2 env LD_PRELOAD=/u.so ./app", false),
            "mpiexec -n 2 env LD_PRELOAD=/q.so:/u.so ./app");
  // Arguments of the program are its own.
  EXPECT_EQ(exported("mpiexec ./app LD_PRELOAD=/u.so", false), "mpiexec ./app LD_PRELOAD=/u.so");
}

}  // namespace
}  // namespace quadrille::tools
