#include "memory/device_sharing.hpp"

#include <algorithm>
#include <bit>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr int sync_attribute = 6;    // of CUDA and HIP
constexpr unsigned opens_peers = 1;  // to reach memory of another device

std::size_t line_bytes() { return sys::round_up(sizeof(SharingLine), sys::cache_line); }

// A number that depends on all that went into it.
std::uint64_t mixed(std::uint64_t number, std::uint64_t value) {
  number = (number ^ value) * 0x9E3779B97F4A7C15U;
  return number ^ (number >> 29);
}

const void* pointer(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

// Of a device, the same in all processes; 0 if the driver does not tell.
std::uint64_t number_of(const DevicePlace& place) {
  std::array<std::uint64_t, 2> uuid{};
  static_assert(sizeof uuid == 16);
  if (driver().device_uuid(reinterpret_cast<unsigned char*>(uuid.data()), place.device) != 0) return 0;
  return mixed(mixed(0, uuid[0]), uuid[1]) | 1;
}

}  // namespace

std::size_t DeviceSharing::bytes(int ranks) { return line_bytes() * static_cast<std::size_t>(ranks); }

SharingLine& DeviceSharing::line_of(int rank) const {
  return *reinterpret_cast<SharingLine*>(base_ + line_bytes() * static_cast<std::size_t>(rank));
}

// ---- What this rank lists ----

void DeviceSharing::take_off(std::size_t slot) {
  exports_[slot] = {};
  mine().exported[slot].serial = 0;
}

// Where something new is listed. What was freed goes first, all of it, then what was used the longest time ago.
std::size_t DeviceSharing::free_slot() {
  std::size_t oldest = 0;
  for (std::size_t slot = 0; slot < exports_.size(); ++slot) {
    const Export& one = exports_[slot];
    if (one.serial != 0 && memory_id(pointer(one.base)) != one.id) take_off(slot);
    if (one.used < exports_[oldest].used) oldest = slot;
  }
  return oldest;
}

DeviceSharing::Export* DeviceSharing::export_new(const DevicePlace& place, std::uintptr_t address, std::uint64_t id) {
  if (exportable(pointer(address)) == Exportable::no) return nullptr;  // else that shows here
  const std::size_t slot = free_slot();
  take_off(slot);
  SharingLine::Exported& listed = mine().exported[slot];
  Export made;
  made.id = id;
  const AtDevice at(place);
  if (driver().address_range(&made.base, &made.bytes, address) != 0) return nullptr;
  if (driver().export_memory(&listed.handle, made.base) != 0) return nullptr;
  // What the program then does with it by calls that wait is done when they return, as others cannot see its streams.
  const unsigned yes = 1;
  driver().set_attribute(&yes, sync_attribute, made.base);
  made.serial = listed.serial = ++last_serial_;
  return &(exports_[slot] = made);
}

// Its serial number; 0 if it cannot be exported, or does not hold all of these bytes.
std::uint64_t DeviceSharing::list(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last,
                                  std::uintptr_t& base) {
  const std::uint64_t id = memory_id(pointer(first));
  if (id == 0) return 0;
  const auto known = std::ranges::find(exports_, id, &Export::id);
  Export* const found = known != exports_.end() ? &*known : export_new(place, first, id);
  if (found == nullptr || first < found->base || last > found->base + found->bytes) return 0;
  found->used = ++uses_;
  base = found->base;
  return found->serial;
}

bool DeviceSharing::send_from(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last,
                              std::uintptr_t& base) {
  mine().sends = list(place, first, last, base);
  if (mine().sends != 0) mine().sends_on = number_of(place);
  return mine().sends != 0;
}

bool DeviceSharing::is_all_on(const DevicePlace& place) {
  const std::uint64_t here = number_of(place);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (line(rank).sends != 0 && (here == 0 || line(rank).sends_on != here)) return false;
  }
  return true;
}

bool DeviceSharing::receive_in(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last,
                               std::uintptr_t& base) {
  const std::uint64_t device = number_of(place);
  mine().receives = device != 0 ? list(place, first, last, base) : 0;
  if (mine().receives != 0) mine().device = device;
  return mine().receives != 0;
}

// The others may have the old one open until they see the new one.
std::byte* DeviceSharing::bounce(const DevicePlace& place, std::size_t bytes) {
  const auto found = std::ranges::find(bounces_, place, &HeldMemory::place);
  const bool is_there = found != bounces_.end() && found->may_be_alive();
  if (is_there && found->bytes >= bytes) return static_cast<std::byte*>(found->memory);
  if (found != bounces_.end()) {
    for (std::size_t slot = 0; slot < exports_.size(); ++slot) {
      if (exports_[slot].id == found->id) take_off(slot);
    }
    if (is_there) old_bounces_.push_back(*found);
    bounces_.erase(found);
  }
  constexpr std::size_t least = std::size_t{64} << 10;
  if (driver().free == nullptr || bytes > most_bounced) return nullptr;
  bytes = std::bit_ceil(std::max(bytes, least));
  bounces_.reserve(bounces_.size() + 1);
  const AtDevice at(place);
  std::uintptr_t address = 0;
  if (driver().allocate(&address, bytes) != 0) return nullptr;
  auto* const memory = reinterpret_cast<std::byte*>(address);
  bounces_.push_back({place, Held::allocated, memory, memory_id(memory), bytes});
  return memory;
}

