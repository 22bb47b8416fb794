// Runs the tests with real ranks. Every rank runs all of them; rank 0 prints, the others print only
// what went wrong. Exit status 0 if all tests passed on all ranks.
//
//   --threads=single|multiple   what is asked of MPI_Init_thread; multiple is the default
//   QUADRILLE_TEST_LIMIT        seconds after which one test counts as hung; 120 is the default
//   QUADRILLE_TEST_HOSTS        on how many hosts the ranks must be
//   QUADRILLE_TEST_PLACES       the host that each rank must be on: "0,1,1,0"
//   QUADRILLE_TEST_PART         "0/3": only the first third of the tests, one in three
//   QUADRILLE_TEST_EFFORT       percentage of the repeats of the long tests
//   QUADRILLE_TEST_ONE_PROCESSOR  all ranks share one, however many the machine has
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

// Ends the program if one test takes too long: a hang then names the test and the rank.
class Watchdog {
 public:
  explicit Watchdog(int limit_seconds) : limit_(limit_seconds) {
    thread_ = std::thread([this] { watch(); });
  }
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  void begin(const std::string& name) {
    const std::lock_guard lock(mutex_);
    name_ = name;
    since_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_.wait_for(lock, std::chrono::milliseconds(100), [this] { return is_over_; })) {
      if (Clock::now() - since_ < limit_) continue;
      std::fprintf(stderr, "rank %d hangs in %s\n", world().rank, name_.c_str());
      std::abort();
    }
  }

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::string name_ = "MPI_Init";
  Clock::time_point since_ = Clock::now();
  std::thread thread_;
};

// Tells the watchdog where we are, and prints failures of the ranks that print nothing else.
class Listener : public testing::EmptyTestEventListener {
 public:
  explicit Listener(Watchdog& watchdog) : watchdog_(watchdog) {}
  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
    watchdog_.begin(name_);
  }
  void OnTestEnd(const testing::TestInfo&) override { watchdog_.begin("between tests"); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (world().rank == 0 || !result.failed()) return;
    std::fprintf(stderr, "rank %d, %s, %s:%d: %s\n", world().rank, name_.c_str(),
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(), result.message());
  }

 private:
  Watchdog& watchdog_;
  std::string name_;
};

int thread_level_asked(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads=single") == 0) return MPI_THREAD_SINGLE;
  }
  return MPI_THREAD_MULTIPLE;
}

int limit_seconds() {
  const char* const text = std::getenv("QUADRILLE_TEST_LIMIT");
  return text != nullptr && std::atoi(text) > 0 ? std::atoi(text) : 120;
}

// As googletest takes it. Rank 0 decides: launchers do not pass every variable to other hosts.
void take_part() {
  char part[16] = "";
  if (const char* const text = std::getenv("QUADRILLE_TEST_PART"); text != nullptr)
    std::snprintf(part, sizeof part, "%s", text);
  MPI_Bcast(part, sizeof part, MPI_CHAR, 0, MPI_COMM_WORLD);
  int index = 0, parts = 0;
  if (std::sscanf(part, "%d/%d", &index, &parts) != 2) return;
  // A part has some cases at least.
  parts = std::clamp(testing::UnitTest::GetInstance()->total_test_count() / 4, 1, parts);
  setenv("GTEST_SHARD_INDEX", std::to_string(index % parts).c_str(), 1);
  setenv("GTEST_TOTAL_SHARDS", std::to_string(parts).c_str(), 1);
}

// The first that a process may have at all, whatever the launcher bound this one to.
void share_one_processor() {
  cpu_set_t all, one;
  std::memset(&all, 0xff, sizeof all);
  if (sched_setaffinity(0, sizeof all, &all) != 0 || sched_getaffinity(0, sizeof all, &all) != 0) return;
  int first = 0;
  while (first < CPU_SETSIZE && !CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Are the ranks where they must be? Whatever the hosts are called.
bool are_in_their_places(const char* text) {
  std::vector<int> places;
  for (const char* at = text; *at != 0;) {
    char* end = nullptr;
    places.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    if (end == at) return false;
    at = *end == ',' ? end + 1 : end;
  }
  const std::vector<int>& hosts = hosts_of_ranks();
  if (places.size() != hosts.size()) return false;
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if ((places[a] == places[b]) != (hosts[a] == hosts[b])) return false;
    }
  }
  return true;
}

int run(int argc, char** argv) {
  if (std::getenv("QUADRILLE_TEST_ONE_PROCESSOR") != nullptr) share_one_processor();
  Watchdog watchdog(limit_seconds());
  MPI_Init_thread(&argc, &argv, thread_level_asked(argc, argv), &world().thread_level);
  MPI_Comm_rank(MPI_COMM_WORLD, &world().rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world().size);
  // Errors come back as codes, which the tests check; communicators made later inherit this.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  take_part();

  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world().rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Listener(watchdog));
  if (world().rank == 0) std::printf("door %s, %d ranks\n", door_name, world().size);

  communicators();
  int failed = 0;
  const char* const hosts = std::getenv("QUADRILLE_TEST_HOSTS");
  if (hosts != nullptr && count_hosts() != std::atoi(hosts)) {
    std::printf("the ranks are on %d hosts, not on %s\n", count_hosts(), hosts);
    failed = 1;
  }
  const char* const places = std::getenv("QUADRILLE_TEST_PLACES");
  if (places != nullptr && !are_in_their_places(places)) {
    if (world().rank == 0) std::printf("the ranks are not where they must be: %s\n", places);
    failed = 1;
  }
  if (RUN_ALL_TESTS() != 0) failed = 1;
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    if (world().rank == 0) std::printf("no test has this name, or none is in this part\n");
    failed = 1;
  }
  watchdog.begin("the end");
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  free_communicators();
  free_types();
  MPI_Finalize();
  return failed;
}

}  // namespace
}  // namespace quadrille::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return quadrille::test::run(argc, argv);
}
