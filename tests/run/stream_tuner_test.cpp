// The choice between the cache and streaming stores, on made-up times; and the copies that it steers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "memory/node_copy.hpp"
#include "processors.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t from = std::size_t{1} << 20, start = std::size_t{256} << 10;
constexpr std::size_t call = std::size_t{3} << 20;  // not a power of two

// Time per byte of a copy with threshold T, and with the one before it.
using Cost = std::function<double(std::size_t T, std::size_t before)>;

// Makes calls until the class has decided; returns the Ts in order, the kept one last.
std::vector<std::size_t> run(StreamTuner& tuner, const Cost& cost, std::size_t bytes = call, int most_calls = 1000) {
  std::vector<std::size_t> used;
  std::size_t before = all_temporal;
  while (!tuner.has_decided(bytes) && static_cast<int>(used.size()) < most_calls) {
    const StreamTuner::Use use = tuner.next(bytes);
    used.push_back(use.temporal_bytes);
    if (use.timed) {
      tuner.record(use, bytes, cost(use.temporal_bytes, before) * static_cast<double>(bytes));
    }
    before = use.temporal_bytes;
  }
  used.push_back(tuner.next(bytes).temporal_bytes);
  return used;
}

Cost table(double temporal, double streaming, std::function<double(std::size_t)> hybrid) {
  return [=](std::size_t T, std::size_t) { return T == all_temporal ? temporal : T == 0 ? streaming : hybrid(T); };
}

// How far T is from the best one, in halvings.
double distance(std::size_t T, std::size_t best) {
  return std::abs(std::log2(static_cast<double>(T)) - std::log2(static_cast<double>(best)));
}

TEST(StreamTuner, KeepsWhatIsFastest) {
  StreamTuner a(from, start), b(from, start), c(from, start);
  EXPECT_EQ(run(a, table(1, 2, [](auto) { return 3; })).back(), all_temporal);
  EXPECT_EQ(run(b, table(3, 1, [](auto) { return 2; })).back(), 0U);
  EXPECT_EQ(run(c, table(3, 2, [](auto T) { return T == start ? 1.0 : 5.0; })).back(), start);
}

TEST(StreamTuner, HalvesWhileThatHelps) {
  for (const std::size_t best : {start / 2, start / 4, start / 64}) {
    StreamTuner tuner(from, start);
    const auto cost = table(9, 8, [&](auto T) { return 1 + distance(T, best); });
    EXPECT_EQ(run(tuner, cost).back(), best);
  }
  // Not below the least: 4096.
  StreamTuner tuner(from, start);
  const auto cost = table(99, 98, [](auto T) { return std::log2(T); });
  EXPECT_EQ(run(tuner, cost).back(), 4096U);
}

TEST(StreamTuner, HalvedThresholdsMustBeatStreamingToo) {
  StreamTuner tuner(from, start);
  const auto cost = table(9, 2, [](auto T) { return T == start / 2 ? 2.5 : 3.0; });
  EXPECT_EQ(run(tuner, cost).back(), 0U);
  StreamTuner other(from, start);
  const auto better = table(9, 2, [](auto T) { return T == start / 2 ? 1.5 : 3.0; });
  EXPECT_EQ(run(other, better).back(), start / 2);
}

TEST(StreamTuner, ASmallGainIsNone) {
  StreamTuner tuner(from, start);
  EXPECT_EQ(run(tuner, table(1.00, 0.99, [](auto) { return 0.99; })).back(), all_temporal);
  StreamTuner other(from, start);
  EXPECT_EQ(run(other, table(1.00, 0.97, [](auto) { return 0.99; })).back(), 0U);
}

TEST(StreamTuner, TriesInTurnAndSoOften) {
  StreamTuner tuner(from, start);
  const std::vector<std::size_t> used = run(tuner, table(1, 2, [](auto) { return 3; }));
  std::vector<std::size_t> expected = {all_temporal};  // the first call, of pages never touched
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t T : {all_temporal, start, std::size_t{0}}) {
      expected.insert(expected.end(), 2, T);
    }
  }
  expected.push_back(all_temporal);  // what is kept
  EXPECT_EQ(used, expected);
  StreamTuner halving(from, start);
  EXPECT_EQ(run(halving, table(3, 1, [](auto) { return 2; })).size(), 1 + 18 + 12 + 1U);
}

