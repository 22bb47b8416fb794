#include "memory/device_sharing.hpp"

#include <algorithm>
#include <bit>

#include "memory/device_waits.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr int sync_attribute = 6;    // of CUDA and HIP
constexpr unsigned opens_peers = 1;  // to reach memory of another device
constexpr unsigned goes_along = 0;   // of a stream: with the NULL stream

std::size_t line_bytes() { return sys::round_up(sizeof(SharingLine), sys::cache_line); }

// A number that depends on all that went into it.
std::uint64_t mixed(std::uint64_t number, std::uint64_t value) {
  number = (number ^ value) * 0x9E3779B97F4A7C15U;
  return number ^ (number >> 29);
}

const void* pointer(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

}  // namespace

std::size_t DeviceSharing::bytes(int ranks) { return line_bytes() * static_cast<std::size_t>(ranks); }

SharingLine& DeviceSharing::line_of(int rank) const {
  return *reinterpret_cast<SharingLine*>(base_ + line_bytes() * static_cast<std::size_t>(rank));
}

// ---- What this rank lists ----

// Where something new is listed. What was freed goes first, all of it, then what was used the longest time ago.
std::size_t DeviceSharing::free_slot() {
  std::size_t oldest = 0;
  for (std::size_t slot = 0; slot < exports_.size(); ++slot) {
    Export& one = exports_[slot];
    if (one.serial != 0 && memory_id(pointer(one.base)) != one.id) {
      one = {};
      mine().exported[slot].serial = 0;
    }
    if (one.used < exports_[oldest].used) oldest = slot;
  }
  return oldest;
}

bool DeviceSharing::export_new(const DevicePlace& place, std::uintptr_t address, std::uint64_t id) {
  if (driver().address_range == nullptr || driver().export_memory == nullptr) return false;
  if (exportable(pointer(address)) == Exportable::no) return false;  // else that shows here
  const std::size_t slot = free_slot();
  SharingLine::Exported& listed = mine().exported[slot];
  exports_[slot] = {};
  listed.serial = 0;
  Export made;
  made.id = id;
  const AtDevice at(place);
  if (driver().address_range(&made.base, &made.bytes, address) != 0) return false;
  if (driver().export_memory(&listed.handle, made.base) != 0) return false;
  // What the program then does with it by calls that wait is done when they return, as others cannot see its streams.
  const unsigned yes = 1;
  if (driver().set_attribute != nullptr) driver().set_attribute(&yes, sync_attribute, made.base);
  made.serial = listed.serial = ++last_serial_;
  exports_[slot] = made;
  return true;
}

// Null if it cannot be exported, or does not hold all of these bytes.
const DeviceSharing::Export* DeviceSharing::list(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last) {
  const std::uint64_t id = memory_id(pointer(first));
  if (id == 0) return nullptr;
  const auto find = [&] { return std::ranges::find(exports_, id, &Export::id); };
  auto found = find();
  if (found == exports_.end()) {
    if (!export_new(place, first, id)) return nullptr;
    found = find();
  }
  if (first < found->base || last > found->base + found->bytes) return nullptr;
  found->used = ++uses_;
  return &*found;
}

bool DeviceSharing::send_from(const DevicePlace& place, std::uintptr_t first, std::uintptr_t last,
                              std::uintptr_t& base) {
  const Export* const listed = list(place, first, last);
  if (listed == nullptr) return false;
  mine().sends = listed->serial;
  mine().sends_on = number_of(place);
  base = listed->base;
  return true;
}

std::uint64_t DeviceSharing::number_of(const DevicePlace& place) {
  if (numbered_ != 0 && numbered_at_ == place) return numbered_;
  std::array<std::uint64_t, 2> uuid{};
  static_assert(sizeof uuid == 16);
  if (driver().device_uuid == nullptr ||
      driver().device_uuid(reinterpret_cast<unsigned char*>(uuid.data()), place.device) != 0) {
    return 0;
  }
  numbered_at_ = place;
  return numbered_ = mixed(mixed(0, uuid[0]), uuid[1]) | 1;
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
  const Export* const listed = device != 0 ? list(place, first, last) : nullptr;
  if (listed == nullptr) return false;
  mine().receives = listed->serial;
  mine().device = device;
  base = listed->base;
  return true;
}

