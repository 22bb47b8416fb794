// Waiting for another process of this node: spin, then let others in, and keep the MPI moving.
//
// A rank that waits must drive the MPI's own progress: a peer may be stuck in MPI_Send to us, matched
// by an earlier MPI_Irecv of ours, before it reaches the collective that we wait in.
#pragma once

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

}  // namespace quadrille::sys
