// Whether the context is still there in which something was made: what a program destroys takes with it all that was
// made in it, and another context may come to its place. Memory has a number that no other has; so some memory is made
// there, too.
#pragma once

#include <cstddef>
#include <utility>

#include "memory/device.hpp"
#include "memory/device_streams.hpp"
#include "memory/device_waits.hpp"

namespace quadrille::memory {

class ContextToken {
 public:
  ContextToken& operator=(ContextToken&&) = delete;
  // While AtDevice of the place lives. False if the driver has no memory for it, or no number of it.
  bool take(const DevicePlace& place, std::size_t bytes = 64) {
    made_ = {place, Held::pinned, allocate_pinned(bytes), 0, bytes};
    if (made_.memory == nullptr) return false;
    made_.id = memory_id(made_.memory);
    // Without a number it would never be known to be alive, and all that goes with it would be made anew in each call.
    if (made_.id == 0) free_pinned(std::exchange(made_.memory, nullptr));
    return made_.memory != nullptr;
  }
  bool is_alive() const { return made_.is_alive(); }
  const DevicePlace& place() const { return made_.place; }
  // Its memory.
  void* pinned() const { return made_.memory; }
  // After `undo` has destroyed what was made in the context, unless that went with it. Does not wait where this thread
  // may not (memory/device_waits.hpp).
  template <class Undo>
  void give_back(Undo undo) {
    if (is_alive()) {
      const AtDeviceBeside at(place());
      undo();
      memory::give_back(made_);
    }
    made_ = {};
  }

 private:
  HeldMemory made_;
};

}  // namespace quadrille::memory
