#include "run/lane_copies.hpp"

#include "memory/device_streams.hpp"
#include "run/device_elements.hpp"

namespace quadrille::run {

using memory::AtDevice;
using memory::AtDeviceBeside;

DeviceEnd look_at_end(const Blocks& blocks, int count, int only) {
  DeviceEnd end;
  for (int b = 0; b < count; ++b) {
    if (only >= 0 && b != only) continue;
    const Block block = blocks[b];
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

bool settle(const DeviceEnd& sent, const DeviceEnd& received) {
  const auto wait_at = [&](const memory::DevicePlace& place) {
    const AtDevice at(place);
    return memory::wait_for_stream(nullptr);
  };
  const bool is_other = received.on_device && !(sent.on_device && sent.place == received.place);
  return (!sent.on_device || wait_at(sent.place)) && (!is_other || wait_at(received.place));
}

bool LaneCopies::submit(memory::DeviceBatch& batch, memory::CopyLane& lane, std::uint64_t mark) {
  if (failed_ || batch.size() == 0) return false;
  const AtDeviceBeside at(lane.place());
  failed_ = !batch.submit(lane.stream(), takes_batches_);
  // Some copies may be in flight after a refusal, too.
  const bool marked = lane.mark(mark);
  failed_ = failed_ || !marked;
  return marked;
}

void LaneCopies::copy(const memory::CopyLane& lane, void* to, const void* from, std::size_t bytes) {
  if (failed_) return;
  const AtDeviceBeside at(lane.place());
  memory::DeviceCopies copies(lane.stream());
  copies.copy(to, from, bytes);
  failed_ = !copies.leave() || failed_;
}

bool LaneCopies::is_done(const memory::CopyLane& lane, std::uint64_t mark, bool is_marked) {
  if (!is_marked) return true;
  const AtDeviceBeside at(lane.place());
  const Look look = lane.look(mark);
  failed_ = failed_ || look == Look::failed;
  return look != Look::not_yet;
}

bool LaneCopies::is_at_rest(const memory::CopyLane& lane) {
  const Look look = lane.look();
  failed_ = failed_ || look == Look::failed;
  return look != Look::not_yet;
}

}  // namespace quadrille::run
