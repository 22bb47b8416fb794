// The thread that makes progress on pending calls while the program computes (QUADRILLE_PROGRESS=thread).
//
// Idea    It sleeps while no call is pending, and a start wakes it. If each rank has a spare processor, it polls
//         all the time, else every 10 to 100 us, less and less often while nothing completes. A waiting thread of the
//         program makes progress itself, and this thread leaves it alone then. The thread calls the MPI only if the
//         program asked for MPI_THREAD_MULTIPLE. Otherwise it makes progress only on calls inside a node whose blocks
//         have no gaps, for which memory alone is touched.
// Cost    None where it is not asked for.
#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>

#include "api/requests.hpp"
#include "api/serve.hpp"
#include "memory/device.hpp"
#include "mpi/mpi.hpp"
#include "run/under_way.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"

namespace quadrille::api {
namespace {

using run::UnderWay;
using run::With;

constexpr unsigned shortest_sleep_us = 10, longest_sleep_us = 100;

class ProgressThread {
 public:
  // `spare`: there is a processor that the program leaves free.
  ProgressThread(With with, bool spare) : with_(with), spare_(spare), thread_([this] { work(); }) {}
  ProgressThread& operator=(ProgressThread&&) = delete;
  ~ProgressThread() {
    ends_.store(true, std::memory_order_release);
    wake();
    thread_.join();
  }

  void wake() {
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_one();
  }

 private:
  void work() {
    sys::become_a_helper("quadrille");
    const Serving guard;  // collectives that the MPI calls in here are its own
    while (!ends_.load(std::memory_order_acquire)) {
      const unsigned turn = turn_.load(std::memory_order_acquire);
      while (!ends_.load(std::memory_order_relaxed) && goes_on()) continue;
      turn_.wait(turn, std::memory_order_acquire);
    }
  }
  // False if there is nothing that this thread can do before something else is started.
  bool goes_on() {
    if (with_ == With::mpi) memory::borrow_context(borrowed_);
    const UnderWay::Helped helped = UnderWay::here().help(with_);
    if (helped == UnderWay::Helped::nothing) return false;
    if (spare_) {
      sys::pause();
      return true;
    }
    sleep_us_ = helped == UnderWay::Helped::ended ? shortest_sleep_us : std::min(sleep_us_ * 3 / 2, longest_sleep_us);
    sys::sleep_us(sleep_us_);
    return true;
  }

  const With with_;
  const bool spare_;
  std::atomic<unsigned> turn_ = 0;
  std::atomic<bool> ends_ = false;
  unsigned sleep_us_ = shortest_sleep_us;
  memory::Borrowed borrowed_;
  std::thread thread_;  // last: it uses all of these
};

std::atomic<ProgressThread*> progress_thread = nullptr;

void end_progress_thread() { delete progress_thread.exchange(nullptr); }

// Has every rank of this machine two processors? Then one is left to the thread.
bool has_spare_processor() {
  const int ranks = sys::launched_here();
  return ranks > 0 && sys::count(sys::allowed_processors()) >= 2 * ranks;
}

void make_thread(With with) {
  memory::lend_current_context();
  try {
    progress_thread = new ProgressThread(with, has_spare_processor());
    team::before_end(team::AtEnd::progress_thread, end_progress_thread);
  } catch (const std::system_error&) {
    progress_thread = nullptr;
  }
}

void settle_thread(bool multiple) {
  if (!team::config().progress_thread) {
    if (!multiple) UnderWay::here().one_thread();
    return;
  }
  if (!multiple && team::config().explain) {
    team::say_once(
        "QUADRILLE_PROGRESS=thread: the program did not request MPI_THREAD_MULTIPLE, so the thread makes progress only "
        "with calls inside a node whose blocks have no gaps");
  }
  make_thread(multiple ? With::mpi : With::memory_alone);
  if (progress_thread.load() == nullptr) team::say_once("QUADRILLE_PROGRESS=thread: cannot create a thread");
}

}  // namespace

void prepare_progress() {
  static std::once_flag once;
  // That of the MPI: with its own thread for progress MPICH raises it. Asked before others may wait for us.
  const bool multiple = thread_level(mpi().thread_multiple) == mpi().thread_multiple;
  std::call_once(once, settle_thread, multiple);
}

bool start_progress_thread() {
  prepare_progress();
  if (thread_level(mpi().thread_single) != mpi().thread_multiple) return false;
  static const bool started = [] {
    if (!has_progress_thread()) make_thread(With::mpi);
    return has_progress_thread();
  }();
  return started && has_progress_thread();
}

bool has_progress_thread() { return progress_thread.load(std::memory_order_acquire) != nullptr; }

void wake_progress_thread() {
  if (ProgressThread* const thread = progress_thread.load(std::memory_order_acquire)) thread->wake();
}

}  // namespace quadrille::api
