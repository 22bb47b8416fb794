#include "memory/context_token.hpp"

#include <utility>

namespace quadrille::memory {

bool ContextToken::take(const DevicePlace& place, std::size_t bytes) {
  made_ = {place, Held::pinned, allocate_pinned(bytes), 0};
  if (made_.memory == nullptr) return false;
  made_.id = memory_id(made_.memory);
  // Without a number it would never be known to be alive, and all that goes with it would be made anew in each call.
  if (made_.id == 0) free_pinned(std::exchange(made_.memory, nullptr));
  return made_.memory != nullptr;
}

}  // namespace quadrille::memory
