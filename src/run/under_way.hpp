// Calls that were started and are not complete. Whoever waits, for one of them or for something else, goes on with all
// of them: a peer may need that before it comes to where it is waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace quadrille::run {

// Who goes on with a call: a thread that may call the MPI, or one that must not.
enum class With : std::uint8_t { mpi, memory_alone };

class Pending {
 public:
  virtual ~Pending() = default;
  // Goes on as far as is possible without waiting. True when that was all.
  virtual bool go_on(With with) = 0;
  // Can such a thread do anything for it now?
  virtual bool can_go_on(With with) const = 0;
};

class UnderWay {
 public:
  // Those of this process.
  static UnderWay& here();

  // Held over whatever starts a call or goes on with one. What is done under it never waits. The MPI may call us back
  // in its functions (mpi/progress.hpp), and an error handler of the program may call our doors: then this thread
  // holds it already, help() does nothing, and advance() goes on with all others.
  // No thread waits for it in a loop: the MPI may yield under it, and then threads that take it by turns cost each
  // other a time slice at every turn.
  class Held {
   public:
    explicit Held(UnderWay& calls) : lock_(calls.mutex_, std::defer_lock), holds_(calls.holds_) {
      if (calls.threads_) lock_.lock();
      ++holds_;
    }
    Held& operator=(Held&&) = delete;
    ~Held() { --holds_; }

   private:
    std::unique_lock<std::recursive_mutex> lock_;
    int& holds_;
  };

  // From now on one thread at a time calls anything here, so that nothing is locked. Before the first call is started.
  void one_thread() { threads_ = false; }
  // Locks a mutex of something else, unless one thread at a time calls anything here.
  std::unique_lock<std::mutex> locked(std::mutex& mutex) const {
    return threads_ ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  }

  bool any() const { return any_.load(std::memory_order_acquire); }

  // Both where it is held. add() does not throw where there is room.
  void make_room() {
    constexpr std::size_t started_by_a_handler = 8;
    calls_.reserve(calls_.size() + 1 + started_by_a_handler);
  }
  void add(Pending& call);

  // Makes progress on all pending calls, unless another thread does so at this moment.
  void advance();

  // For a thread that waits for something else: makes progress unless another thread does so at this moment. The
  // result: nothing could be done, calls are still pending on which such a thread can make progress, or some have
  // completed.
  enum class Helped : std::uint8_t { nothing, some, ended };
  Helped help(With with = With::mpi);

 private:
  // Looks at each call, also at those that are added meanwhile, and forgets those of which `has_ended` is true. Not at
  // one that is just looked at further out.
  template <class HasEnded>
  void look_at_all(HasEnded has_ended);

  std::recursive_mutex mutex_;
  bool threads_ = true;
  int holds_ = 0;                // how often the thread that holds it does so
  std::vector<Pending*> calls_;  // null: it is looked at
  int looks_ = 0;                // loops through them, one within the other; only the outermost removes any
  std::atomic<bool> any_ = false;
};

}  // namespace quadrille::run
