// What calls have copied lately inside a device, with what puts it there by one call of the driver.
//
// A program most often exchanges the same buffers again. So what was made for such a list of copies is kept: the list
// that a kernel reads, and, if a program repeats it, a graph, where that is faster than the kernel
// (memory/device_pieces.hpp). To make a graph takes some hundred microseconds, which a list that comes once or twice
// would not win back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/device.hpp"
#include "memory/device_batch.hpp"

namespace quadrille::memory {

class RepeatedCopies {
 public:
  // Two buffers each way, there and back.
  static constexpr std::size_t most = 4;
  static constexpr unsigned before_graph = 8;  // so many calls have the same list first

  // For the copies of the next call; empty.
  DeviceBatch& fresh();
  // When all were added to fresh(). A call before had the same copies at that place, and what was made for them is
  // still good: then it is that batch, else the fresh one, which is kept. `listed` tells memory from other memory that
  // is or was at the same addresses (DeviceSharing::all_listed()).
  DeviceBatch& take(const DevicePlace& place, std::uint64_t listed);
  // Of the batch that take() has given last: has it been the same so often that a graph is worth while? Says so once.
  bool is_for_graph() const { return kept_[last_].times == before_graph; }

 private:
  struct Kept {
    DeviceBatch batch;
    DevicePlace place;
    std::uint64_t listed = 0, used = 0;
    unsigned times = 0;  // calls that had it; 0: none
  };
  std::array<Kept, most + 1> kept_;  // one of them is fresh
  std::size_t fresh_ = 0, last_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace quadrille::memory
