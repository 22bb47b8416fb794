// Copies of blocks in a device's memory: where those of a call are, and what a rank copies in streams of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"
#include "run/blocks.hpp"

namespace quadrille::run {

inline std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
inline std::byte* pointer(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

inline bool is_laid_out(const Block& block) { return block.info.dense || block.info.runs != nullptr; }

inline std::ptrdiff_t first_byte(const Block& block) { return block.info.dense ? 0 : block.info.runs->front().at; }

// What of one side of a call is on a device.
struct DeviceEnd {
  bool has_bytes = false, on_device = false, has_gaps = false;
  memory::DevicePlace place;
  std::uintptr_t address = 0;  // of some byte
};
// The blocks of a side are memory of one place, so the first that has bytes tells, unless nobody knows where its bytes
// lie. Memory of which the driver says nothing counts as one with gaps, so that nothing of it is touched here.
template <class BlockAt>
DeviceEnd look_at_end(const BlockAt& block_at, int count) {
  DeviceEnd end;
  for (int b = 0; b < count; ++b) {
    const Block block = block_at(b);
    if (block.bytes() == 0) continue;
    end.has_gaps = end.has_gaps || !block.info.dense;
    if (end.has_bytes) continue;
    end.has_bytes = true;
    if (!is_laid_out(block) || memory::device_driver() == nullptr) continue;
    end.address = number(block.address + first_byte(block));
    const memory::Where where = memory::find_memory(pointer(end.address), end.place);
    end.on_device = where == memory::Where::device;
    end.has_gaps = end.has_gaps || where == memory::Where::unknown;
  }
  return end;
}

// Waits for what the program has put into the NULL streams of both sides, with which the lanes' streams do not go
// along. False if the driver refuses.
inline bool settle(const DeviceEnd& sent, const DeviceEnd& received) {
  const auto wait_at = [&](const memory::DevicePlace& place) {
    const memory::AtDevice at(place);
    return memory::wait_for_stream(nullptr);
  };
  const bool is_other = received.on_device && !(sent.on_device && sent.place == received.place);
  return (!sent.on_device || wait_at(sent.place)) && (!is_other || wait_at(received.place));
}

// What blocks reach over; nothing if they have no bytes.
struct Extent {
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  bool has_gaps = false;  // then the numbers mean nothing
};
template <class BlockAt>
Extent extent_of(const BlockAt& block_at, int count) {
  Extent extent;
  for (int b = 0; b < count; ++b) {
    const Block block = block_at(b);
    if (block.bytes() == 0) continue;
    extent.first = std::min(extent.first, number(block.address));
    extent.last = std::max(extent.last, number(block.address) + block.bytes());
    extent.has_gaps = extent.has_gaps || !block.info.dense;
  }
  return extent;
}

// What ranks have said, when they came to a meeting, beside whether they can take part; of all of them together.
inline std::uint64_t said_by_any(const memory::Meeting& meeting, int ranks) {
  std::uint64_t said = 0;
  for (int rank = 0; rank < ranks; ++rank) said |= meeting.generation_of(rank);
  return said;
}

// ---- In streams of the rank ----

// The copies that a rank makes in streams of its own. After a failure nothing more is submitted, and all is as good as
// done, so that nobody waits for it.
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
