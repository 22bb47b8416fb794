#include "memory/mapping_watch.hpp"

#include <atomic>

namespace quadrille::memory {
namespace {

std::atomic<WatchHolds> watch{nullptr};

}  // namespace

void set_mapping_watch(WatchHolds holds) { watch.store(holds, std::memory_order_release); }

bool mappings_are_watched(bool at_start) {
  const WatchHolds holds = watch.load(std::memory_order_acquire);
  return holds == nullptr || holds(at_start);
}

}  // namespace quadrille::memory
