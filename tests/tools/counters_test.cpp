// Hardware counters. Virtual machines have none, so how they are started, stopped and read is
// tested on a counter of the kernel's own, page faults; the hardware's either count plausibly or
// say why not.
#include "tool/machine/counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <thread>

namespace quadrille::tools {
namespace {

constexpr int pages = 100;

// Touches `pages` new pages, so that each is a page fault.
void fault_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* base = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  madvise(base, pages * page, MADV_NOHUGEPAGE);
  for (int p = 0; p < pages; ++p) static_cast<volatile char*>(base)[p * page] = 1;
  munmap(base, pages * page);
}

const std::vector<Event> page_faults = {{"page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, ""}};

TEST(Counters, CountBetweenStartAndStop) {
  Counters counters(page_faults);
  if (!counters.read()[0].reason.starts_with("not available: the hardware counters were busy") &&
      !counters.read()[0].reason.empty()) {
    GTEST_SKIP() << counters.read()[0].reason;
  }
  fault_pages();  // not counted: they do not run yet
  counters.start();
  fault_pages();
  counters.stop();
  fault_pages();  // not counted any more
  const std::vector<Count> once = counters.read();
  ASSERT_TRUE(once[0].value) << once[0].reason;
  EXPECT_GE(*once[0].value, pages);
  EXPECT_LT(*once[0].value, 2 * pages);
  EXPECT_EQ(once[0].reason, "");

  counters.start();  // from zero
  fault_pages();
  fault_pages();
  EXPECT_GE(counters.read()[0].value.value_or(0), 2 * pages);  // while they run
  fault_pages();
  counters.stop();
  const std::vector<Count> again = counters.read();
  ASSERT_TRUE(again[0].value);
  EXPECT_GE(*again[0].value, 3 * pages);
  EXPECT_LT(*again[0].value, 4 * pages);
}

TEST(Counters, OfTheCallingThreadOnly) {
  Counters counters(page_faults);
  counters.start();
  std::thread(fault_pages).join();
  counters.stop();
  const Count count = counters.read()[0];
  if (!count.value) GTEST_SKIP() << count.reason;
  EXPECT_LT(*count.value, pages);
}

TEST(Counters, LeaveNoDescriptorBehind) {
  const int before = dup(0);
  close(before);
  {
    const Counters counters(page_faults);
    const Counters hardware(cache_events());
  }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

TEST(Counters, OfTheHardwareArePlausibleOrSayWhyNot) {
  const std::vector<Event> events = cache_events();
  Counters counters(events);
  counters.start();
  constexpr unsigned turns = 1'000'000;
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < turns; ++i) sum = sum + i;
  counters.stop();
  const std::vector<Count> counts = counters.read();
  ASSERT_EQ(counts.size(), events.size());
  for (std::size_t e = 0; e < events.size(); ++e) {
    EXPECT_EQ(counts[e].name, events[e].name);
    if (!counts[e].value) {
      EXPECT_THAT(counts[e].reason, testing::StartsWith("not available: "));
      continue;
    }
    EXPECT_EQ(counts[e].reason, "");
    EXPECT_TRUE(std::isfinite(*counts[e].value));
    if (counts[e].name == "instructions") {
      EXPECT_GE(*counts[e].value, 2.0 * turns);
      EXPECT_LE(*counts[e].value, 100.0 * turns);
    }
    if (counts[e].name.ends_with("misses")) {
      EXPECT_LT(*counts[e].value, turns);
    }
    if (counts[e].name.ends_with("stalls")) {
      EXPECT_LE(*counts[e].value, 100.0 * turns);
    }
  }
}

// Of the HINT paper's figures 7 and 11: misses, and what waits for the store buffer.
TEST(Counters, OfMemoryAreMissesAndStoreStalls) {
  std::vector<std::string> names;
  for (const Event& event : memory_events()) {
    names.push_back(event.name);
    // Raw numbers are a processor's own: where nobody knows one, it says so.
    if (event.name != "store stalls" || !event.missing.empty()) continue;
    EXPECT_EQ(event.type, PERF_TYPE_RAW);
    EXPECT_THAT(event.config, testing::AnyOf(0x08a2, 0x04ae));
  }
  EXPECT_THAT(names, testing::ElementsAre("L1d misses", "L2 misses", "LLC misses", "store stalls"));
}

TEST(Counters, ThatDoNotExistSayWhy) {
  const std::vector<Event> events = {{"nonsense", 4'000'000, 1, ""}, {"unknown", 0, 0, "not available: for a test"}};
  Counters counters(events);
  counters.start();
  counters.stop();
  const std::vector<Count> counts = counters.read();
  EXPECT_FALSE(counts[0].value);
  EXPECT_THAT(counts[0].reason, testing::StartsWith("not available: "));
  EXPECT_FALSE(counts[1].value);
  EXPECT_EQ(counts[1].reason, "not available: for a test");
}

TEST(Counters, ProblemsAreTold) {
  EXPECT_THAT(counter_problem(ENOENT), testing::HasSubstr("no such counter"));
  EXPECT_THAT(counter_problem(EACCES), testing::HasSubstr("perf_event_paranoid"));
  EXPECT_THAT(counter_problem(E2BIG), testing::HasSubstr("Argument list too long"));
}

}  // namespace
}  // namespace quadrille::tools
