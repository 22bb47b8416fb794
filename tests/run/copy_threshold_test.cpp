// Where the search for the hybrid copy's threshold starts; cache sizes. The search is in stream_tuner_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "memory/node_copy.hpp"
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

TEST(LeastStreamed, IsWhatExceedsTheLastCachesOfTheNode) {
  constexpr std::size_t MiB = 1024 * KiB;
  EXPECT_EQ(least_streamed({32 * MiB, 32 * MiB}, MiB, 2), 16 * MiB) << "two ranks share one cache";
  EXPECT_EQ(least_streamed({32 * MiB, 256 * MiB}, MiB, 64), 4 * MiB) << "eight ranks on each of eight caches";
  EXPECT_EQ(least_streamed({32 * MiB, 256 * MiB}, MiB, 2), 32 * MiB) << "no more than the caches of a rank";
  EXPECT_EQ(least_streamed({32 * MiB, 32 * MiB}, MiB, 1000), MiB) << "a core's own cache at least";
  EXPECT_EQ(least_streamed({}, MiB, 4), 8 * MiB) << "unknown caches";
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

// Two processors share the first last-level cache, the third has one of its own, the fourth tells nothing.
TEST(CacheSizes, OfTheLastLevelCountEachCacheOnce) {
  CacheFolder root;
  const auto add = [&root](const char* processor, const char* sharers) {
    CacheFolder one;
    one.add(0, "2", "Unified", "1024K");
    one.add(1, "3", "Unified", "32M");
    std::ofstream(one.path + "/index1/shared_cpu_list") << sharers << "\n";
    std::filesystem::create_directory(root.path + "/" + processor);
    std::filesystem::copy(one.path, root.path + "/" + processor + "/cache", std::filesystem::copy_options::recursive);
  };
  add("cpu0", "0-1");
  add("cpu1", "0-1");
  add("cpu2", "2");
  std::filesystem::create_directory(root.path + "/cpu3");
  add("cpu7000", "7000");  // no set holds it
  std::ofstream(root.path + "/present") << "0-3,7000\n";
  const auto bytes_of = [&root](std::uint64_t processors) {
    return sys::last_cache_bytes_in(root.path, sys::ProcessorSet(processors));
  };
  constexpr std::size_t cache = 32 * 1024 * KiB;
  EXPECT_EQ(bytes_of(0b0001), cache);
  EXPECT_EQ(bytes_of(0b0011), cache);
  EXPECT_EQ(bytes_of(0b0111), 2 * cache);
  EXPECT_EQ(bytes_of(0b1000), 0U);
  EXPECT_EQ(sys::last_cache_bytes_in(root.path, sys::every_processor()), 2 * cache);
}

// Two packages: processors 0 to 3 and 8 share a cache, 4 has one of its own. Of 5, 6 and 66 something is missing.
TEST(Place, IsThePackageAndTheLastCache) {
  CacheFolder root;
  const auto add = [&root](int processor, const char* package, const char* level, const char* sharers) {
    CacheFolder one;
    one.add(0, "1", "Data", "32K");
    one.add(1, level, "Unified", "32M");
    std::ofstream(one.path + "/index0/shared_cpu_list") << processor << "\n";
    std::ofstream(one.path + "/index1/shared_cpu_list") << sharers << "\n";
    const std::string folder = root.path + "/cpu" + std::to_string(processor);
    std::filesystem::create_directories(folder + "/topology");
    std::filesystem::copy(one.path, folder + "/cache", std::filesystem::copy_options::recursive);
    if (*package != 0) std::ofstream(folder + "/topology/physical_package_id") << package << "\n";
  };
  for (const int processor : {0, 1, 2, 3, 8}) add(processor, "0", "3", "0-3,8");
  add(4, "1", "3", "4");
  add(5, "", "3", "5");
  add(6, "1", "3", "");
  add(66, "1", "2", "66");
  const auto place = [&root](std::initializer_list<int> processors) {
    sys::ProcessorSet set;
    for (const int p : processors) set.set(static_cast<std::size_t>(p));
    const sys::Place found = sys::place_of(set, root.path);
    return std::pair(found.package, found.cache);
  };
  const std::pair unknown(-1, -1);
  EXPECT_EQ(place({0}), std::pair(0, 0));
  EXPECT_EQ(place({8}), std::pair(0, 0));
  EXPECT_EQ(place({1, 3, 8}), std::pair(0, 0));
  EXPECT_EQ(place({4}), std::pair(1, 4));
  EXPECT_EQ(place({3, 4}), unknown) << "two caches";
  EXPECT_EQ(place({4, 66}), unknown);
  EXPECT_EQ(place({5}), unknown) << "no package is told";
  EXPECT_EQ(place({6}), unknown) << "no sharers are told";
  EXPECT_EQ(place({66}), unknown) << "no cache of the third level";
  EXPECT_EQ(place({7}), unknown) << "not there";
  EXPECT_EQ(place({}), unknown);
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