TEST(StreamTuner, FirstCallOfAClassIsNotTimed) {
  StreamTuner tuner(from, start);
  EXPECT_FALSE(tuner.next(call).timed);
  EXPECT_FALSE(tuner.next(call).timed) << "the first of two with one candidate";
  EXPECT_TRUE(tuner.next(call).timed);
}

TEST(StreamTuner, WhatAnotherCandidateLeftInTheCacheDoesNotCount) {
  // Temporal copies are fast once the one before was temporal, too.
  StreamTuner tuner(from, start);
  int calls = 0;
  const Cost cost = [&](std::size_t T, std::size_t before) {
    if (calls++ == 0) return 100.0;  // after the first call, which was temporal, too
    if (T == all_temporal) return before == all_temporal ? 1.0 : 5.0;
    return 2.0;
  };
  EXPECT_EQ(run(tuner, cost).back(), all_temporal);
}

TEST(StreamTuner, DisturbancesDoNotCount) {
  StreamTuner tuner(from, start);
  int calls = 0;
  // One of three measurements of each is good.
  const Cost cost = [&](std::size_t T, std::size_t) {
    const double good = T == all_temporal ? 1 : 2;
    return calls++ / 3 == 1 ? good : 50 * good + (T == all_temporal ? 500 : 0);
  };
  EXPECT_EQ(run(tuner, cost).back(), all_temporal);
}

TEST(StreamTuner, TimesArePerByte) {
  // All candidates are equally fast, but the streaming calls happen to be the smallest of the class.
  StreamTuner tuner(from, start);
  while (!tuner.has_decided(call)) {
    const StreamTuner::Use use = tuner.next(call);
    const std::size_t bytes = use.temporal_bytes == 0 ? (call / 3) * 2 : call;
    tuner.record(use, bytes, static_cast<double>(bytes));
  }
  EXPECT_EQ(tuner.next(call).temporal_bytes, all_temporal);
}

TEST(StreamTuner, SmallCallsAreTemporalAndNeverTimed) {
  StreamTuner tuner(from, start);
  for (int i = 0; i < 50; ++i) {
    const StreamTuner::Use use = tuner.next(from - 1);
    EXPECT_EQ(use.temporal_bytes, all_temporal);
    EXPECT_FALSE(use.timed);
  }
  EXPECT_TRUE(tuner.has_decided(from - 1));
  EXPECT_FALSE(tuner.has_decided(from));
}

TEST(StreamTuner, SizeClassesAreApart) {
  StreamTuner tuner(from, start);
  EXPECT_EQ(run(tuner, table(3, 1, [](auto) { return 2; }), from).back(), 0U);
  EXPECT_FALSE(tuner.has_decided(2 * from));
  EXPECT_EQ(run(tuner, table(1, 3, [](auto) { return 2; }), 2 * from).back(), all_temporal);
  EXPECT_EQ(tuner.next(2 * from - 1).temporal_bytes, 0U);
  EXPECT_EQ(tuner.next(4 * from - 1).temporal_bytes, all_temporal);
  EXPECT_FALSE(tuner.has_decided(4 * from));
}

TEST(StreamTuner, TimesThatAreNoNumbersChangeNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  StreamTuner tuner(from, start);
  EXPECT_EQ(run(tuner, [&](auto, auto) { return nan; }).back(), all_temporal);
  StreamTuner half(from, start);
  EXPECT_EQ(run(half, table(1, nan, [&](auto) { return nan; })).back(), all_temporal);
}

TEST(StreamTuner, CallsThatTellNothingEndInTheOrdinaryCopy) {
  StreamTuner tuner(from, start);
  int calls = 0;
  while (!tuner.has_decided(call) && calls < 1000) {
    const StreamTuner::Use use = tuner.next(call);
    EXPECT_EQ(use.temporal_bytes, all_temporal) << "nothing else is tried before it tells something";
    tuner.record(use, 0, 1);
    ++calls;
  }
  EXPECT_LT(calls, 100);
  EXPECT_EQ(tuner.next(call).temporal_bytes, all_temporal);
}

// Up to the first one of a check.
int calls_until_check(StreamTuner& tuner) {
  int calls = 0;
  for (; tuner.has_decided(call); ++calls) tuner.next(call);
  return calls;
}

