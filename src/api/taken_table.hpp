// Which of the MPI's requests are ours.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "abi/functions.hpp"
#include "run/under_way.hpp"

namespace quadrille::api {

// An array, sorted by handle. Every completion function of the program searches it while requests of ours are there.
class TakenTable {
 public:
  // There is one table; this is asked without it.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }

  // Throws std::bad_alloc. A handle that is there already is one that the MPI has used again: what was behind it is
  // gone.
  void add(std::uintptr_t handle, Quadrille_Request_state* request) {
    const std::unique_lock lock = held();
    const auto at = place_of(handle);
    if (at != entries_.end() && at->handle == handle) {
      at->request = request;
      return;
    }
    entries_.insert(at, Entry{handle, request});
    count_.store(entries_.size(), std::memory_order_relaxed);
  }
  Quadrille_Request_state* find(std::uintptr_t handle) {
    if (!any()) return nullptr;
    const std::unique_lock lock = held();
    const auto at = place_of(handle);
    return at != entries_.end() && at->handle == handle ? at->request : nullptr;
  }
  // If it is still `request` that is behind it.
  void remove(std::uintptr_t handle, const Quadrille_Request_state* request) {
    const std::unique_lock lock = held();
    const auto at = place_of(handle);
    if (at == entries_.end() || at->handle != handle || at->request != request) return;
    entries_.erase(at);
    count_.store(entries_.size(), std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::uintptr_t handle = 0;
    Quadrille_Request_state* request = nullptr;
  };

  // Where only one thread at a time calls anything here, nothing is locked.
  std::unique_lock<std::mutex> held() {
    return run::UnderWay::here().has_threads() ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  std::vector<Entry>::iterator place_of(std::uintptr_t handle) {
    return std::ranges::lower_bound(entries_, handle, {}, &Entry::handle);
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  static inline constinit std::atomic<std::size_t> count_ = 0;
};

}  // namespace quadrille::api
