// What the system and the control groups leave, from files as the kernel writes them.
#include <gtest/gtest.h>

#include <fstream>

#include "../temp_folder.hpp"
#include "sys/kernel_files.hpp"

namespace quadrille::sys {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

class MemoryLeft : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::size_t left() { return memory_left(folder_.path().c_str()); }

 private:
  test::TempFolder folder_;
};

constexpr const char* gigabytes =
    "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    4194304 kB\nSwapTotal:             0 "
    "kB\n"
    "SwapFree:         102400 kB\n";

TEST_F(MemoryLeft, IsUnknownWithoutFiles) { EXPECT_EQ(left(), SIZE_MAX); }

TEST_F(MemoryLeft, IsThatOfTheSystemWithoutALimit) {
  write("/proc/meminfo", gigabytes);
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(left(), 4196 * mega);
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(left(), 4196 * mega);
}

TEST_F(MemoryLeft, IsThatOfTheTightestGroup) {
  write("/proc/meminfo", gigabytes);
  write("/proc/self/cgroup", "0::/job/step/rank\n");
  write("/sys/fs/cgroup/job/memory.max", std::to_string(1000 * mega) + "\n");
  write("/sys/fs/cgroup/job/memory.current", std::to_string(700 * mega) + "\n");
  write("/sys/fs/cgroup/job/memory.swap.max", "0\n");
  write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  write("/sys/fs/cgroup/job/step/rank/memory.max", std::to_string(2000 * mega) + "\n");
  write("/sys/fs/cgroup/job/step/rank/memory.current", std::to_string(100 * mega) + "\n");
  EXPECT_EQ(left(), 300 * mega);
  // The kernel takes back what it has read from files, and swaps out.
  write("/sys/fs/cgroup/job/memory.stat",
        "anon 1\nfile 104857600\ninactive_file 52428800\nactive_file 20971520\nslab_reclaimable 1048576\n");
  EXPECT_EQ(left(), 371 * mega);
  write("/sys/fs/cgroup/job/memory.swap.max", std::to_string(30 * mega) + "\n");
  write("/sys/fs/cgroup/job/memory.swap.current", std::to_string(10 * mega) + "\n");
  EXPECT_EQ(left(), 391 * mega);
  write("/sys/fs/cgroup/job/memory.swap.max", "max\n");
  EXPECT_EQ(left(), 471 * mega);
}

TEST_F(MemoryLeft, IsNoneInAGroupThatHasMoreThanItsLimit) {
  write("/proc/self/cgroup", "0::/a");
  write("/sys/fs/cgroup/a/memory.max", "1000");
  write("/sys/fs/cgroup/a/memory.current", "2000");
  EXPECT_EQ(left(), 0U);
}

TEST_F(MemoryLeft, KnowsTheFirstVersion) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(100 * mega));
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(60 * mega));
  write("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
  EXPECT_EQ(left(), 41 * mega);
  // Swap is what is left of both together, beyond what is left of memory.
  write("/proc/meminfo", "MemAvailable: 1048576 kB\nSwapFree: 65536 kB\n");
  write("/sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes", std::to_string(100 * mega));
  write("/sys/fs/cgroup/memory/job/memory.memsw.usage_in_bytes", std::to_string(60 * mega));
  EXPECT_EQ(left(), 41 * mega);
  write("/sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes", std::to_string(108 * mega));
  EXPECT_EQ(left(), 49 * mega);
}

// In a container the group may have the name that it has outside.
TEST_F(MemoryLeft, LooksAtTheTopToo) {
  write("/proc/self/cgroup", "0::/not/here\n");
  write("/sys/fs/cgroup/memory.max", "4096000\n");
  write("/sys/fs/cgroup/memory.current", "96000\n");
  EXPECT_EQ(left(), 4'000'000U);
}

TEST(MemoryLeftHere, IsSomething) { EXPECT_GT(memory_left(), 0U); }

}  // namespace
}  // namespace quadrille::sys
