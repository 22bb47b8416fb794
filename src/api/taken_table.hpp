// Which of the MPI's requests are ours.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "abi/functions.hpp"
#include "run/under_way.hpp"

namespace quadrille::api {

// Open addressing with steps of one, at most half full. Every completion function of the program asks it while requests
// of ours are there.
class TakenTable {
 public:
  // There is one table; this is asked without it.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }

  // Throws std::bad_alloc. A handle that is there already is one that the MPI has used again: what was behind it is
  // gone.
  void add(std::uintptr_t handle, Quadrille_Request_state* request) {
    const std::unique_lock lock = held();
    if (2 * (count_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[place_of(handle)];
    if (entry.request == nullptr) count_.fetch_add(1, std::memory_order_relaxed);
    entry = {handle, request};
  }
  Quadrille_Request_state* find(std::uintptr_t handle) {
    if (!any()) return nullptr;
    const std::unique_lock lock = held();
    return entries_[place_of(handle)].request;
  }
  // If it is still `request` that is behind it.
  void remove(std::uintptr_t handle, const Quadrille_Request_state* request) {
    const std::unique_lock lock = held();
    if (entries_.empty()) return;
    std::size_t hole = place_of(handle);
    if (entries_[hole].request != request) return;
    count_.fetch_sub(1, std::memory_order_relaxed);
    entries_[hole] = {};
    // What comes after it may have been meant for its place.
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; entries_[at].request != nullptr; at = (at + 1) & mask) {
      const std::size_t home = home_of(entries_[at].handle);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      entries_[hole] = entries_[at];
      entries_[at] = {};
      hole = at;
    }
  }

 private:
  // Where only one thread at a time calls anything here, nothing is locked.
  std::unique_lock<std::mutex> held() {
    return run::UnderWay::here().has_threads() ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }

  struct Entry {
    std::uintptr_t handle = 0;
    Quadrille_Request_state* request = nullptr;
  };

  std::size_t home_of(std::uintptr_t handle) const {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15U) >> 32) & (entries_.size() - 1);
  }
  std::size_t place_of(std::uintptr_t handle) const {
    std::size_t at = home_of(handle);
    while (entries_[at].request != nullptr && entries_[at].handle != handle) at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 64 : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.request != nullptr) entries_[place_of(entry.handle)] = entry;
    }
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  static inline constinit std::atomic<std::size_t> count_ = 0;
};

}  // namespace quadrille::api
