// Starts of a pull in the order of a program's stream (run/device_pull.hpp). Who goes on with one calls no driver.
#include "memory/device_streams.hpp"
#include "run/device_pull.hpp"

namespace quadrille::run {

using memory::AtDevice;

void DevicePull::begin_in_stream(const PullTurn& turn) {
  meeting_.begin();
  may_ = has_opened_ = packs_ = false;
  turn_ = turn;
  offered_ = !*turn.is_broken;
  enter();
}

// What is put into the stream may not wait for it: so it has to be one launch, and memory of devices.
bool DevicePull::can_be_in_stream() const {
  if (!is_prepared_) return false;
  const bool is_packed_at_once =
      !is_bounced_ || (sent_.place == place_ && packing_.gapped.empty() && packing_.batch->is_one_launch());
  if (sent_.has_bytes && !(sent_.on_device && is_packed_at_once)) return false;
  if (!received_.has_bytes || !copies_here()) return received_.on_device || !received_.has_bytes;
  return received_.on_device && pulling_.gapped.empty() && pulling_.batch->is_one_launch();
}

bool DevicePull::pack_in(void* stream) {
  if (!is_bounced_) return true;
  const AtDevice at(place_);
  return packing_.batch->launch(stream);
}

bool DevicePull::copy_in(void* stream) {
  const AtDevice at(place_);
  return pulling_.batch->launch(stream);
}

// The stream copies in any case, as what is in it cannot be taken out: also if that is for nothing.
void DevicePull::let_stream_copy(bool may) {
  submitted_ = may;
  if (!copies_here()) return finish(may);
  turn_.words->go.store(turn_.number, std::memory_order_release);
  phase_ = Phase::copying;
}

DevicePull::Look DevicePull::look_at_stream() const {
  if (turn_.words->copied.load(std::memory_order_acquire) == turn_.number) return Look::done;
  return *turn_.is_broken ? Look::failed : Look::not_yet;
}

// It is known between the two meetings of a start; a generation means nothing else here.
void DevicePull::look_who_is_in_streams() {
  was_in_streams_ = false;
  for (int r = 0; r < group_.ranks; ++r) was_in_streams_ |= meeting_.generation_of(r) == in_a_stream;
}

}  // namespace quadrille::run
