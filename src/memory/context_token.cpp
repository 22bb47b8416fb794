#include "memory/context_token.hpp"

#include <cstddef>
#include <utility>

#include "memory/device_waits.hpp"

namespace quadrille::memory {

bool ContextToken::take(const DeviceDriver& driver, const DevicePlace& place) {
  constexpr std::size_t few_bytes = 64;
  driver_ = &driver;
  place_ = place;
  memory_ = allocate_pinned(driver, few_bytes);
  if (memory_ != nullptr) id_ = memory_id(driver, memory_);
  // Without a number it would never be known to be alive, and all that goes with it would be made anew in each call.
  if (memory_ != nullptr && id_ == 0) free_pinned(driver, std::exchange(memory_, nullptr));
  return memory_ != nullptr;
}

bool ContextToken::is_alive() const { return memory_ != nullptr && id_ != 0 && memory_id(*driver_, memory_) == id_; }

void ContextToken::give_back_memory() const { memory::give_back(*driver_, place_, Held::pinned, memory_, id_); }

}  // namespace quadrille::memory
