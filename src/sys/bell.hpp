// Sleeping for another process of this node, where ranks share processors: who only gives its processor away is asked
// again and again, and each time others wait for it.
//
// Idea    Who waits counts itself, looks once more, and sleeps. Who has done what others wait for asks the counter, and
//         wakes them if there are any. Both change the counter, so one comes after the other: who counts itself later
//         sees what was done, and who asks later sees the sleeper. A bell that is rung between the look and the sleep
//         has another number, at which nobody falls asleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "sys/sys.hpp"

namespace quadrille::sys {

// In zeroed memory that processes share.
class Bell {
 public:
  // After what sleepers wait for was stored.
  void ring() {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    rung_.fetch_add(1, std::memory_order_release);
    wake_sleepers(rung_);
  }
  // At most so long, unless ready() is true. May return earlier.
  template <class Ready>
  void sleep_unless(Ready ready, unsigned microseconds) {
    const std::uint32_t rung = rung_.load(std::memory_order_acquire);
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    if (!ready()) sleep_while(rung_, rung, microseconds);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> rung_, sleepers_;
};

}  // namespace quadrille::sys