// The others may have the old one open until they see the new one.
std::byte* DeviceSharing::bounce(const DevicePlace& place, std::size_t bytes) {
  const auto found = std::ranges::find(bounces_, place, &Bounce::place);
  const bool is_there = found != bounces_.end() && memory_id(pointer(found->address)) == found->id;
  if (is_there && found->bytes >= bytes) return reinterpret_cast<std::byte*>(found->address);
  if (found != bounces_.end()) {
    for (std::size_t slot = 0; slot < exports_.size(); ++slot) {
      if (exports_[slot].id != found->id) continue;
      exports_[slot] = {};
      mine().exported[slot].serial = 0;
    }
    if (is_there) old_bounces_.push_back(*found);
    bounces_.erase(found);
  }
  constexpr std::size_t least = std::size_t{64} << 10;
  if (driver().allocate == nullptr || driver().free == nullptr || bytes > most_bounced) return nullptr;
  Bounce made;
  made.place = place;
  made.bytes = std::bit_ceil(std::max(bytes, least));
  bounces_.reserve(bounces_.size() + 1);
  const AtDevice at(place);
  if (driver().allocate(&made.address, made.bytes) != 0) return nullptr;
  made.id = memory_id(pointer(made.address));
  bounces_.push_back(made);
  return reinterpret_cast<std::byte*>(made.address);
}

void DeviceSharing::free_old_bounces() {
  for (const Bounce& one : old_bounces_)
    give_back(one.place, Held::allocated, reinterpret_cast<void*>(one.address), one.id);
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

// Nothing is left of a context that the program has destroyed, and another one may be where it was.
bool DeviceSharing::is_alive(const Context& context) {
  return std::all_of(context.opened.begin(), context.opened.end(),
                     [&](const Opened& one) { return memory_id(pointer(one.address)) == one.id; });
}

void DeviceSharing::close_old() {
  std::erase_if(contexts_, [&](Context& context) {
    if (!is_alive(context)) return true;
    const AtDevice at(context.place);
    std::erase_if(context.opened, [&](const Opened& one) {
      if (is_listed(one)) return false;
      give_back(context.place, Held::opened, reinterpret_cast<void*>(one.address), one.id);
      return true;
    });
    // Without anything that is open nobody could tell later whether the context is still there.
    if (!context.opened.empty()) return false;
    destroy_stream(context);
    return true;
  });
}

void DeviceSharing::destroy_stream(const Context& context) {
  if (context.stream != nullptr && driver().destroy_stream != nullptr) driver().destroy_stream(context.stream);
}

const DeviceSharing::Context* DeviceSharing::find_context(const DevicePlace& place) const {
  const auto found = std::ranges::find(contexts_, place, &Context::place);
  return found != contexts_.end() ? &*found : nullptr;
}

bool DeviceSharing::open(Context& context, int rank, std::uint64_t serial) {
  if (rank == me_ || serial == 0 || opened(rank, serial, context.place) != 0) return true;
  if (any_call_in_stream()) {
    opens_later_ = true;
    return false;
  }
  const auto& listed = line(rank).exported;
  const auto found = std::ranges::find(listed, serial, &SharingLine::Exported::serial);
  if (found == std::end(listed)) return false;
  Opened one{rank, serial, 0, 0};
  const IpcHandle handle = found->handle;  // as it is now, whatever happens to the line
  if (driver().open_memory(&one.address, handle, opens_peers) != 0) return false;
  one.id = memory_id(pointer(one.address));
  context.opened.push_back(one);
  return true;
}

bool DeviceSharing::open_all(const DevicePlace& place, Opens what) {
  opens_later_ = false;
  close_old();
  if (driver().open_memory == nullptr) return false;
  if (find_context(place) == nullptr) contexts_.push_back({place, nullptr, {}});
  Context& context = *std::ranges::find(contexts_, place, &Context::place);
  context.opened.reserve(context.opened.size() + 2 * static_cast<std::size_t>(ranks_));
  const AtDevice at(place);
  bool all = true;
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool copies = copies_for(rank);
    if (copies || what == Opens::all) all = open(context, rank, line(rank).sends) && all;
    if (copies) all = open(context, rank, line(rank).receives) && all;
  }
  if (what == Opens::of_led) return all;  // it has streams of its own
  const bool has_batches = driver().copy_batch != nullptr || driver().copy_batch_before != nullptr;
  if (has_streams_ && context.stream == nullptr && !context.opened.empty() && has_batches &&
      driver().create_stream != nullptr && driver().create_stream(&context.stream, goes_along) != 0) {
    context.stream = nullptr;
  }
  return all;
}

std::uintptr_t DeviceSharing::opened(int rank, std::uint64_t serial, const DevicePlace& place) const {
  const Context* const context = find_context(place);
  if (context == nullptr) return 0;
  for (const Opened& one : context->opened) {
    if (one.rank == rank && one.serial == serial) return one.address;
  }
  return 0;
}

void* DeviceSharing::stream(const DevicePlace& place) const {
  const Context* const context = find_context(place);
  return context != nullptr ? context->stream : nullptr;
}

DeviceSharing::~DeviceSharing() {
  for (const Context& context : contexts_) {
    if (!is_alive(context)) continue;
    const AtDevice at(context.place);
    for (const Opened& one : context.opened)
      give_back(context.place, Held::opened, reinterpret_cast<void*>(one.address), one.id);
    destroy_stream(context);
  }
  free_old_bounces();
  old_bounces_.swap(bounces_);
  free_old_bounces();
}

}  // namespace quadrille::memory
