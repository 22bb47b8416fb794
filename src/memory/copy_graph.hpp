// Copies that the driver keeps as a graph: made once, and put into a stream by one call however many they are, with no
// work for any of them on the host. The copies have no order among each other, so the device may make several at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/context_token.hpp"
#include "memory/device.hpp"

namespace quadrille::memory {

class CopyGraph {
 public:
  CopyGraph& operator=(CopyGraph&&) = delete;
  ~CopyGraph();
  // Between addresses of devices. While AtDevice of the place lives. If the driver refuses, there is none.
  void make(const DevicePlace& place, std::span<const std::uintptr_t> to, std::span<const std::uintptr_t> from,
            std::span<const std::size_t> bytes);
  bool is_there() const { return ready_ != nullptr; }
  // The context that it was made in is still there.
  bool is_good() const { return token_.is_alive(); }
  // Once or many times; launches are done one after the other. False if the driver refuses: then none is in flight.
  bool launch(void* stream) const;
  void forget();

 private:
  bool take_token(const DevicePlace& place);
  void* ready_ = nullptr;  // to be launched
  ContextToken token_;
};

}  // namespace quadrille::memory
