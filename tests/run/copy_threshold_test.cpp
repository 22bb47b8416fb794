// Where the search for the hybrid copy's threshold starts; cache sizes. The search is in stream_tuner_test.cpp.
#include "memory/copy_threshold.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t KiB = 1024;

TEST(FirstThreshold, IsTheShareOfTheSecondCache) {
  EXPECT_EQ(first_threshold(1024 * KiB, 32), 32 * KiB);
  EXPECT_EQ(first_threshold(1024 * KiB, 1), 1024 * KiB);
  EXPECT_EQ(first_threshold(1024 * KiB, 3), 349504u);  // whole lines
  EXPECT_EQ(first_threshold(512 * KiB, 1'000'000), 64u);
  EXPECT_EQ(first_threshold(0, 2), 512 * KiB);
  EXPECT_EQ(first_threshold(256 * KiB, 0), 256 * KiB);
}

// A folder as sysfs has it, gone with the test.
struct CacheFolder {
  CacheFolder() {
    char name[] = "/tmp/quadrille-caches-XXXXXX";
    path = mkdtemp(name);
  }
  ~CacheFolder() { std::filesystem::remove_all(path); }
  void add(int index, const char* level, const char* type, const char* size) const {
    const std::string cache = path + "/index" + std::to_string(index);
    std::filesystem::create_directory(cache);
    std::ofstream(cache + "/level") << level << "\n";
    std::ofstream(cache + "/type") << type << "\n";
    std::ofstream(cache + "/size") << size << "\n";
  }
  std::string path;
};

TEST(CacheSizes, AreReadFromSysfs) {
  CacheFolder folder;
  folder.add(0, "1", "Instruction", "64K");
  folder.add(1, "1", "Data", "32K");
  folder.add(2, "2", "Unified", "1024K");
  folder.add(3, "3", "Unified", "32M");
  folder.add(4, "4", "Unified", "many");
  EXPECT_EQ(sys::cache_bytes_in(folder.path, 1), 32 * KiB);
  EXPECT_EQ(sys::cache_bytes_in(folder.path, 2), 1024 * KiB);
  EXPECT_EQ(sys::cache_bytes_in(folder.path, 3), 32 * 1024 * KiB);
  EXPECT_EQ(sys::cache_bytes_in(folder.path, 4), 0u);
  EXPECT_EQ(sys::cache_bytes_in(folder.path + "/none", 2), 0u);
}

TEST(CacheSizes, OfThisMachineGrowWithTheLevel) {
  const std::size_t first = sys::cache_bytes(1), second = sys::cache_bytes(2);
  if (first > 0 && second > 0) {
    EXPECT_LT(first, second);
  }
  EXPECT_EQ(sys::cache_bytes(7), 0u);
}

}  // namespace
}  // namespace quadrille::memory
