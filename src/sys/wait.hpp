// Waiting for another process of this node: spin, then let others in, and keep the MPI moving.
//
// A rank that waits must drive the MPI's own progress: a peer may be stuck in MPI_Send to us, matched
// by an earlier MPI_Irecv of ours, before it reaches the collective that we wait in.
#pragma once

#include <atomic>
#include <cstdint>

#include "sys/sys.hpp"

namespace quadrille::sys {

struct Waiter {
  // How often to look before the core is first given away. Small when there are more ranks than
  // processors: then the peer can only run once we have stopped.
  std::uint32_t spins = 4000;
  static constexpr std::uint32_t spins_if_crowded = 8;
  bool crowded() const { return spins <= spins_if_crowded; }
  // How long it may sleep where another process can wake it, before it drives the MPI; 0: not at all. A rank that only
  // gives its processor away gets it again and again, and each time the ranks that it waits for do not.
  unsigned longest_sleep_us = 0;
  static constexpr unsigned longest_sleep_us_if_crowded = 500;
  // After the spins, the MPI is driven once every so many looks.
  std::uint32_t looks_between_progress = 16;
  void (*progress)(void*) = nullptr;  // may throw, which ends the wait
  void* progress_data = nullptr;

  // Returns when ready() is true.
  template <class Ready>
  void until(Ready ready) const {
    until(ready, [] { return false; });
  }
  // `sleep` may wait by itself, in place of giving the core away, and is then true.
  template <class Ready, class Sleep>
  void until(Ready ready, Sleep sleep) const {
    for (std::uint32_t look = 0; look < spins; ++look) {
      if (ready()) return;
      pause();
    }
    // Giving the core away comes first: most often that is all that a peer needs.
    for (std::uint32_t look = 1; !ready(); ++look) {
      const bool slept = sleep();
      if (!slept) {
        yield();
      } else if (ready()) {
        return;  // woken: ready() is not asked again once it was true
      }
      if (progress != nullptr && (slept || look % looks_between_progress == 0)) progress(progress_data);
    }
  }
};

// Sleeping for another process, where ranks share processors. A rank that only gives its processor away gets it again
// and again, and each time the others wait for that rank.
//
// Idea    A waiter counts itself, looks once more, and sleeps. A rank that has done what others wait for asks the
//         counter, and wakes them if there are any. Both change the counter, one after the other: a waiter that comes
//         later sees what was done, and a rank that asks later sees the sleeper. A bell that is rung between the
//         look and the sleep has another number, at which nobody falls asleep.
//
// A bell lies in zeroed memory that processes share.
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
