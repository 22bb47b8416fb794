#include "memory/chunk_rings.hpp"

#include "memory/device_driver.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t ring_page = 4096;

std::size_t row_bytes(int ranks) {
  return sys::round_up(sizeof(ChunkRings::Count) * static_cast<std::size_t>(ranks), sys::cache_line);
}

std::size_t table_bytes(int ranks) {
  return sys::round_up(2 * sizeof(BlockPlace) * static_cast<std::size_t>(ranks), sys::cache_line);
}

std::size_t part_bytes(int ranks) { return sys::cache_line + row_bytes(ranks) + table_bytes(ranks); }

std::size_t head_bytes(int ranks) {
  return sys::round_up(part_bytes(ranks) * static_cast<std::size_t>(ranks), ring_page);
}

}  // namespace

std::size_t ChunkRings::bytes(int ranks, std::size_t ring_bytes) {
  return head_bytes(ranks) + sys::round_up(ring_bytes, ring_page) * static_cast<std::size_t>(ranks);
}

ChunkRings::ChunkRings(std::byte* base, int ranks, std::size_t ring_bytes)
    : base_(base), ranks_(ranks), ring_bytes_(sys::round_up(ring_bytes, ring_page)), rings_(base + head_bytes(ranks)) {}

std::byte* ChunkRings::part(int rank, std::size_t at) const {
  return base_ + part_bytes(ranks_) * static_cast<std::size_t>(rank) + at;
}

ChunkRings::Count& ChunkRings::published(int rank) const { return *reinterpret_cast<Count*>(part(rank, 0)); }

ChunkRings::Count& ChunkRings::taken(int by, int from) const {
  return reinterpret_cast<Count*>(part(by, sys::cache_line))[from];
}

BlockPlace* ChunkRings::blocks(Owned side, int rank) const {
  auto* const table = reinterpret_cast<BlockPlace*>(part(rank, sys::cache_line + row_bytes(ranks_)));
  return table + (side == Owned::recv ? ranks_ : 0);
}

bool ChunkRings::register_with(const DevicePlace& place) {
  if (token_.is_alive()) return true;
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

}  // namespace quadrille::memory
