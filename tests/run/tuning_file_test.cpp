// The file of the tuning table: where it is, who may write it when, and files that are none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "../temp_folder.hpp"
#include "choose/tuning.hpp"

namespace quadrille::choose {
namespace {

const std::string file_text = R"({
  "quadrille_tuning": 2,
  "machine": {"processor": "A \"fast\" one", "cores": 2},
  "entries": [
    {"of": "kernel-copy", "ranks": 2, "crowded": false, "choices": [{"up_to": 65535, "take": "ring"}]},
    {"of": "inbox", "collective": "alltoall", "ranks": 4, "crowded": true, "choices": [{"up_to": 9, "take": "inbox"}]}
  ]
}
)";

std::map<std::string, std::string> variables;
std::string get(const char* name) { return variables[name]; }

TEST(TuningFile, IsWhereTheUserSays) {
  variables = {{"QUADRILLE_TUNING", "x.json"}, {"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}};
  EXPECT_EQ(tuning_path(get), "x.json");
  variables["QUADRILLE_TUNING"] = "none";
  EXPECT_EQ(tuning_path(get), "");
  variables["QUADRILLE_TUNING"] = "";
  EXPECT_EQ(tuning_path(get), "/x/quadrille/tuning.json");
  variables["XDG_CONFIG_HOME"] = "relative";
  EXPECT_EQ(tuning_path(get), "/h/.config/quadrille/tuning.json");
  variables["HOME"] = "";
  EXPECT_EQ(tuning_path(get), "");
}

std::ptrdiff_t files(const test::TempFolder& folder) {
  return std::distance(std::filesystem::recursive_directory_iterator(folder.path()),
                       std::filesystem::recursive_directory_iterator());
}

TEST(TuningFile, IsWrittenWholeInAFolderThatMayBeNew) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/a/b/tuning.json";
  TuningTable table, read;
  ASSERT_EQ(parse_tuning(file_text, table), "");
  std::string why;
  EXPECT_EQ(read_tuning_file(path, read, why), FileState::absent);
  ASSERT_EQ(write_tuning_file(path, table), "");
  table.entries.pop_back();
  ASSERT_EQ(write_tuning_file(path, table), "");
  EXPECT_EQ(read_tuning_file(path, read, why), FileState::good) << why;
  EXPECT_EQ(read.entries, table.entries);
  EXPECT_EQ(read.machine, table.machine);
  EXPECT_EQ(files(folder), 3) << "two folders and one file, nothing beside it";
}

const Machine here{"A \"fast\" one", 2};

TEST(TuningFile, SeveralProgramsMayAddToIt) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/a/tuning.json";
  constexpr int programs = 6, entries = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < programs; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int e = 0; e < entries; ++e) {
      const auto add = [&](TuningTable& table) { put(table.entries, {2 + p * entries + e, false, {}}); };
      good = good && update_tuning_file(path, here, add).empty();
    }
    _exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  TuningTable table;
  std::string why;
  ASSERT_EQ(read_tuning_file(path, table, why), FileState::good) << why;
  EXPECT_EQ(table.entries.size(), std::size_t{programs * entries}) << "none is lost";
  EXPECT_EQ(files(folder), 3) << "the folder, the table and its lock";
}

TEST(TuningFile, IsNotAddedToWhereThatIsNotRight) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/tuning.json";
  int added = 0;
  const auto add = [&](TuningTable&) { ++added; };
  const auto whole = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::ofstream(path) << "{ mine";
  EXPECT_NE(update_tuning_file(path, here, add).find("line 1: it is not JSON"), std::string::npos);
  EXPECT_EQ(whole(), "{ mine");
  std::ofstream(path, std::ios::trunc) << file_text;
  EXPECT_NE(update_tuning_file(path, {"Another", 2}, add).find("of another machine"), std::string::npos);
  EXPECT_EQ(whole(), file_text);
  EXPECT_NE(update_tuning_file("/proc/no/tuning.json", here, add).find("cannot write '/proc/no/tuning.json'"),
            std::string::npos);
  EXPECT_EQ(added, 0);
  // Who holds the lock is waited for, but not for ever.
  const int lock = open((path + ".lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_NE(update_tuning_file(path, here, add).find("another program has locked it"), std::string::npos);
  EXPECT_EQ(whole(), file_text);
  close(lock);
  EXPECT_EQ(update_tuning_file(path, here, add), "");
  EXPECT_EQ(added, 1);
  // What could not be read again is not written.
  const auto too_much = [](TuningTable& table) {
    for (int i = 0; i < 4000; ++i) put(table.entries, {2 + i, false, {}});
  };
  const std::string before = whole();
  EXPECT_NE(update_tuning_file(path, here, too_much).find("too large"), std::string::npos);
  EXPECT_EQ(whole(), before);
}

TEST(TuningFile, WhatCannotBeReadIsBad) {
  const test::TempFolder folder;
  TuningTable table;
  std::string why;
  EXPECT_EQ(read_tuning_file(folder.path(), table, why), FileState::bad) << "a folder";
  const std::string pipe = folder.path() + "/pipe", large = folder.path() + "/large";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_tuning_file(pipe, table, why), FileState::bad) << "would wait for ever";
  std::ofstream(large) << std::string(2 << 20, ' ') << file_text;
  EXPECT_EQ(read_tuning_file(large, table, why), FileState::bad);
  EXPECT_EQ(why, "it is too large");
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);  // nothing of it is read
  EXPECT_EQ(read_tuning_file(large, table, why), FileState::bad);
  EXPECT_EQ(why, "it is too large");
  std::ofstream(large, std::ios::trunc) << "{";
  EXPECT_EQ(read_tuning_file(large, table, why), FileState::bad);
  EXPECT_EQ(why, "line 1: it is not JSON");
}

// What the system shows as files may fail when it is read, or have no end. None of it may throw.
TEST(TuningFile, FilesOfTheSystemAreBad) {
  TuningTable table;
  std::string why;
  for (const char* path : {"/proc/self/mem", "/proc/self/maps", "/proc/kcore", "/dev/zero", "/dev/tty", "/dev/null/x",
                           "/sys/kernel/mm/transparent_hugepage/enabled"}) {
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(read_tuning_file(path, table, why), FileState::bad) << path;
    EXPECT_NE(why, "") << path;
  }
}

TEST(TuningFile, AFailedWriteLeavesTheOldOne) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/taken";
  std::filesystem::create_directory(path);  // a file cannot take its name
  EXPECT_NE(write_tuning_file(path, {}), "");
  EXPECT_EQ(files(folder), 1) << "nothing is left behind";
}

}  // namespace
}  // namespace quadrille::choose
