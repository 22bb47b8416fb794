// What of one side of a call is on a device, and the copies that a rank makes of it in streams of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/chunk_rings.hpp"
#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "run/blocks.hpp"

namespace quadrille::run {

struct DeviceEnd {
  bool has_bytes = false, on_device = false, has_gaps = false;
  memory::DevicePlace place;
  std::uintptr_t address = 0;  // of some byte
};
// The first `count` blocks, or `only` one of them. The blocks of a side are memory of one place, so the first that has
// bytes tells, unless nobody knows where its bytes lie. Memory of which the driver says nothing counts as one with
// gaps, so that nothing of it is touched here.
DeviceEnd look_at_end(const Blocks& blocks, int count, int only);

// Waits for what the program has put into the NULL streams of both sides, with which the lanes' streams do not go
// along. False if the driver refuses.
bool settle(const DeviceEnd& sent, const DeviceEnd& received);

// After a failure nothing more is submitted, and all is as good as done, so that nobody waits for it.
class LaneCopies {
 public:
  bool failed() const { return failed_; }
  // Some of the memory is exported, where a copy by itself may wait for the stream: a batch does not.
  void take_batches() { takes_batches_ = true; }
  void fail() { failed_ = true; }

  // With a mark behind it. True if it is on its way; there is no mark else.
  bool submit(memory::DeviceBatch& batch, memory::CopyLane& lane, std::uint64_t mark);
  // One of the two is of a device.
  void copy(const memory::CopyLane& lane, void* to, const void* from, std::size_t bytes);
  // Is what lies before a mark done?
  bool is_done(const memory::CopyLane& lane, std::uint64_t mark, bool is_marked);
  // No copy is in flight there, also after a failure.
  bool is_at_rest(const memory::CopyLane& lane);

 private:
  using Look = memory::CopyLane::Look;
  bool failed_ = false, takes_batches_ = false;
};

}  // namespace quadrille::run
