// Every copy kernel that this machine can run: all small lengths at all misalignments, larger ones
// at some, with guard bytes on both sides of the destination and the source at the very end of a
// page that nothing follows.
#include "memory/copy_kernels.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "processors.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t line = sys::cache_line;
constexpr std::size_t guard = 2 * line;
constexpr std::byte guard_byte{0xA5};
constexpr std::size_t most_bytes = 70'000;

using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

// Memory that begins on a line.
struct Area {
  explicit Area(std::size_t bytes) : memory(bytes + line) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    base = memory.data() + (line - address % line) % line;
  }
  std::vector<std::byte> memory;
  std::byte* base;
};

class CopyKernelsTest : public ::testing::TestWithParam<CopyKernels> {
 protected:
  CopyKernelsTest() : source_(most_bytes + 2 * line), target_(most_bytes + 2 * guard + 2 * line) {
    // Never the guard's value, and no period that a wrong offset could hide in.
    std::uint32_t state = 12345;
    for (std::size_t i = 0; i < most_bytes + line; ++i) {
      state = state * 1664525 + 1013904223;
      source_.base[i] = std::byte(state >> 24) == guard_byte ? std::byte{0} : std::byte(state >> 24);
    }
  }

  // Copies with `copy` and returns what is wrong; empty if nothing is.
  template <class AnyCopy>
  std::string problem(const AnyCopy& copy, std::size_t bytes, std::size_t from_at, std::size_t to_at) {
    std::byte* to = target_.base + guard + to_at;
    const std::byte* from = source_.base + from_at;
    std::memset(to - guard, std::to_integer<int>(guard_byte), bytes + 2 * guard);
    copy(to, from, bytes);
    stream_fence();
    const auto is_guard = [](std::byte b) { return b == guard_byte; };
    std::string wrong;
    if (std::memcmp(to, from, bytes) != 0) wrong = "wrong data";
    if (!std::all_of(to - guard, to, is_guard)) wrong = "wrote before the destination";
    if (!std::all_of(to + bytes, to + bytes + guard, is_guard)) wrong = "wrote past the destination";
    if (wrong.empty()) return wrong;
    return wrong + ": " + std::to_string(bytes) + " bytes from misalignment " + std::to_string(from_at) + " to " +
           std::to_string(to_at);
  }

  void check_all(Copy copy) {
    for (std::size_t bytes = 0; bytes <= 1100; ++bytes) {
      for (std::size_t from_at = 0; from_at < line; ++from_at) {
        // All pairs of misalignments for lengths around the kernels' steps; all misalignments of
        // either side for the others.
        const bool all_pairs = bytes <= 140 || bytes % line <= 1 || bytes % line == line - 1;
        for (std::size_t to_at = 0; to_at < line; to_at += all_pairs ? 1 : 7) {
          const std::size_t at = (to_at + from_at) % line;
          ASSERT_EQ(problem(copy, bytes, from_at, at), "");
        }
      }
    }
    for (const std::size_t bytes : {1151u, 1152u, 1153u, 1407u, 1408u, 1500u, 2048u, 4095u, 4096u, 4097u, 8191u,
                                    12'345u, 32'768u, 65'535u, 65'600u, 70'000u}) {
      for (const std::size_t from_at : {0u, 1u, 8u, 16u, 31u, 32u, 63u}) {
        for (const std::size_t to_at : {0u, 1u, 15u, 16u, 32u, 33u, 48u, 63u}) {
          ASSERT_EQ(problem(copy, bytes, from_at, to_at), "");
        }
      }
    }
  }

  // The source ends where its page does, and the next page may not be read.
  void check_page_end(Copy copy) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* pages = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    auto* first = static_cast<std::byte*>(pages);
    ASSERT_EQ(mprotect(first, page, PROT_NONE), 0);
    ASSERT_EQ(mprotect(first + 2 * page, page, PROT_NONE), 0);
    std::byte* readable = first + page;
    std::memcpy(readable, source_.base, page);
    for (std::size_t bytes = 0; bytes <= std::min<std::size_t>(page, 1500); ++bytes) {
      for (const std::byte* from : {readable, readable + page - bytes}) {
        copy(target_.base + guard, from, bytes);
        ASSERT_EQ(std::memcmp(target_.base + guard, from, bytes), 0) << bytes;
      }
    }
    munmap(pages, 3 * page);
  }

  Area source_, target_;
};

TEST_P(CopyKernelsTest, StreamingCopiesExactlyTheBytes) { check_all(GetParam().streaming); }

TEST_P(CopyKernelsTest, NothingOutsideTheSourceIsRead) { check_page_end(GetParam().streaming); }

