#include "memory/context_token.hpp"

#include <cstddef>
#include <utility>

#include "memory/device_waits.hpp"

namespace quadrille::memory {

bool ContextToken::take(const DevicePlace& place) {
  constexpr std::size_t few_bytes = 64;
  place_ = place;
  memory_ = allocate_pinned(few_bytes);
  if (memory_ != nullptr) id_ = memory_id(memory_);
  // Without a number it would never be known to be alive, and all that goes with it would be made anew in each call.
  if (memory_ != nullptr && id_ == 0) free_pinned(std::exchange(memory_, nullptr));
  return memory_ != nullptr;
}

bool ContextToken::is_alive() const { return memory_ != nullptr && id_ != 0 && memory_id(memory_) == id_; }

void ContextToken::give_back_memory() const { memory::give_back(place_, Held::pinned, memory_, id_); }

}  // namespace quadrille::memory
