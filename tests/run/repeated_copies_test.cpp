// What is kept of copies that calls make again, over a driver that only counts.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/device_batch.hpp"
#include "memory/device_driver.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

struct Counted {
  int nodes = 0, made = 0, destroyed = 0, launched = 0, freed = 0;
  std::uint64_t id = 1;  // of all memory; another one: its context is gone
  bool refuses = false;
};
Counted counted;
char some_memory[64];

DeviceDriver counting_driver() {
  counted = {};
  DeviceDriver driver;
  driver.is_cuda = true;
  driver.pointer_attribute = [](void* result, int, std::uintptr_t) {
    return *static_cast<std::uint64_t*>(result) = counted.id, 0;
  };
  driver.allocate_cuda = [](void** memory, std::size_t) { return *memory = some_memory, 0; };
  driver.free_pinned = [](void*) { return ++counted.freed, 0; };
  driver.push_context = [](void*) { return 0; };
  driver.pop_context = [](void**) { return 0; };
  driver.create_graph = [](void** graph, unsigned) { return *graph = some_memory, 0; };
  driver.add_copy_cuda = [](void**, void*, void* const*, std::size_t, const CudaBox*, void*) {
    return ++counted.nodes, 0;
  };
  driver.make_graph_ready = [](void** ready, void*, unsigned long long) {
    if (counted.refuses) return 1;
    *ready = some_memory;
    return ++counted.made, 0;
  };
  driver.launch_graph = [](void*, void*) { return ++counted.launched, 0; };
  driver.destroy_ready_graph = [](void*) { return ++counted.destroyed, 0; };
  driver.destroy_graph = [](void*) { return 0; };
  return driver;
}

// While it lives, this is the driver of the program.
struct Loaded {
  explicit Loaded(const DeviceDriver& driver) : before(detail::driver.exchange(&driver)) {}
  Loaded& operator=(Loaded&&) = delete;
  ~Loaded() { detail::driver.store(before); }
  const DeviceDriver* const before;
};

class RepeatedCopiesTest : public ::testing::Test {
 protected:
  // A call with `number` copies, the first of them to this address.
  DeviceBatch& call(std::uintptr_t to, std::uint64_t listed, std::size_t number = 3, std::size_t bytes = 64 * MiB) {
    DeviceBatch& fresh = copies.fresh();
    EXPECT_EQ(fresh.size(), 0U);
    for (std::size_t i = 0; i < number; ++i) fresh.add(to + i * bytes, 4096 + i * bytes, bytes);
    return copies.take(place, listed);
  }
  DeviceDriver driver = counting_driver();
  const Loaded loaded{driver};
  DevicePlace place{some_memory, 0};
  RepeatedCopies copies;
};

TEST_F(RepeatedCopiesTest, TheSameListHasTheSameBatch) {
  DeviceBatch* const one = &call(16, 1);
  DeviceBatch* const other = &call(32, 1);
  EXPECT_NE(one, other);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(&call(16, 1), one);
    EXPECT_EQ(&call(32, 1), other);
  }
  EXPECT_EQ(one->size(), 3U);
}

TEST_F(RepeatedCopiesTest, WhatIsNotTheSameHasAnotherOne) {
  DeviceBatch* const one = &call(16, 1);
  EXPECT_NE(&call(16, 2), one) << "other memory at the same address";
  EXPECT_NE(&call(16, 1, 4), one) << "one copy more";
  EXPECT_NE(&call(16, 1, 3, MiB), one) << "less bytes";
  place.device = 1;
  EXPECT_NE(&call(16, 1), one) << "another place";
}

TEST_F(RepeatedCopiesTest, WhatWasUsedLastIsKept) {
  DeviceBatch* const one = &call(0, 1);
  for (std::uintptr_t other = 1; other < RepeatedCopies::most; ++other) call(16 * other, 1);
  EXPECT_EQ(&call(0, 1), one) << "as many are kept";
  for (std::uintptr_t other = 1; other <= RepeatedCopies::most; ++other) {
    call(1600 * other, 1);
    EXPECT_EQ(&call(0, 1), one) << "it is used again and again";
  }
  for (std::uintptr_t other = 1; other <= RepeatedCopies::most; ++other) {
    DeviceBatch& fresh = call(16 * other, 7);
    EXPECT_EQ(fresh.size(), 3U);
  }
  call(0, 1);
  EXPECT_FALSE(copies.is_for_graph());
}

TEST_F(RepeatedCopiesTest, AGraphForWhatRepeats) {
  for (unsigned turn = 1; turn <= 2 * RepeatedCopies::before_graph; ++turn) {
    DeviceBatch& batch = call(16, 1);
    EXPECT_EQ(copies.is_for_graph(), turn == RepeatedCopies::before_graph) << turn;
    if (copies.is_for_graph()) batch.put_graph_in_place(place);
    EXPECT_EQ(batch.is_one_launch(), turn >= RepeatedCopies::before_graph);
    if (batch.is_one_launch()) {
      EXPECT_TRUE(batch.submit(nullptr));
    }
  }
  EXPECT_EQ(counted.made, 1);
  EXPECT_EQ(counted.nodes, 3);
  EXPECT_EQ(counted.launched, static_cast<int>(RepeatedCopies::before_graph) + 1);
  counted.id = 2;
  DeviceBatch& after = call(16, 1);
  EXPECT_FALSE(after.is_one_launch()) << "its context is gone";
  EXPECT_FALSE(copies.is_for_graph());
}

TEST_F(RepeatedCopiesTest, NoGraphWhereItIsNoFaster) {
  DeviceBatch& single = call(16, 2, 1);
  single.put_graph_in_place(place);
  EXPECT_EQ(counted.made, 0) << "one copy is as fast";
  DeviceBatch& small = call(16, 1, 64, 4096);
  small.put_graph_in_place(place);
  EXPECT_EQ(counted.made, 1) << "without a kernel";
  counted.refuses = true;
  DeviceBatch& refused = call(16, 1);
  refused.put_graph_in_place(place);
  EXPECT_FALSE(refused.is_one_launch());
  driver.is_cuda = false;
  counted.refuses = false;
  DeviceBatch& of_hip = call(32, 1);
  of_hip.put_graph_in_place(place);
  EXPECT_EQ(counted.made, 1) << "not measured there";
  driver.is_cuda = true;  // by which it gives back what it has
}

TEST_F(RepeatedCopiesTest, GraphsAreGivenBack) {
  for (std::uintptr_t one = 1; one <= 3 * RepeatedCopies::most; ++one) call(16 * one, 1).put_graph_in_place(place);
  EXPECT_EQ(counted.made, static_cast<int>(3 * RepeatedCopies::most));
  copies.fresh();
  EXPECT_EQ(counted.destroyed, counted.made - static_cast<int>(RepeatedCopies::most));
  EXPECT_EQ(counted.freed, 0) << "to free memory may wait for the device";
}

}  // namespace
}  // namespace quadrille::memory