TEST(StreamTuner, WhatIsKeptIsCheckedLessAndLess) {
  StreamTuner tuner(from, start);
  const auto cost = table(3, 1, [](auto) { return 2; });
  run(tuner, cost);
  EXPECT_EQ(calls_until_check(tuner), 4096);
  const std::vector<std::size_t> used = run(tuner, cost);
  EXPECT_EQ(used.size(), 18U) << "six calls with each of three, the first of which was made before";
  EXPECT_EQ(used[0], 0U) << "what is kept comes first";
  EXPECT_EQ(used.back(), 0U);
  EXPECT_EQ(calls_until_check(tuner), 16384);
}

TEST(StreamTuner, NoCheckBeginsAmongTheCallsOfATrial) {
  StreamTuner tuner(from, start);
  run(tuner, table(3, 1, [](auto) { return 2; }));
  for (int calls = 1; calls < 4096; ++calls) tuner.next(call);
  for (int calls = 0; calls < 3; ++calls) {
    tuner.hold_checks();
    EXPECT_EQ(tuner.next(call).temporal_bytes, 0U);
    EXPECT_TRUE(tuner.has_decided(call)) << "a check is due";
  }
  EXPECT_EQ(calls_until_check(tuner), StreamTuner::calls_held) << "the trial has ended";
}

TEST(StreamTuner, ACheckFindsWhatHasChanged) {
  StreamTuner tuner(from, start);
  run(tuner, table(1, 2, [](auto) { return 3; }));
  calls_until_check(tuner);
  EXPECT_EQ(run(tuner, table(9, 8, [&](auto T) { return 1 + distance(T, start / 4); })).back(), start / 4);
  calls_until_check(tuner);
  EXPECT_EQ(run(tuner, table(9, 8, [&](auto T) { return 1 + distance(T, start / 4); })).back(), start / 4)
      << "nothing has";
  calls_until_check(tuner);
  EXPECT_EQ(run(tuner, table(1, 2, [](auto) { return 3; })).back(), all_temporal);
}

// ---- The copies ----

TEST(NodeCopy, EveryTrialDeliversTheData) {
  CopyPlan plan;
  plan.tuner.emplace(1000, 512);
  constexpr std::size_t block = 40000, blocks = 3;
  std::vector<std::byte> from_here(block * blocks), to_there(block * blocks);
  for (int round = 0; round < 60; ++round) {
    for (std::size_t i = 0; i < from_here.size(); ++i) {
      from_here[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(round));
    }
    NodeCopy copy(plan, from_here.size());
    for (std::size_t b = 0; b < blocks; ++b) {
      copy(to_there.data() + b * block, from_here.data() + b * block, block);
    }
    copy.done();
    ASSERT_EQ(from_here, to_there) << "call " << round;
  }
  EXPECT_TRUE(plan.tuner->has_decided(block * blocks));
}

TEST(NodeCopy, ACallThatCopiedLittleTellsNothing) {
  CopyPlan plan;
  plan.tuner.emplace(1000, 512);
  std::vector<std::byte> from_here(100), to_there(100);
  for (int call_number = 0; call_number < 60; ++call_number) {
    NodeCopy copy(plan, 1 << 20);
    copy(to_there.data(), from_here.data(), from_here.size());
    copy.done();
  }
  EXPECT_FALSE(plan.tuner->has_decided(1 << 20)) << "18 such calls would have been enough";
}

int fences = 0;
Fenced counting_fence() {
  ++fences;
  return stream_fence();
}

// How many fences there are in a call of two blocks, none of them before the blocks are copied.
int fences_of(CopyPlan& plan, std::size_t call_bytes) {
  std::vector<std::byte> from_here(call_bytes), to_there(call_bytes);
  const std::size_t half = call_bytes / 2;
  plan.fence = counting_fence;
  fences = 0;
  NodeCopy copy(plan, call_bytes);
  copy(to_there.data(), from_here.data(), half);
  copy(to_there.data() + half, from_here.data() + half, call_bytes - half);
  EXPECT_EQ(fences, 0) << "too early";
  copy.done();
  return fences;
}

