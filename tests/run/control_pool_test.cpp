// Control memory of many communicators out of one segment, used by several threads as by several processes.
#include "memory/control_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t chunk = ControlPool::chunk_bytes;

// Several mappings of one segment, as in several processes.
struct Mappings {
  Mappings(std::size_t areas_bytes, int count) {
    const std::size_t bytes = ControlPool::segment_bytes(areas_bytes);
    const int segment = sys::create_segment(bytes);
    for (int i = 0; i < count; ++i) {
      pools.push_back(std::make_shared<ControlPool>(sys::map_segment(segment, bytes), areas_bytes));
    }
    sys::close_descriptor(segment);
  }
  std::vector<std::shared_ptr<ControlPool>> pools;
};

bool all_zero(const std::byte* at, std::size_t bytes) {
  return std::all_of(at, at + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(ControlPool, HasRoomForWhatWasAskedAndNoMore) {
  for (const std::size_t chunks : {1, 2, 63, 64, 65, 1000}) {
    const Mappings on(chunks * chunk, 1);
    EXPECT_EQ(on.pools[0]->chunks(), chunks);
    EXPECT_FALSE(on.pools[0]->take(chunks * chunk + 1, 1).has_value());
    EXPECT_TRUE(on.pools[0]->take(chunks * chunk, 1).has_value());
    EXPECT_FALSE(on.pools[0]->take(1, 1).has_value());
  }
}

TEST(ControlPool, AreasOfUsersAreTheSameMemoryAndDoNotOverlap) {
  const Mappings on(70 * chunk, 2);
  std::set<std::size_t> taken;
  for (int i = 0; i < 23; ++i) {
    const auto first = on.pools[static_cast<std::size_t>(i) % 2]->take(3 * chunk - 5, 2);
    ASSERT_TRUE(first.has_value());
    for (std::size_t c = 0; c < 3; ++c) EXPECT_TRUE(taken.insert(*first + c).second);
    std::memset(on.pools[0]->area(*first), i + 1, 3 * chunk - 5);
    EXPECT_EQ(std::memcmp(on.pools[0]->area(*first), on.pools[1]->area(*first), 3 * chunk - 5), 0);
  }
}

TEST(ControlPool, TheLastUserGivesItBackAsZeros) {
  const Mappings on(2 * chunk, 2);
  const auto first = on.pools[0]->take(2 * chunk, 2);
  ASSERT_TRUE(first.has_value());
  std::memset(on.pools[1]->area(*first), 0xab, 2 * chunk);
  on.pools[0]->leave(*first, 2 * chunk);
  EXPECT_FALSE(on.pools[0]->take(1, 1).has_value());
  on.pools[1]->leave(*first, 2 * chunk);
  const auto again = on.pools[1]->take(2 * chunk, 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(all_zero(on.pools[0]->area(*again), 2 * chunk));
}

TEST(ControlPool, FindsAGapOfTheRightSize) {
  const Mappings on(6 * chunk, 1);
  ControlPool& pool = *on.pools[0];
  const std::size_t a = *pool.take(2 * chunk, 1), b = *pool.take(chunk, 1), c = *pool.take(3 * chunk, 1);
  EXPECT_EQ(a + 2, b);
  EXPECT_EQ(b + 1, c);
  pool.leave(b, chunk);
  EXPECT_FALSE(pool.take(2 * chunk, 1).has_value());
  pool.leave(a, 2 * chunk);
  EXPECT_EQ(pool.take(3 * chunk, 1), a);
}

// Between the look at the counters and their change another process may take a chunk.
TEST(ControlPool, AClaimThatComesTooLateTakesNothing) {
  struct Claiming : ControlPool {
    using ControlPool::claim;
    using ControlPool::ControlPool;
  };
  const std::size_t bytes = ControlPool::segment_bytes(4 * chunk);
  const int segment = sys::create_segment(bytes);
  Claiming pool(sys::map_segment(segment, bytes), 4 * chunk);
  sys::close_descriptor(segment);
  ASSERT_TRUE(pool.claim(2, 1));
  EXPECT_FALSE(pool.claim(0, 4));
  EXPECT_FALSE(pool.claim(2, 1)) << "it stays the other's";
  EXPECT_TRUE(pool.claim(0, 2)) << "these came back";
}

// Threads take areas, fill them, see that nobody else wrote there, and leave.
TEST(ControlPool, ServesManyAtOnce) {
  constexpr int users = 4;
  const Mappings on(40 * chunk, users);
  std::vector<int> wrong(users, 0), served(users, 0);
  std::vector<std::thread> threads;
  for (int user = 0; user < users; ++user) {
    threads.emplace_back([&, user] {
      ControlPool& pool = *on.pools[static_cast<std::size_t>(user)];
      std::minstd_rand draw(static_cast<unsigned>(user) + 1);
      for (int turn = 0; turn < 500; ++turn) {
        const std::size_t bytes = (draw() % 12 + 1) * chunk;
        const auto first = pool.take(bytes, 1);
        if (!first.has_value()) continue;
        ++served[static_cast<std::size_t>(user)];
        std::byte* area = pool.area(*first);
        for (std::size_t at = 0; at < bytes; at += chunk / 2) {
          wrong[static_cast<std::size_t>(user)] += area[at] != std::byte{0};
          area[at] = static_cast<std::byte>(user + 1);
        }
        std::this_thread::yield();
        for (std::size_t at = 0; at < bytes; at += chunk / 2) {
          wrong[static_cast<std::size_t>(user)] += area[at] != static_cast<std::byte>(user + 1);
        }
        pool.leave(*first, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int user = 0; user < users; ++user) {
    EXPECT_EQ(wrong[static_cast<std::size_t>(user)], 0);
    EXPECT_GT(served[static_cast<std::size_t>(user)], 100);
  }
  // Everything came back.
  EXPECT_TRUE(on.pools[0]->take(40 * chunk, 1).has_value());
}

TEST(ControlArea, LeavesWhenItEnds) {
  const Mappings on(chunk, 1);
  {
    ControlArea area(on.pools[0], *on.pools[0]->take(chunk, 1), chunk);
    ControlArea moved = std::move(area);
    EXPECT_FALSE(on.pools[0]->take(chunk, 1).has_value());
    EXPECT_EQ(moved.base(), on.pools[0]->area(0));
  }
  EXPECT_TRUE(on.pools[0]->take(chunk, 1).has_value());
}

}  // namespace
}  // namespace quadrille::memory
