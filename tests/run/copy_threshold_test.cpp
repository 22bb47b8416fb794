// The search for the hybrid copy's threshold, on cost curves whose best point is known; cache
// sizes.
#include "memory/copy_threshold.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

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

// The candidates that a search tries on a curve, each once.
struct Trace {
  std::size_t threshold;
  std::vector<std::size_t> tried;
};
Trace search(std::size_t start, std::size_t least,
             const std::function<double(std::size_t)>& curve) {
  Trace trace;
  trace.threshold = search_threshold(start, least,
                                     [&](std::size_t threshold) {
                                       trace.tried.push_back(threshold);
                                       return curve(threshold);
                                     },
                                     {.repeats = 1});
  return trace;
}

TEST(SearchThreshold, LessIsAlwaysBetterEndsWithStreamingAlone) {
  const Trace trace = search(32 * KiB, 4 * KiB, [](auto t) { return 100.0 + double(t); });
  EXPECT_EQ(trace.threshold, 0u);
  EXPECT_EQ(trace.tried, (std::vector<std::size_t>{32 * KiB, 16 * KiB, 8 * KiB, 4 * KiB, 0}));
}

TEST(SearchThreshold, MoreIsBetterStaysAtTheStart) {
  const Trace trace = search(32 * KiB, 4 * KiB, [](auto t) { return 1e6 - double(t); });
  EXPECT_EQ(trace.threshold, 32 * KiB);
  EXPECT_EQ(trace.tried, (std::vector<std::size_t>{32 * KiB, 16 * KiB}));
}

TEST(SearchThreshold, StopsInAValley) {
  const auto valley = [](std::size_t t) { return std::abs(double(t) - 8.0 * KiB) + 1000; };
  EXPECT_EQ(search(64 * KiB, 64, valley).threshold, 8 * KiB);
  EXPECT_EQ(search(64 * KiB, 64, valley).tried.back(), 4 * KiB);
}

TEST(SearchThreshold, StreamingAloneIsTriedButNotTakenIfWorse) {
  const auto curve = [](std::size_t t) { return t == 0 ? 1e9 : 100.0 + double(t); };
  const Trace trace = search(32 * KiB, 4 * KiB, curve);
  EXPECT_EQ(trace.threshold, 4 * KiB);
  EXPECT_EQ(trace.tried.back(), 0u);
}

TEST(SearchThreshold, FlatCurvesStayAtTheStart) {
  EXPECT_EQ(search(32 * KiB, 64, [](auto) { return 7.0; }).threshold, 32 * KiB);
  // Each half is a bit faster, by less than what counts.
  EXPECT_EQ(search(32 * KiB, 64, [](auto t) { return 100 + std::log2(double(t + 1)); }).threshold,
            32 * KiB);
  EXPECT_EQ(search(32 * KiB, 64, [](auto) { return 0.0; }).threshold, 32 * KiB);
}

TEST(SearchThreshold, OddAndTinyStarts) {
  const auto less = [](std::size_t t) { return 1.0 + double(t); };
  EXPECT_EQ(search(100, 10, less).tried, (std::vector<std::size_t>{100, 50, 25, 12, 0}));
  EXPECT_EQ(search(64, 64, less).tried, (std::vector<std::size_t>{64, 0}));
  EXPECT_EQ(search(32, 64, less).tried, (std::vector<std::size_t>{32, 0}));
  EXPECT_EQ(search(0, 64, less).tried, (std::vector<std::size_t>{0}));
  EXPECT_EQ(search(4, 0, less).tried, (std::vector<std::size_t>{4, 2, 1, 0}));
}

TEST(SearchThreshold, NoNumberNeverHelps) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(search(64, 8, [&](auto) { return nan; }).threshold, 64u);
  EXPECT_EQ(search(64, 8, [&](auto t) { return t < 32 ? nan : double(t); }).threshold, 32u);
}

// Disturbances that only add time, on up to two of each three measurements.
TEST(SearchThreshold, DisturbedMeasurementsAreRepeated) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::uint32_t state = seed;
    int since_quiet = 0;
    std::vector<std::size_t> tried;
    const auto noisy = [&](std::size_t t) {
      if (tried.empty() || tried.back() != t) since_quiet = 0;
      tried.push_back(t);
      state = state * 1664525 + 1013904223;
      const bool quiet = since_quiet == 2 || state >> 30 == 0;
      since_quiet = quiet ? 0 : since_quiet + 1;
      return std::abs(double(t) - 8.0 * KiB) + 1000 + (quiet ? 0 : double(state >> 12));
    };
    ASSERT_EQ(search_threshold(64 * KiB, 64, noisy), 8 * KiB) << "seed " << seed;
    ASSERT_EQ(tried.size(), 3u * 5);
  }
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
