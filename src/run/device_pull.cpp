#include "run/device_pull.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "memory/device_streams.hpp"

namespace quadrille::run {
namespace {

using memory::AtDevice;
using memory::DeviceCopies;
using memory::Owned;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
std::byte* pointer(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

bool is_laid_out(const Block& block) { return block.info.dense || block.info.runs != nullptr; }

std::ptrdiff_t first_byte(const Block& block) { return block.info.dense ? 0 : block.info.runs->front().at; }

// Equal runs of an element at equal distances.
struct Rows {
  std::ptrdiff_t at = 0, pitch = 0;
  std::size_t bytes = 0, rows = 0;
};

std::vector<Rows> rows_of(const std::vector<TypeRun>& runs) {
  std::vector<Rows> all;
  for (const TypeRun& run : runs) {
    if (!all.empty() && all.back().bytes == run.bytes) {
      Rows& last = all.back();
      const std::ptrdiff_t from_first = run.at - last.at;
      if (last.rows == 1 || from_first == last.pitch * static_cast<std::ptrdiff_t>(last.rows)) {
        if (last.rows == 1) last.pitch = from_first;
        ++last.rows;
        continue;
      }
    }
    all.push_back({run.at, 0, run.bytes, 1});
  }
  return all;
}

// Rows of a block, to or from consecutive bytes.
void copy_rows(std::byte* at, const Rows& rows, std::uintptr_t packed, std::ptrdiff_t packed_pitch, bool packs,
               DeviceCopies& copies) {
  if (packs) {
    copies.copy(memory::DeviceRows{pointer(packed), at, rows.bytes, rows.rows, packed_pitch, rows.pitch});
  } else {
    copies.copy(memory::DeviceRows{at, pointer(packed), rows.bytes, rows.rows, rows.pitch, packed_pitch});
  }
}

// The first elements of a block with gaps, to or from consecutive bytes: element by element, or the same run of all
// elements at once, whichever is less.
void copy_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs, DeviceCopies& copies) {
  const std::vector<TypeRun>& runs = *block.info.runs;
  const std::vector<Rows> element = rows_of(runs);
  std::uintptr_t at = packed;
  if (element.size() * count > runs.size()) {
    for (const TypeRun& run : runs) {
      copy_rows(block.address + run.at, {0, block.info.extent, run.bytes, count}, at,
                static_cast<std::ptrdiff_t>(block.info.size), packs, copies);
      at += run.bytes;
    }
    return;
  }
  for (std::size_t e = 0; e < count; ++e) {
    std::byte* const begin = block.address + static_cast<std::ptrdiff_t>(e) * block.info.extent;
    for (const Rows& rows : element) {
      copy_rows(begin + rows.at, rows, at, static_cast<std::ptrdiff_t>(rows.bytes), packs, copies);
      at += rows.bytes * rows.rows;
    }
  }
}

// A rank without memory says no where the others wait for what it says.
template <class Work>
bool unless_out_of_memory(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

DevicePull::DevicePull(const Call& call, Group& group, const memory::DeviceDriver* driver, bool by_leaders)
    : call_(call),
      group_(group),
      sharing_(*group.sharing),
      meeting_(group.pairs.meeting()),
      driver_(driver),
      gather_(is_allgather(call.collective)),
      by_leaders_(by_leaders),
      send_(call.in_place ? call.recv : call.send),
      recv_(call.recv) {}

bool DevicePull::run() {
  meeting_.begin();
  sharing_.begin();
  const bool may = meet(unless_out_of_memory([&] { return offer(); }), true) && may_pull();
  const bool pulled = may && unless_out_of_memory([&] { return pull(); });
  const bool all = meet(pulled, false);
  if (may && !all) put_back();
  if (has_opened_) sharing_.free_old_bounces();
  if (!all) error_ = MPI_SUCCESS;  // who makes the call finds it again
  return all;
}

// Says `yes` to all and waits for them. True if all have said it.
bool DevicePull::meet(bool yes, bool comes) {
  if (comes) {
    meeting_.come(yes, 0);
  } else {
    meeting_.finish(yes, memory::Fenced::nothing_streamed());
  }
  while (!meeting_.met()) group_.waiter.until([&] { return meeting_.advance(); });
  return meeting_.all_say_so();
}

DevicePull::End DevicePull::look_at(const Blocks& blocks, int count) const {
  End end;
  for (int b = 0; b < count && !end.has_bytes; ++b) {
    const Block block = blocks[b];
    if (block.bytes() == 0) continue;
    end.has_bytes = true;
    if (!is_laid_out(block)) break;  // offer() finds it
    end.address = number(block.address + first_byte(block));
    end.on_device = driver_ != nullptr && memory::find_device(*driver_, pointer(end.address), end.place);
  }
  return end;
}

// What this rank sends is where the others can copy it from, and written down.
bool DevicePull::offer() {
  received_ = look_at(recv_, group_.ranks);
  sent_ = call_.in_place ? received_ : look_at(send_, sends());
  if (!sent_.has_bytes && !received_.has_bytes) return true;
  if (!sent_.on_device && !received_.on_device) return false;
  for (int r = 0; r < group_.ranks; ++r) {
    if (recv_[r].bytes() > 0 && !is_laid_out(recv_[r])) return false;
  }
  place_ = received_.on_device ? received_.place : sent_.place;
  if (received_.has_bytes) {
    const End& there = received_.on_device ? received_ : sent_;
    const std::uint64_t id = memory::memory_id(*driver_, pointer(there.address));
    if (id == 0) return false;
    sharing_.copy_in(id);
    if (by_leaders_ && received_.on_device && !let_be_led()) return false;
  }
  if (!sent_.has_bytes) return true;
  return offer_where_it_is() || offer_copies();
}

// Another rank may write to the receive buffer, if it is such that it can. False if the driver says that something went
// wrong.
bool DevicePull::let_be_led() {
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  for (int from = 0; from < group_.ranks; ++from) {
    const Block block = recv_[from];
    if (block.bytes() == 0) continue;
    if (!block.info.dense) return true;
    first = std::min(first, number(block.address));
    last = std::max(last, number(block.address) + block.bytes());
  }
  if (!sharing_.receive_in(*driver_, received_.place, first, last, recv_base_)) return true;
  for (int from = 0; from < group_.ranks; ++from) {
    write_down(Owned::recv, from, number(recv_[from].address) - recv_base_, recv_[from].bytes());
  }
  // What is written over may be in use until then.
  const AtDevice at(*driver_, received_.place);
  return memory::wait_for_stream(*driver_, nullptr);
}

bool DevicePull::offer_where_it_is() {
  if (overwrites() || !sent_.on_device) return false;
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  for (int to = 0; to < sends(); ++to) {
    const Block block = send_at(to);
    if (block.bytes() == 0) continue;
    if (!block.info.dense) return false;
    first = std::min(first, number(block.address));
    last = std::max(last, number(block.address) + block.bytes());
  }
  if (last == 0) return true;
  if (!sharing_.send_from(*driver_, sent_.place, first, last, base_)) return false;
  for (int to = 0; to < sends(); ++to) write_down(Owned::send, to, number(send_at(to).address) - base_, send_at(to).bytes());
  const AtDevice at(*driver_, sent_.place);
  return memory::wait_for_stream(*driver_, nullptr);
}

bool DevicePull::offer_copies() {
  std::size_t total = 0;
  for (int to = 0; to < sends(); ++to) {
    if (send_at(to).bytes() > 0 && !is_laid_out(send_at(to))) return false;
    total += send_at(to).bytes();
  }
  std::byte* const bounce = sharing_.bounce(*driver_, place_, total);
  if (bounce == nullptr || !sharing_.send_from(*driver_, place_, number(bounce), number(bounce) + total, base_)) return false;
  is_bounced_ = true;
  const AtDevice at(*driver_, place_);
  // The copies go along with the NULL stream of one place alone.
  if (sent_.on_device && sent_.place != place_) {
    const AtDevice where_it_is(*driver_, sent_.place);
    if (!memory::wait_for_stream(*driver_, nullptr)) return false;
  }
  DeviceCopies copies(*driver_);
  std::uintptr_t next = number(bounce);
  for (int to = 0; to < sends(); ++to) {
    const Block block = send_at(to);
    write_down(Owned::send, to, next - base_, block.bytes());
    if (block.bytes() == 0) continue;
    if (block.info.dense) {
      copies.copy(pointer(next), block.address, block.bytes());
    } else {
      copy_elements(block, block.count, next, true, copies);
    }
    next += block.bytes();
  }
  return copies.wait();
}

void DevicePull::write_down(Owned side, int block, std::uintptr_t at, std::size_t bytes) {
  memory::BlockPlace& place = group_.pairs.places(side, group_.me)[block];
  place.at = bytes > 0 ? at : 0;
  place.bytes = bytes;
  place.by_address = 0;
}

// Has every rank opened what the others send from? All ranks have seen the same lists in the same calls, so they remember
// the same.
bool DevicePull::may_pull() {
  const std::uint64_t listed = sharing_.all_listed();
  if (const bool* known = sharing_.answer(listed)) return *known;
  bool opened = true;
  if (received_.has_bytes && !sharing_.is_led()) {
    opened = unless_out_of_memory([&] { return sharing_.open_all(*driver_, place_); });
  } else if (driver_ != nullptr) {
    sharing_.close_old(*driver_);
  }
  has_opened_ = true;
  const bool all = meet(opened, false);
  sharing_.keep_answer(listed, all);
  meeting_.begin();
  meet(true, true);
  return all;
}

// Where a rank's block for another is.
DevicePull::Placed DevicePull::sent(int from, int to) const {
  const std::uint64_t serial = sharing_.line(from).sends;
  if (serial == 0) return {};
  const memory::BlockPlace place = group_.pairs.places(Owned::send, from)[gather_ ? 0 : to];
  const std::uintptr_t base = from == group_.me ? base_ : sharing_.opened(from, serial, place_);
  return {base == 0 ? 0 : base + place.at, place.bytes};
}

// And where that other one wants to have it; only of ranks for which this one copies.
DevicePull::Placed DevicePull::received(int from, int to) const {
  const memory::BlockPlace place = group_.pairs.places(Owned::recv, to)[from];
  const std::uintptr_t base = sharing_.opened(to, sharing_.line(to).receives, place_);
  return {base == 0 ? 0 : base + place.at, place.bytes};
}

void DevicePull::put(std::uintptr_t from, std::size_t bytes, const Block& to, DeviceCopies& copies) {
  copy_elements(to, bytes / to.info.size, from, false, copies);
}

bool DevicePull::pull() {
  look_what_comes();
  if (!received_.has_bytes || sharing_.is_led()) return true;
  memory::DeviceBatch& batch = sharing_.batch();
  batch.clear();
  const AtDevice at(*driver_, place_);
  void* const stream = sharing_.stream(place_);
  DeviceCopies copies(*driver_, stream);
  bool reached = pull_for_me(copies);
  for (int to = group_.me + 1; to < group_.ranks && by_leaders_; ++to) {
    if (sharing_.copies_for(to)) reached = pull_for(to) && reached;
  }
  const bool submitted = batch.submit(*driver_, stream);
  // Nothing may be under way when the others are told that this rank is done, also after an error.
  const bool waited = memory::wait_for_stream(*driver_, stream);
  return copies.leave() && submitted && waited && reached;
}

// A peer that sent more than this rank expects made a mistake that the MPI reports as well.
void DevicePull::look_what_comes() {
  for (int from = 0; from < group_.ranks; ++from) {
    const memory::BlockPlace& place = group_.pairs.places(Owned::send, from)[gather_ ? 0 : group_.me];
    const std::size_t bytes = sharing_.line(from).sends != 0 ? place.bytes : 0;
    keep(error_, error_if_long(bytes, recv_.bytes_of(from), call_.collective));
  }
}

bool DevicePull::pull_for_me(DeviceCopies& copies) {
  bool reached = true;
  for (int from = 0; from < group_.ranks; ++from) {
    if (gather_ && call_.in_place && from == group_.me) continue;
    const Block to = recv_[from];
    const Placed source = sent(from, group_.me);
    const std::size_t bytes = std::min(source.bytes, to.bytes());
    if (bytes == 0) continue;
    if (source.at == 0) {
      reached = false;
    } else if (!to.info.dense) {
      put(source.at, bytes, to, copies);
    } else if (source.at != number(to.address)) {
      sharing_.batch().add(number(to.address), source.at, bytes);
    }
  }
  return reached;
}

bool DevicePull::pull_for(int to) {
  bool reached = true;
  for (int from = 0; from < group_.ranks; ++from) {
    const Placed source = sent(from, to), destination = received(from, to);
    const std::size_t bytes = std::min(source.bytes, destination.bytes);
    if (bytes == 0 || source.at == destination.at) continue;
    if (source.at == 0 || destination.at == 0) {
      reached = false;
    } else {
      sharing_.batch().add(destination.at, source.at, bytes);
    }
  }
  return reached;
}

// What was received over what was to be sent; the others need it again.
void DevicePull::put_back() {
  if (!overwrites() || !is_bounced_) return;
  const AtDevice at(*driver_, place_);
  DeviceCopies copies(*driver_);
  std::uintptr_t next = base_;
  for (int to = 0; to < sends(); ++to) {
    const Block block = send_at(to);
    if (block.bytes() == 0) continue;
    if (block.info.dense) {
      copies.copy(block.address, pointer(next), block.bytes());
    } else {
      put(next, block.bytes(), block, copies);
    }
    next += block.bytes();
  }
  copies.wait();  // what goes wrong here goes wrong when it is read again, too
}

}  // namespace quadrille::run
