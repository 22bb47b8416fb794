#include "memory/chunk_rings.hpp"

#include "memory/device_driver.hpp"
#include "memory/device_streams.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t ring_page = 4096;
constexpr unsigned for_all_contexts = 1;  // of a registration

std::size_t row_bytes(int ranks) {
  return sys::round_up(sizeof(ChunkRings::Count) * static_cast<std::size_t>(ranks), sys::cache_line);
}

std::size_t table_bytes(int ranks) {
  return sys::round_up(2 * sizeof(BlockPlace) * static_cast<std::size_t>(ranks), sys::cache_line);
}

std::size_t tables_at(int ranks) { return (sys::cache_line + row_bytes(ranks)) * static_cast<std::size_t>(ranks); }

std::size_t head_bytes(int ranks) {
  return sys::round_up(tables_at(ranks) + table_bytes(ranks) * static_cast<std::size_t>(ranks), ring_page);
}

}  // namespace

std::size_t ChunkRings::bytes(int ranks, std::size_t ring_bytes) {
  return head_bytes(ranks) + sys::round_up(ring_bytes, ring_page) * static_cast<std::size_t>(ranks);
}

ChunkRings::ChunkRings(std::byte* base, int ranks, std::size_t ring_bytes)
    : base_(base), ranks_(ranks), ring_bytes_(sys::round_up(ring_bytes, ring_page)), rings_(base + head_bytes(ranks)) {}

ChunkRings::Count& ChunkRings::published(int rank) const {
  return *reinterpret_cast<Count*>(base_ + sys::cache_line * static_cast<std::size_t>(rank));
}

ChunkRings::Count& ChunkRings::taken(int by, int from) const {
  std::byte* const rows = base_ + sys::cache_line * static_cast<std::size_t>(ranks_);
  return reinterpret_cast<Count*>(rows + row_bytes(ranks_) * static_cast<std::size_t>(by))[from];
}

BlockPlace* ChunkRings::blocks(Owned side, int rank) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::byte* const table = base_ + tables_at(ranks_) + table_bytes(ranks_) * static_cast<std::size_t>(rank);
  return reinterpret_cast<BlockPlace*>(table) + (side == Owned::recv ? ranks : 0);
}

bool ChunkRings::register_with(const DevicePlace& place) {
  if (token_.is_alive()) return true;
  if (driver().register_host == nullptr || driver().unregister_host == nullptr) return false;
  const AtDeviceBeside at(place);
  if (!token_.take(place)) return false;
  if (driver().register_host(rings_, ring_bytes_ * static_cast<std::size_t>(ranks_), for_all_contexts) == 0)
    return true;
  token_.give_back([] {});
  return false;
}

ChunkRings::~ChunkRings() {
  token_.give_back([&] { driver().unregister_host(rings_); });
}

bool CopyLane::take(const DevicePlace& place, std::size_t marks) {
  if (place_ == place && events_.size() >= marks && token_.is_alive()) return true;
  give_back();
  if (!driver().has_streams() || !driver().has_events()) return false;
  events_.reserve(marks);
  place_ = place;
  const AtDeviceBeside at(place);
  if (!token_.take(place)) return false;
  bool made = driver().create_stream(&stream_, independent) == 0;
  if (!made) stream_ = nullptr;
  while (made && events_.size() < marks) {
    void* event = nullptr;
    made = driver().create_event(&event, untimed) == 0;
    if (made) events_.push_back(event);
  }
  if (!made) give_back();
  return made;
}

void CopyLane::give_back() {
  token_.give_back([&] {
    for (void* const event : events_) driver().destroy_event(event);
    if (stream_ != nullptr) driver().destroy_stream(stream_);
  });
  events_.clear();
  stream_ = nullptr;
}

bool CopyLane::mark(std::size_t number) {
  if (driver().record_event(events_[number], stream_) == 0) return true;
  wait_for_stream(stream_);
  return false;
}

CopyLane::Look CopyLane::look(std::size_t number) const {
  const int error = driver().query_event(events_[number]);
  if (error == not_ready) return Look::not_yet;
  if (error == 0) return Look::done;
  wait_for_stream(stream_);
  return Look::failed;
}

}  // namespace quadrille::memory
