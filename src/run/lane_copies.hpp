// The copies that a rank makes in streams of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"
#include "memory/own_stream.hpp"

namespace quadrille::run {

// After a failure nothing more is submitted, and all is as good as done, so that nobody waits for it.
class LaneCopies {
 public:
  bool failed() const { return failed_; }
  // Some of the memory is exported, where a copy by itself may wait for the stream: a batch does not.
  void take_batches() { takes_batches_ = true; }
  void fail() { failed_ = true; }

  // With a mark behind it, if there is something on its way.
  void submit(memory::DeviceBatch& batch, memory::CopyLane& lane, std::uint64_t mark) {
    if (failed_ || batch.size() == 0) return;
    const memory::AtDeviceBeside at(lane.place());
    failed_ = !batch.submit(lane.stream(), takes_batches_);
    // Some copies may be in flight after a refusal, too.
    failed_ = !lane.mark(mark) || failed_;
  }

  // One of the two is of a device.
  void copy(const memory::CopyLane& lane, void* to, const void* from, std::size_t bytes) {
    if (failed_) return;
    const memory::AtDeviceBeside at(lane.place());
    memory::DeviceCopies copies(lane.stream());
    copies.copy(to, from, bytes);
    failed_ = !copies.leave() || failed_;
  }

  // Is what lies before a mark done?
  bool is_done(memory::CopyLane& lane, std::uint64_t mark) { return is_over(lane.look(mark)); }
  // No copy is in flight there, also after a failure.
  bool is_at_rest(const memory::CopyLane& lane) { return is_over(lane.look()); }

 private:
  using Look = memory::CopyLane::Look;
  bool is_over(Look look) {
    failed_ = failed_ || look == Look::failed;
    return look != Look::not_yet;
  }
  bool failed_ = false, takes_batches_ = false;
};

}  // namespace quadrille::run