void DeviceSharing::free_old_bounces() {
  for (const HeldMemory& one : old_bounces_) give_back(one);
  old_bounces_.clear();
}

// ---- What the others list ----

std::uint64_t DeviceSharing::all_listed(Opens what) const {
  // Far from each other, so that what is small in the lines does not make up for the difference.
  std::uint64_t number = mixed(0, static_cast<std::uint64_t>(what) + 1);
  for (int rank = 0; rank < ranks_; ++rank) {
    const SharingLine& of = line(rank);
    for (const std::uint64_t value : {of.sends, of.copies_in, of.receives, of.device})
      number = mixed(number, value + 1);
  }
  return number;
}

int DeviceSharing::leader_of(int rank) const {
  int leader = line(rank).device == 0 ? rank : 0;
  while (leader < rank && line(leader).device != line(rank).device) ++leader;
  return leader;
}

bool DeviceSharing::leads_any() const {
  int rank = 0;
  while (rank < ranks_ && leader_of(rank) == rank) ++rank;
  return rank < ranks_;
}

const bool* DeviceSharing::answer(std::uint64_t listed) const {
  for (std::size_t i = 0; i < std::min(answer_count_, most_answers); ++i) {
    if (answers_[i].listed == listed) return &answers_[i].all;
  }
  return nullptr;
}

void DeviceSharing::keep_answer(std::uint64_t listed, bool all) {
  answers_[answer_count_++ % most_answers] = {listed, all};
}

bool DeviceSharing::is_listed(const Opened& one) const {
  const auto& listed = line(one.rank).exported;
  return std::ranges::find(listed, one.serial, &SharingLine::Exported::serial) != std::end(listed);
}

void DeviceSharing::close_old() {
  opens_later_ = false;
  std::erase_if(opened_, [&](const Opened& one) {
    if (one.memory.may_be_alive() && is_listed(one)) return false;
    give_back(one.memory);
    return true;
  });
  // Their context may be gone: a stream is used only where memory is open.
  std::erase_if(streams_, [&](const OwnStream& along) {
    return std::ranges::none_of(opened_, [&](const Opened& one) { return one.memory.place == along.place(); });
  });
}

bool DeviceSharing::open(const DevicePlace& place, int rank, std::uint64_t serial) {
  if (rank == me_ || serial == 0 || opened(rank, serial, place) != 0) return true;
  if (any_call_in_stream()) {
    opens_later_ = true;
    return false;
  }
  const auto& listed = line(rank).exported;
  const auto found = std::ranges::find(listed, serial, &SharingLine::Exported::serial);
  if (found == std::end(listed)) return false;
  std::uintptr_t address = 0;
  const IpcHandle handle = found->handle;  // as it is now, whatever happens to the line
  if (driver().open_memory(&address, handle, opens_peers) != 0) return false;
  void* const memory = reinterpret_cast<void*>(address);
  opened_.push_back({rank, serial, {place, Held::opened, memory, memory_id(memory)}});
  return true;
}

bool DeviceSharing::open_all(const DevicePlace& place, Opens what) {
  close_old();
  if (driver().open_memory == nullptr) return false;
  opened_.reserve(opened_.size() + 2 * static_cast<std::size_t>(ranks_));
  const AtDevice at(place);
  bool all = true;
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool copies = copies_for(rank);
    if (copies || what == Opens::all) all = open(place, rank, line(rank).sends) && all;
    if (copies) all = open(place, rank, line(rank).receives) && all;
  }
  if (what == Opens::of_led) return all;  // it has streams of its own
  const bool has_batches = driver().copy_batch != nullptr || driver().copy_batch_before != nullptr;
  const bool is_open_there = std::ranges::any_of(opened_, [&](const Opened& one) { return one.memory.place == place; });
  if (has_streams_ && has_batches && is_open_there && !any_call_in_stream()) {
    const auto found = std::ranges::find(streams_, place, &OwnStream::place);
    OwnStream& along = found != streams_.end() ? *found : streams_.emplace_back(goes_along);
    along.take(place, 0);
  }
  return all;
}

std::uintptr_t DeviceSharing::opened(int rank, std::uint64_t serial, const DevicePlace& place) const {
  for (const Opened& one : opened_) {
    if (one.rank == rank && one.serial == serial && one.memory.place == place)
      return reinterpret_cast<std::uintptr_t>(one.memory.memory);
  }
  return 0;
}

void* DeviceSharing::stream(const DevicePlace& place) const {
  const auto found = std::ranges::find(streams_, place, &OwnStream::place);
  return found != streams_.end() ? found->stream() : nullptr;
}

DeviceSharing::~DeviceSharing() {
  for (const Opened& one : opened_) give_back(one.memory);
  free_old_bounces();
  old_bounces_.swap(bounces_);
  free_old_bounces();
}

}  // namespace quadrille::memory