TEST_P(CopyKernelsTest, HybridCopiesAtEveryThreshold) {
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 129u, 200u, 1000u, 4096u}) {
    std::set<std::size_t> thresholds = {0, 1, 63, 64, 65, SIZE_MAX - 1, SIZE_MAX};
    for (std::size_t near = 0; near <= 2 * line; ++near) {
      thresholds.insert(bytes + near);
      if (near <= bytes) thresholds.insert(bytes - near);
    }
    for (const std::size_t threshold : thresholds) {
      const auto copy = [&](std::byte* to, const std::byte* from, std::size_t n) {
        hybrid_copy(GetParam(), to, from, n, threshold);
      };
      for (const std::size_t to_at : {0u, 1u, 17u, 32u, 40u, 63u}) {
        ASSERT_EQ(problem(copy, bytes, 5, to_at), "") << "threshold " << threshold;
      }
    }
  }
}

// A kernel that only notes what it is asked for.
std::vector<std::size_t> streamed;
const std::byte* expected_to = nullptr;
void note_streaming(std::byte* to, const std::byte*, std::size_t bytes) {
  streamed.push_back(bytes);
  expected_to = to;
}

// How many bytes of the copy went through the cache, and what was streamed.
struct Split {
  std::size_t temporal = 0;
  std::vector<std::size_t> streamed;
  bool operator==(const Split&) const = default;
};

Split split_of(std::size_t at, std::size_t bytes, std::size_t threshold) {
  static Area area(8192);
  streamed.clear();
  std::byte *const to = area.base + at, *const from = area.base + 4096;
  std::memset(to, 0, bytes);
  std::memset(from, 1, bytes);
  hybrid_copy({"noting", note_streaming}, to, from, bytes, threshold);
  return {static_cast<std::size_t>(std::count(to, to + bytes, std::byte{1})), streamed};
}

TEST(HybridCopy, StreamsWhatIsPastTheThresholdFromALineOn) {
  EXPECT_EQ(split_of(0, 1000, 128), (Split{128, {872}}));
  // The example of the header: address 40 in its line, T = 60.
  EXPECT_EQ(split_of(40, 300, 60), (Split{88, {212}}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(expected_to) % line, 0u);
  EXPECT_EQ(split_of(0, 1000, 0), (Split{0, {1000}}));
  EXPECT_EQ(split_of(1, 1000, 0), (Split{63, {937}}));
}

TEST(HybridCopy, BelowTheThresholdNothingIsStreamed) {
  EXPECT_EQ(split_of(0, 1000, 1000), (Split{1000, {}}));
  EXPECT_EQ(split_of(0, 1000, 999), (Split{1000, {}}));
  EXPECT_EQ(split_of(3, 1000, SIZE_MAX), (Split{1000, {}}));
}

// Streamed data is there once the flag that follows the fence is seen. The reader looks at the line
// that was streamed last, at once: without the fence, on two cores of an x86, about half the calls
// go wrong.
TEST_P(CopyKernelsTest, FenceThenFlagPublishesTheData) {
  constexpr std::size_t bytes = 16 * 1024;
  constexpr int calls_to_make = 1000;
  const std::array<int, 2> processors = sys::two_processors();
  alignas(line) std::atomic<int> flag{0};
  alignas(line) std::atomic<int> seen{0};
  int wrong = 0;
  const sys::Waiter waiter;
  std::thread reader([&] {
    sys::run_on(processors[0]);
    for (int call = 1; call <= calls_to_make; ++call) {
      waiter.until([&] { return flag.load(std::memory_order_acquire) == call; });
      const auto right = [&](std::byte b) { return b == std::byte(call); };
      const auto last = std::make_reverse_iterator(target_.base + bytes);
      wrong += !std::all_of(last, last + bytes, right);
      seen.store(call, std::memory_order_release);
    }
  });
  std::thread writer([&] {
    sys::run_on(processors[1]);
    for (int call = 1; call <= calls_to_make; ++call) {
      std::memset(source_.base, call, bytes);
      GetParam().streaming(target_.base, source_.base, bytes);
      stream_fence();
      flag.store(call, std::memory_order_release);
      waiter.until([&] { return seen.load(std::memory_order_acquire) == call; });
    }
  });
  writer.join();
  reader.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, CopyKernelsTest, ::testing::ValuesIn([] {
                           const auto all = all_supported_kernels();
                           return std::vector<CopyKernels>(all.begin(), all.end());
                         }()),
                         [](const auto& info) { return std::string(info.param.isa); });

TEST(CopyKernels, TheBestIsTheFirstAndNamesAreDistinct) {
  const auto all = all_supported_kernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(&copy_kernels(), &all.front());
  std::set<std::string_view> names;
  for (const CopyKernels& kernels : all) names.insert(kernels.isa);
  EXPECT_EQ(names.size(), all.size());
}

#if defined(__x86_64__)
TEST(CopyKernels, ThisMachinesVectorsAreUsed) {
  // On a processor with AVX2, a build that found only the baseline would pass all other tests.
  std::set<std::string_view> names;
  for (const CopyKernels& kernels : all_supported_kernels()) names.insert(kernels.isa);
  EXPECT_EQ(names.contains("AVX2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(names.contains("AVX3"), __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(names.contains("SSSE3"), __builtin_cpu_supports("ssse3") != 0);
}
#endif

}  // namespace
}  // namespace quadrille::memory
