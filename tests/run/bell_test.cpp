// Sleeping for another rank: nobody sleeps on when what it waits for has come. Runs with ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned minute_us = 60'000'000;

// Ranks in a ring: each waits for the one before it, then says so to the next. `others` wait for the first one too.
TEST(Bell, NobodySleepsOnWhenWhatItWaitsForHasCome) {
  constexpr std::size_t ranks = 3, others = 2;
  constexpr int turns = 3000;
  struct Line {
    std::atomic<int> turn{0};
    Bell bell{};
  };
  std::array<Line, ranks> lines;
  std::atomic<bool> overslept = false;
  const auto wait = [&](Line& line, int turn) {
    const auto ready = [&] { return line.turn.load(std::memory_order_acquire) >= turn || overslept; };
    while (!ready()) {
      const auto begin = Clock::now();
      line.bell.sleep_unless(ready, minute_us);
      // Whoever came meanwhile has woken it; so it is a bell that was not heard.
      if (Clock::now() - begin >= std::chrono::microseconds(minute_us)) overslept = true;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < ranks; ++me) {
    threads.emplace_back([&, me] {
      for (int turn = 1; turn <= turns; ++turn) {
        if (me > 0) wait(lines[me - 1], turn);
        lines[me].turn.store(turn, std::memory_order_release);
        lines[me].bell.ring();
        if (me == 0) wait(lines[ranks - 1], turn);
      }
    });
  }
  for (std::size_t other = 0; other < others; ++other) {
    threads.emplace_back([&] {
      for (int turn = 1; turn <= turns; ++turn) wait(lines[0], turn);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overslept);
}

TEST(Bell, SleepsNoLongerThanItIsToldTo) {
  Bell bell{};
  int looks = 0;
  bell.sleep_unless([&] { return ++looks < 0; }, 1000);
  EXPECT_EQ(looks, 1);
}

TEST(Bell, DoesNotSleepForWhatIsThere) {
  Bell bell{};
  const auto begin = Clock::now();
  bell.sleep_unless([] { return true; }, minute_us);
  EXPECT_LT(Clock::now() - begin, std::chrono::microseconds(minute_us));
}

}  // namespace
}  // namespace quadrille::sys
