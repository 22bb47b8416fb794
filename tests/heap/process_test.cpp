// Other ways to start programs, and what is inherited by them.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "maps.hpp"

extern char** environ;

namespace quadrille::test {
namespace {

constexpr std::size_t block_bytes = 1'000'000;

// An argument that is itself large, so that it lies in the heap.
std::string long_argument() { return "test -n '" + std::string(30'000, 'x') + "' && exit 42"; }

class Process : public testing::Test {
 protected:
  void SetUp() override {
    block_ = malloc(block_bytes);
    fill(block_, block_bytes, 1);
  }
  void TearDown() override {
    EXPECT_TRUE(holds(block_, block_bytes, 1));
    free(block_);
  }
  void* block_ = nullptr;
};

TEST_F(Process, ForkAndExec) {
  const std::string command = long_argument();
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(1);
  }
  EXPECT_EQ(end_of(child), 42);
}

TEST_F(Process, VforkAndExec) {
  const std::string command = long_argument();
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(1);
  }
  EXPECT_EQ(end_of(child), 42);
}

TEST_F(Process, PosixSpawn) {
  std::string command = long_argument(), shell = "sh", option = "-c";
  char* arguments[] = {shell.data(), option.data(), command.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ), 0);
  EXPECT_EQ(end_of(child), 42);
}

TEST_F(Process, System) { EXPECT_EQ(WEXITSTATUS(system(long_argument().c_str())), 42); }

TEST_F(Process, Popen) {
  std::FILE* output = popen("echo hello", "r");
  ASSERT_NE(output, nullptr);
  char line[32] = {};
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  EXPECT_STREQ(line, "hello\n");
  EXPECT_EQ(pclose(output), 0);
}

// A program that is not under the library inherits no descriptor of the heap.
TEST_F(Process, DescriptorIsClosedOnExec) {
  std::FILE* output = popen("LD_PRELOAD= ls -l /proc/self/fd", "r");
  ASSERT_NE(output, nullptr);
  std::string text;
  char line[256];
  while (std::fgets(line, sizeof line, output) != nullptr) text += line;
  pclose(output);
  EXPECT_NE(text.find("/proc"), std::string::npos) << text;
  // With its kind: a file in a folder called quadrille may be open, too.
  EXPECT_EQ(text.find("memfd:quadrille"), std::string::npos) << text;
}

}  // namespace
}  // namespace quadrille::test
