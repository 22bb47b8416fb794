// Calls that were started and are not complete. Whoever waits, for one of them or for something else, goes on with all
// of them: a peer may need that before it comes to where it is waited for.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

namespace quadrille::run {

class Pending {
 public:
  virtual ~Pending() = default;
  // Goes on as far as is possible without waiting. True when that was all.
  virtual bool go_on() = 0;
};

class UnderWay {
 public:
  // Those of this process.
  static UnderWay& here();

  // Held over whatever starts a call or goes on with one. What is done under it never waits.
  std::mutex mutex;

  // All under the mutex. add() does not throw where there is room.
  void make_room() { calls_.reserve(calls_.size() + 1); }
  void add(Pending& call);
  void advance();

  // For who waits for something else: goes on unless another thread does so at this moment.
  void help();

 private:
  std::vector<Pending*> calls_;
  std::atomic<bool> any_ = false;
};

}  // namespace quadrille::run
