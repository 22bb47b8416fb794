// What a rank offers the others in a pull (run/device_pull.hpp): its blocks where they are, or packed into memory of
// ours that is exported.
#include "memory/device_streams.hpp"
#include "run/device_elements.hpp"
#include "run/device_pull.hpp"

namespace quadrille::run {

using memory::AtDevice;
using memory::Owned;

void DevicePull::look_at_ends() {
  received_ = look_at_end(recv_, group_.ranks, -1);
  sent_ = call_.in_place ? received_ : look_at_end(send_, sends(), -1);
  place_ = received_.on_device ? received_.place : sent_.place;
}

// What this rank sends is where the others can copy it from, and written down.
bool DevicePull::offer() {
  is_bounced_ = false;
  if (!sent_.has_bytes && !received_.has_bytes) return true;
  if (!sent_.on_device && !received_.on_device) return false;
  for (int r = 0; r < group_.ranks; ++r) {
    if (recv_[r].bytes() > 0 && !is_laid_out(recv_[r])) return false;
  }
  if (received_.has_bytes) {
    const DeviceEnd& there = received_.on_device ? received_ : sent_;
    const std::uint64_t id = memory::memory_id(pointer(there.address));
    if (id == 0) return false;
    sharing_.copy_in(id);
    if (ways_.by_leaders && received_.on_device && !let_be_led()) return false;
  }
  if (!sent_.has_bytes) return true;
  return offer_where_it_is() || offer_copies();
}

// Another rank may write to the receive buffer, if it is such that it can. False if the driver says that something went
// wrong.
bool DevicePull::let_be_led() {
  const Extent all = extent_of([&](int from) { return recv_[from]; }, group_.ranks);
  if (all.has_gaps || !sharing_.receive_in(received_.place, all.first, all.last, recv_base_)) return true;
  for (int from = 0; from < group_.ranks; ++from) {
    write_down(Owned::recv, from, number(recv_[from].address) - recv_base_, recv_[from].bytes());
  }
  return settle(received_.place);  // what is written over may be in use until then
}

// What the program has put into the NULL stream there is done, before other ranks touch the memory.
bool DevicePull::settle(const memory::DevicePlace& place) {
  if (!waits() || prepares_ || settled_ == place) return true;
  const AtDevice at(place);
  if (!memory::wait_for_stream(nullptr)) return false;
  settled_ = place;
  return true;
}

bool DevicePull::offer_where_it_is() {
  if (overwritten_ || !sent_.on_device) return false;
  const Extent all = extent_of([&](int to) { return block_for(to); }, sends());
  if (all.has_gaps) return false;
  if (all.last == 0) return true;
  if (!sharing_.send_from(sent_.place, all.first, all.last, base_)) return false;
  for (int to = 0; to < sends(); ++to)
    write_down(Owned::send, to, number(block_for(to).address) - base_, block_for(to).bytes());
  return settle(sent_.place);
}

bool DevicePull::offer_copies() {
  std::size_t total = 0;
  for (int to = 0; to < sends(); ++to) {
    if (block_for(to).bytes() > 0 && !is_laid_out(block_for(to))) return false;
    total += block_for(to).bytes();
  }
  std::byte* const bounce = sharing_.bounce(place_, total);
  if (bounce == nullptr || !sharing_.send_from(place_, number(bounce), number(bounce) + total, base_)) return false;
  is_bounced_ = true;
  std::uintptr_t next = number(bounce);
  for (int to = 0; to < sends(); ++to) {
    write_down(Owned::send, to, next - base_, block_for(to).bytes());
    next += block_for(to).bytes();
  }
  list_packing();
  return prepares_ || pack();
}

void DevicePull::list_packing() {
  packing_.batch = &sharing_.packing();
  packing_.batch->clear();
  packing_.gapped.clear();
  for_each_packed([&](int to, const Block& block, std::uintptr_t packed) {
    if (block.info.dense) {
      packing_.batch->add(packed, number(block.address), block.bytes());
    } else {
      packing_.gapped.push_back({to, packed, block.count});
    }
  });
  // Of memory of the host, which may be sent as well, a kernel reads only what is pinned.
  if (!sent_.on_device || !(sent_.place == place_)) return;
  const AtDevice at(place_);
  take_launches(packing_, true);
}

// Into memory of ours. A call that waits goes along with the NULL stream, of one place alone.
bool DevicePull::pack() {
  if (waits() && sent_.on_device && sent_.place != place_ && !settle(sent_.place)) return false;
  const AtDevice at(place_);
  packs_ = !waits();
  void* const stream = waits() ? nullptr : own_->stream();
  const bool submitted = submit(packing_, stream);
  const bool waited = packs_ || memory::wait_for_stream(stream);
  return submitted && waited;
}

void DevicePull::write_down(Owned side, int block, std::uintptr_t at, std::size_t bytes) {
  memory::write_down(pairs_.places(side, group_.me)[block], {bytes > 0 ? at : 0, bytes, 0});
}

}  // namespace quadrille::run
