// The explorer itself: what it must find, and what it must not.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "expect.hpp"

namespace quadrille::models::explorer {
namespace {

// One process hands a value to another.
Machine message(int depth, bool ordered) {
  Machine m(2, depth);
  const int data = m.cell("data"), flag = m.cell("flag");
  m.store(0, "write", data, 7);
  m.publish(0, "publish", flag, 1, ordered);
  m.wait(1, "await", flag, 1);
  m.step(1, "read", [=](Step& s) {
    s.check(s.load(data) == 7, "read before it was written");
    return true;
  });
  return m;
}

TEST(Explorer, AReleaseOrdersWhatWasStoredBefore) {
  EXPECT_TRUE(explore(message(4, true)).good());
  EXPECT_TRUE(explore(message(0, false)).good()) << "all is visible at once";
  const Found found = explore(message(4, false), {.shortest = true});
  EXPECT_EQ(found.violation, "read before it was written");
  EXPECT_EQ(found.trace, (std::vector<std::string>{"0: write", "0: publish", "0:     now visible: flag = 1", "1: await",
                                                   "1: read"}));
}

Machine streamed(bool fenced) {
  Machine m(2, 4);
  const int data = m.cell("data"), flag = m.cell("flag");
  m.local(0, "stream", [=](Step& s) { return s.stream(data, 7), true; });
  if (fenced) m.step(0, "fence", [](Step& s) { return s.fence(); });
  m.publish(0, "publish", flag, 1);
  m.wait(1, "await", flag, 1);
  m.step(1, "read", [=](Step& s) {
    s.check(s.load(data) == 7, "read before it was written");
    return true;
  });
  return m;
}

TEST(Explorer, OnlyAFenceOrdersWhatWasStreamed) {
  EXPECT_TRUE(explore(streamed(true)).good());
  EXPECT_EQ(explore(streamed(false)).violation, "read before it was written");
}

// A process copies what another one overwrites when it is told that it may.
Machine borrowed(bool ordered) {
  Machine m(2, 4);
  const int data = m.cell("data", 7), copied = m.cell("copy"), flag = m.cell("flag");
  m.copy(0, "copy", copied, data);
  m.publish(0, "publish", flag, 1, ordered);
  m.wait(1, "await", flag, 1);
  m.store(1, "overwrite", data, 9);
  m.finally([=](Step& s) { s.check(s.load(copied) == 7, "overwritten before it was read"); });
  return m;
}

TEST(Explorer, AReleaseOrdersWhatWasCopiedBefore) {
  EXPECT_TRUE(explore(borrowed(true)).good());
  EXPECT_EQ(explore(borrowed(false)).violation, "overwritten before it was read");
}

// Both set their flag and look at the other's: with a buffer both may see nothing.
TEST(Explorer, AStoreMayBeLaterThanTheNextLoad) {
  for (const int depth : {0, 2}) {
    Machine m(2, depth);
    const int flags[] = {m.cell("flag 0"), m.cell("flag 1")};
    const int saw[] = {m.own(9), m.own(9)};
    for (int p = 0; p < 2; ++p) {
      m.publish(p, "set", flags[p], 1);
      m.step(p, "look", [=](Step& s) { return s.own(saw[p]) = s.load(flags[1 - p]), true; });
    }
    m.finally([=](Step& s) { s.check(s.own(saw[0]) + s.own(saw[1]) > 0, "both saw nothing"); });
    EXPECT_EQ(explore(m).violation, depth == 0 ? "" : "both saw nothing");
  }
}

TEST(Explorer, FindsADeadlock) {
  Machine m(2, 0);
  const int flags[] = {m.cell("flag 0"), m.cell("flag 1")};
  for (int p = 0; p < 2; ++p) {
    m.wait(p, "await", flags[1 - p], 1);
    m.publish(p, "set", flags[p], 1);
  }
  EXPECT_EQ(explore(m).violation, "deadlock");
}

TEST(Explorer, CountsTheStatesAndSaysWhenItDidNotSeeAll) {
  Machine m(3, 0);
  for (int p = 0; p < 3; ++p) {
    const int cell = m.cell("counter");
    for (int i = 1; i <= 4; ++i) m.store(p, "count", cell, i);
  }
  EXPECT_EQ(explore(m).states, 125U);
  EXPECT_FALSE(explore(m, {.most_states = 50}).good());
}

TEST(Explorer, StoresToOneCellKeepTheirOrder) {
  Machine m(2, 4);
  const int cell = m.cell("cell"), seen = m.own();
  m.store(0, "one", cell, 1);
  m.store(0, "two", cell, 2);
  m.wait(1, "await two", cell, 2);
  m.step(1, "read", [=](Step& s) { return s.own(seen) = s.load(cell), true; });
  m.finally([=](Step& s) { s.check(s.own(seen) == 2 && s.load(cell) == 2, "an older value came back"); });
  EXPECT_TRUE(explore(m).good());
}

// A random program. What all cells and loads hold when it has ended goes into `ends`.
Machine random_machine(std::mt19937& random, bool waits, std::set<std::vector<Byte>>& ends) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int processes = 2 + draw(2), cells = 3;
  Machine m(processes, 1 + draw(4));
  for (int c = 0; c < cells; ++c) m.cell("cell " + std::to_string(c), static_cast<Byte>(draw(2)));
  std::vector<int> saw;
  for (int p = 0; p < processes; ++p) {
    for (int i = 0; i < 2 + draw(processes == 2 ? 4 : 2); ++i) {
      const int a = draw(cells), b = (a + 1 + draw(cells - 1)) % cells, value = draw(3), kind = draw(waits ? 8 : 7);
      if (kind == 0) m.store(p, "store", a, value);
      if (kind == 1) m.publish(p, "release", a, value);
      if (kind == 2) m.local(p, "stream", [=](Step& s) { return s.stream(a, value), true; });
      if (kind == 3) m.copy(p, "copy", a, b);
      if (kind == 4) m.step(p, "fence", [](Step& s) { return s.fence(); });
      if (kind == 7) m.step(p, "wait", [=](Step& s) { return s.load(a) != 1; });
      if (kind < 5 || kind > 6) continue;
      const int own = saw.emplace_back(m.own());
      m.step(p, "load", [=](Step& s) { return s.own(own) = s.load(a), true; });
    }
  }
  m.finally([=, &ends](Step& s) {
    std::vector<Byte> end;
    for (int c = 0; c < cells; ++c) end.push_back(s.load(c));
    for (const int own : saw) end.push_back(s.own(own));
    ends.insert(end);
  });
  return m;
}

TEST(Explorer, WhatItLeavesOutMakesNoDifference) {
  std::mt19937 random(20240);
  std::size_t deadlocks = 0, outcomes = 0, few = 0, many = 0;
  for (int i = 0; i < 4000; ++i) {
    std::set<std::vector<Byte>> ends;
    const Machine m = random_machine(random, i % 2 == 1, ends);
    const Found all = explore(m, {.all = true});
    const std::set<std::vector<Byte>> all_ends = std::exchange(ends, {});
    const Found some = explore(m);
    ASSERT_EQ(some.violation, all.violation) << "machine " << i << ": " << all.text();
    if (all.good()) {
      ASSERT_EQ(ends, all_ends) << "machine " << i;
    }
    deadlocks += all.violation == "deadlock";
    outcomes += all_ends.size();
    few += some.states;
    many += all.states;
  }
  std::printf("4000 machines: %zu deadlocks, %zu outcomes, %zu states instead of %zu\n", deadlocks, outcomes, few,
              many);
  EXPECT_GT(deadlocks, 300U);
  EXPECT_GT(outcomes, 10000U);
}

}  // namespace
}  // namespace quadrille::models::explorer
