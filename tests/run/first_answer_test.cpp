// What the MPI is asked for once has one answer, and nobody waits for another who asks.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "mpi/mpi.hpp"

namespace quadrille {
namespace {

TEST(FirstAnswer, IsAskedForOnce) {
  FirstAnswer<int> key(no_keyval);
  EXPECT_FALSE(key.is_known());
  EXPECT_EQ(key.get([] { return 7; }), 7);
  EXPECT_TRUE(key.is_known());
  EXPECT_EQ(key.get([] { return 8; }), 7);
}

TEST(FirstAnswer, NoneIsNotKept) {
  FirstAnswer<int> key(no_keyval);
  EXPECT_EQ(key.get([] { return no_keyval; }), no_keyval);
  EXPECT_FALSE(key.is_known());
  EXPECT_EQ(key.get([] { return 7; }), 7);
}

// The MPI may call back while it is asked, in the same thread.
TEST(FirstAnswer, IsThatOfWhoAsksWhileAnotherDoes) {
  FirstAnswer<int> key(no_keyval);
  const int outer = key.get([&] { return key.get([] { return 1; }) + 1; });
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(key.get([] { return 3; }), 1);
}

// No thread goes on before both have asked: with a lock around that they would wait for ever.
TEST(FirstAnswer, IsTheSameForThreadsThatAskAtATime) {
  FirstAnswer<int> key(no_keyval);
  std::atomic<int> asking = 0;
  std::vector<int> answers(2);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        answers[static_cast<std::size_t>(t)] = key.get([&] {
          ++asking;
          while (asking < 2) std::this_thread::yield();
          return t;
        });
      });
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], key.get([] { return 5; }));
}

}  // namespace
}  // namespace quadrille
