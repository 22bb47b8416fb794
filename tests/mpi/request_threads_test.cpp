// Requests and threads: of the program, several in Quadrille at a time (MPI_THREAD_MULTIPLE), and of Quadrille, which
// makes progress on pending calls while the program computes.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "one_request.hpp"

namespace quadrille::test {
namespace {

class RequestThreads : public MpiTest {
 protected:
  static bool has_progress_thread() {
    const char* const way = std::getenv("QUADRILLE_PROGRESS");
    return way != nullptr && std::string(way) == "thread";
  }
};

int last_of(const One& one, int from) {
  const auto at = static_cast<std::size_t>((from + 1) * one.count - 1);
  return *static_cast<const volatile int*>(&one.got[at]);
}

// Looks at nothing but its own memory until all has come. False if that takes a minute.
bool came_by_itself(const One& one) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int from = 0; from < one.ranks;) {
    if (last_of(one, from) == One::value(from, one.gather ? 0 : one.me, one.turn, one.count - 1)) {
      ++from;
    } else if (std::chrono::steady_clock::now() > end) {
      return false;
    } else {
      std::this_thread::yield();
    }
  }
  return true;
}

// Larger than any ring, so that both sides must go on several times, or read each other's memory.
TEST_F(RequestThreads, DataComeWithoutACall) {
  const bool moved_by_thread = has_progress_thread() && (world().thread_level == MPI_THREAD_MULTIPLE || on_one_node());
  if (!moved_by_thread) GTEST_SKIP() << "needs QUADRILLE_PROGRESS=thread, and one node or MPI_THREAD_MULTIPLE";
  for (const bool persistent : {false, true}) {
    for (const int count : {1, 1000, 100'000}) {
      One one(MPI_COMM_WORLD, count, false);
      if (persistent) one.make_persistent();
      for (int turn = 0; turn < 3; ++turn) {
        one.fill(turn);
        if (persistent) {
          EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&one.request));
        } else {
          one.start();
        }
        EXPECT_TRUE(came_by_itself(one)) << count << " ints, turn " << turn;
        MPI_Barrier(MPI_COMM_WORLD);  // no rank's wait goes on for another's
        one.complete();
      }
      if (persistent) {
        EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one.request));
      }
    }
  }
}

// Each thread has a communicator, and all forms of calls on it.
TEST_F(RequestThreads, EachItsCommunicator) {
  if (world().thread_level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  std::vector<Communicator> comms;
  for (int t = 0; t < threads; ++t) comms.push_back(duplicate("thread " + std::to_string(t)));
  const int turns = repeats(600, 20);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const MPI_Comm comm = comms[static_cast<std::size_t>(t)].comm;
      std::vector<One> kept = several(comm, 3);
      for (One& one : kept) one.make_persistent();
      for (int turn = 0; turn < turns; ++turn) {
        std::vector<One> all = several(comm, 6);
        for (One& one : all) one.fill(turn * threads + t), one.start();
        for (One& one : kept) {
          one.fill(turn + t);
          EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&one.request));
        }
        One blocking(comm, 300, turn % 2 == 0);
        blocking.fill(turn);
        blocking.call();
        for (std::vector<One>* list : {&all, &kept}) {
          for (One& one : *list) one.complete();
        }
      }
      for (One& one : kept) EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&one.request));
    });
  }
  for (std::thread& thread : running) thread.join();
  for (Communicator& comm : comms) release(comm);
}

// One thread starts, others complete.
TEST_F(RequestThreads, CompletedByOthers) {
  if (world().thread_level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  for (int turn = 0; turn < repeats(400, 20); ++turn) {
    std::vector<One> all = several(MPI_COMM_WORLD, 10);
    std::atomic<std::size_t> started{0}, next{0};
    const auto complete = [&] {
      for (std::size_t mine = next++; mine < all.size(); mine = next++) {
        while (started.load() <= mine) std::this_thread::yield();
        EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&all[mine].request));
        all[mine].expect_right();
      }
    };
    std::thread first(complete), second(complete);
    for (One& one : all) one.fill(turn), one.start(), ++started;
    first.join();
    second.join();
  }
}

}  // namespace
}  // namespace quadrille::test