// Most runs do not show that a fence is missing, so the fences are counted.
TEST(NodeCopy, IsFencedOnceIfItStreams) {
  CopyPlan off, on{0, 0, {}}, from_5000{5000, 128, {}};
  EXPECT_EQ(fences_of(off, 100'000), 0);
  EXPECT_EQ(fences_of(on, 100'000), 1);
  EXPECT_EQ(fences_of(from_5000, 4999), 0);
  EXPECT_EQ(fences_of(from_5000, 5000), 1);
}

TEST(NodeCopy, IsFencedInEveryTrialThatStreams) {
  CopyPlan plan;
  plan.tuner.emplace(1000, 512);
  constexpr std::size_t bytes = 50'000;
  int streamed = 0;
  for (int call_number = 0; call_number < 100; ++call_number) {
    StreamTuner same_state = *plan.tuner;
    const bool streams = same_state.next(bytes).temporal_bytes != all_temporal;
    ASSERT_EQ(fences_of(plan, bytes), streams ? 1 : 0) << "call " << call_number;
    streamed += streams ? 1 : 0;
  }
  EXPECT_GT(streamed, 2);
}

// As the test of the fence itself: without the one in done(), many calls go wrong on an x86.
TEST(NodeCopy, WhatIsDoneIsThereOnceAFlagSaysSo) {
  constexpr std::size_t bytes = 16 * 1024;
  constexpr int calls = 1000;
  CopyPlan plan{0, 0, {}};
  alignas(64) static std::array<std::byte, bytes> from_here, to_there;  // whole lines, all streamed
  alignas(64) std::atomic<int> flag{0};
  alignas(64) std::atomic<int> seen{0};
  int wrong = 0;
  const sys::Waiter waiter;
  const std::array<int, 2> processors = sys::two_processors();
  std::thread reader([&] {
    sys::run_on(processors[0]);
    for (int c = 1; c <= calls; ++c) {
      waiter.until([&] { return flag.load(std::memory_order_acquire) == c; });
      wrong += !std::all_of(to_there.rbegin(), to_there.rend(), [&](std::byte b) { return b == std::byte(c); });
      seen.store(c, std::memory_order_release);
    }
  });
  std::thread writer([&] {
    sys::run_on(processors[1]);
    for (int c = 1; c <= calls; ++c) {
      std::memset(from_here.data(), c, bytes);
      NodeCopy copy(plan, bytes);
      copy(to_there.data(), from_here.data(), bytes);
      copy.done();
      flag.store(c, std::memory_order_release);
      waiter.until([&] { return seen.load(std::memory_order_acquire) == c; });
    }
  });
  writer.join();
  reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CopyPlan, FollowsTheWish) {
  constexpr std::size_t l2 = std::size_t{1} << 20, last = 32 * l2;
  constexpr LastCaches caches{last, last};
  const auto plan_of = [&](const char* text) {
    StreamWish wish;
    EXPECT_EQ(parse_stream(text, wish), "") << text;
    return copy_plan(wish, l2, caches, 4);
  };
  EXPECT_TRUE(plan_of("auto").tuner);
  for (const char* text : {"off", "on", "5000"}) EXPECT_FALSE(plan_of(text).tuner) << text;
  EXPECT_EQ(plan_of("off").stream_from, all_temporal);
  EXPECT_EQ(plan_of("on").stream_from, 0U);
  EXPECT_EQ(plan_of("on").temporal_bytes, 0U);
  EXPECT_EQ(plan_of("5000").stream_from, 5000U);
  EXPECT_EQ(plan_of("5000").temporal_bytes, l2 / 4);
  // What is tried starts where the ranks fill their last-level cache.
  EXPECT_FALSE(plan_of("auto").tuner->has_decided(last / 4));
  EXPECT_TRUE(plan_of("auto").tuner->has_decided(last / 4 - 1));
  CopyPlan searched = plan_of("auto");
  const std::vector<std::size_t> used =
      run(*searched.tuner, table(9, 8, [](auto T) { return std::log2(T); }), last / 4);
  EXPECT_NE(std::ranges::find(used, l2 / 4), used.end()) << "T starts at L2 / P";
  EXPECT_EQ(*std::ranges::max_element(used, {}, [](auto T) { return T == all_temporal ? 0 : T; }), l2 / 4);
}

TEST(CopyPlan, ATableStreamsNothingThatFitsTheLastCache) {
  constexpr std::size_t l2 = std::size_t{1} << 20;
  const LastCaches caches{32 * l2, 32 * l2};
  EXPECT_EQ(copy_plan({}, l2, caches, 4, l2).stream_from, 8 * l2);
  EXPECT_EQ(copy_plan({}, l2, caches, 4, 9 * l2).stream_from, 9 * l2);
  EXPECT_EQ(copy_plan({StreamWish::Mode::from, l2}, l2, caches, 4, 9 * l2).stream_from, l2) << "as the user says";
}

}  // namespace
}  // namespace quadrille::memory
