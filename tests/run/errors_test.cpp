// Errors are returned while guards live, and the program's handler is there again afterwards, whatever threads do.
#include "mpi/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "changed_mpi.hpp"

namespace quadrille::test {
namespace {

constexpr std::uintptr_t of_the_program = 70, of_its_own_later = 71;
// Of two communicators; and how many times a handler was got and not freed.
std::atomic<std::uintptr_t> handlers[2];
std::atomic<int> held{0};
std::atomic<void (*)()> in_the_mpi{nullptr};

void pass_by() {
  if (void (*const work)() = in_the_mpi.load()) work();
}

class Errors : public testing::Test {
 protected:
  Errors() {
    Mpi& t = changed_.table();
    t.errors_return = {60};
    t.Comm_get_errhandler = [](MpiComm comm, MpiErrhandler* handler) {
      pass_by();
      *handler = {handlers[comm.word].load()};
      return ++held, int{mpi_success};
    };
    t.Comm_set_errhandler = [](MpiComm comm, MpiErrhandler handler) {
      pass_by();
      return handlers[comm.word].store(handler.word), int{mpi_success};
    };
    t.Errhandler_free = [](MpiErrhandler*) { return --held, int{mpi_success}; };
    handlers[0] = handlers[1] = of_the_program;
    held = 0;
    in_the_mpi = nullptr;
  }
  static bool are_returned() { return handlers[0] == mpi().errors_return.word; }
  static inline const MpiComm comm{0}, other{1};

  ChangedMpi changed_;
};

TEST_F(Errors, AreReturnedWhileAGuardLives) {
  {
    const ErrorsReturned one(comm);
    EXPECT_TRUE(are_returned());
    {
      const ErrorsReturned two(comm);
      EXPECT_TRUE(are_returned());
    }
    EXPECT_TRUE(are_returned());
  }
  EXPECT_EQ(handlers[0], of_the_program);
  EXPECT_EQ(held, 0);
}

TEST_F(Errors, AHandlerThatTheProgramSetsMeanwhileStays) {
  {
    const ErrorsReturned one(comm);
    handlers[0] = of_its_own_later;
  }
  EXPECT_EQ(handlers[0], of_its_own_later);
  EXPECT_EQ(held, 0);
}

TEST_F(Errors, AProgramThatHasThemReturnedKeepsThat) {
  handlers[0] = mpi().errors_return.word;
  { const ErrorsReturned one(comm), two(comm); }
  EXPECT_TRUE(are_returned());
  EXPECT_EQ(held, 0);
}

// What is set there in MPICH takes the place of the handler of MPI_COMM_WORLD for ever.
TEST_F(Errors, TheDefaultHandlerOfOneProcessStaysWithMpich) {
  const auto is_set_with = [&](Abi abi, std::uintptr_t handler) {
    Mpi& t = changed_.table();
    t.abi = abi, t.comm_world = comm, t.comm_self = other, t.errors_are_fatal = {61};
    handlers[1] = handler;
    const ErrorsReturned one(other), two(other);
    return handlers[1] == mpi().errors_return.word;
  };
  EXPECT_FALSE(is_set_with(Abi::mpich, 61));
  EXPECT_EQ(handlers[1], 61U);
  EXPECT_TRUE(is_set_with(Abi::mpich, of_the_program));
  EXPECT_TRUE(is_set_with(Abi::openmpi, 61));
  EXPECT_EQ(handlers[1], 61U);
  handlers[0] = 61;
  EXPECT_TRUE(is_set_with(Abi::mpich, 61)) << "that of MPI_COMM_WORLD ends the program, too";
  EXPECT_EQ(handlers[1], 61U);
  EXPECT_EQ(held, 0);
}

// A thread in the MPI may wait there for a thread that needs a guard.
TEST_F(Errors, NobodyWaitsForAThreadThatIsInTheMpi) {
  static std::atomic<bool> has_other{false}, waited{false};
  has_other = waited = false;
  static thread_local bool waits = false;
  static std::promise<void> is_in_the_mpi;
  is_in_the_mpi = {};
  in_the_mpi = [] {
    if (!waits || waited.exchange(true)) return;
    is_in_the_mpi.set_value();
    for (int look = 0; look < 20'000 && !has_other; ++look) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::thread first([] {
    waits = true;
    const ErrorsReturned guard(comm);
    EXPECT_TRUE(has_other);
  });
  is_in_the_mpi.get_future().wait();
  {
    const ErrorsReturned guard(other);
    EXPECT_EQ(handlers[1], mpi().errors_return.word);
  }
  has_other = true;
  first.join();
  EXPECT_EQ(handlers[0], of_the_program);
  EXPECT_EQ(handlers[1], of_the_program);
  EXPECT_EQ(held, 0);
}

TEST_F(Errors, TheProgramsHandlerSurvivesManyThreads) {
  in_the_mpi = [] {
    static thread_local std::minstd_rand random(
        static_cast<unsigned>(std::hash<std::thread::id>()(std::this_thread::get_id())));
    if (random() % 2 == 0) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int turn = 0; turn < 3000; ++turn) {
        const ErrorsReturned guard(comm);
        std::optional<ErrorsReturned> second;
        if (turn % 3 == 0) second.emplace(comm);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(handlers[0], of_the_program);
  EXPECT_EQ(held, 0);
}

}  // namespace
}  // namespace quadrille::test
