// Whether the context is still there in which something was made: what a program destroys takes with it all that was
// made in it, and another context may come to its place. Memory has a number that no other has; so some memory is made
// there, too.
#pragma once

#include <cstdint>

#include "memory/device.hpp"
#include "memory/device_streams.hpp"

namespace quadrille::memory {

class ContextToken {
 public:
  ContextToken& operator=(ContextToken&&) = delete;
  // While AtDevice of the place lives. False if the driver has no memory for it, or no number of it.
  bool take(const DevicePlace& place);
  bool is_alive() const;
  const DevicePlace& place() const { return place_; }
  // After `undo` has destroyed what was made in the context, unless that went with it. Does not wait where this thread
  // may not (memory/device_waits.hpp).
  template <class Undo>
  void give_back(Undo undo) {
    if (is_alive()) {
      const AtDeviceBeside at(place_);
      undo();
      give_back_memory();
    }
    memory_ = nullptr;
  }

 private:
  void give_back_memory() const;
  DevicePlace place_;
  void* memory_ = nullptr;
  std::uint64_t id_ = 0;
};

}  // namespace quadrille::memory
