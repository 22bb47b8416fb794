// Whether the context is still there in which something was made: what a program destroys takes with it all that was
// made in it, and another context may come to its place. Memory has a number that no other has; so some memory is made
// there, too.
#pragma once

#include <cstdint>

#include "memory/device.hpp"

namespace quadrille::memory {

class ContextToken {
 public:
  ContextToken() = default;
  ContextToken(const ContextToken&) = delete;
  ContextToken& operator=(const ContextToken&) = delete;
  // While AtDevice of the place lives. False if the driver has no memory for it, or no number of it.
  bool take(const DeviceDriver& driver, const DevicePlace& place);
  bool is_taken() const { return memory_ != nullptr; }
  bool is_alive() const;
  const DevicePlace& place() const { return place_; }
  const DeviceDriver& driver() const { return *driver_; }
  // Of what is alive. Does not wait where this thread may not (memory/device_waits.hpp).
  void give_back();
  // What is not.
  void forget() { memory_ = nullptr; }

 private:
  const DeviceDriver* driver_ = nullptr;
  DevicePlace place_;
  void* memory_ = nullptr;
  std::uint64_t id_ = 0;
};

}  // namespace quadrille::memory
