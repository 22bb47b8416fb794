// Where a rank's blocks are, said so that every rank of its node can reach them by load and store.
//
//   in its shared heap     an offset there, if all ranks map that heap
//   anywhere               an address, if all ranks may attach this rank's memory (memory/xpmem.hpp)
//
// The owner decides block by block, from what all ranks said of themselves at set-up; who reads the place only
// follows it. An attach may fail all the same: then find() is null, and the caller must tell the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/heap.hpp"
#include "memory/xpmem.hpp"
#include "run/group.hpp"

namespace quadrille::run {

using memory::BlockPlace;
using Owned = memory::Pairs::Owned;

class SharedBlocks {
 public:
  // `pairs`: by which the ranks of this call tell each other. A call in flight beside others shares by heaps alone:
  // a peer's memory is attached for one call at a time.
  enum class By : std::uint8_t { all, heaps };
  SharedBlocks(Group& group, const memory::Pairs& pairs, By by = By::all)
      : group_(group), pairs_(pairs), attaches_(by == By::all && group.reach().all_attach_me) {}

  // Whether all ranks can reach these bytes of this process.
  bool reachable(const std::byte* address, std::size_t bytes) const {
    return bytes == 0 || attaches_ || in_heap(address, bytes);
  }

  // Writes down where these bytes are. False if not all ranks can reach them.
  bool publish(BlockPlace& place, const std::byte* address, std::size_t bytes) {
    place = {0, bytes, 0};
    if (bytes == 0) return true;
    if (in_heap(address, bytes)) {
      place.at = memory::heap_offset(address);
      return true;
    }
    if (!attaches_) return false;
    place.at = reinterpret_cast<std::uintptr_t>(address);
    place.by_address = 1;
    first_ = std::min<std::uint64_t>(first_, place.at);
    last_ = std::max<std::uint64_t>(last_, place.at + bytes);
    return true;
  }

  // After all blocks: the generation that goes with their addresses. One for all of them, because a peer that meets
  // another one drops what it has attached, and it may need two blocks of this rank at once.
  std::uint64_t offer() const {
    return first_ < last_ ? memory::note_offered(reinterpret_cast<const void*>(first_), last_ - first_) : 0;
  }

  // Bytes of a rank of this node that has entered, as they are mapped here. Null if they cannot be attached. Valid
  // until the next call but one.
  std::byte* find(int rank, const BlockPlace& place, std::size_t bytes) const {
    if (rank == group_.me) return mine(place);
    const int local = group_.local_of(rank);
    const auto peer = static_cast<std::size_t>(local);
    if (place.by_address == 0) return group_.reach().peers[peer].heap + place.at;
    return group_.attached[peer].map(place.at, bytes, pairs_.meeting().generation_of(local));
  }

  // Bytes of this rank.
  static std::byte* mine(const BlockPlace& place) {
    return place.by_address != 0 ? reinterpret_cast<std::byte*>(place.at) : memory::heap_base() + place.at;
  }

 private:
  bool in_heap(const std::byte* address, std::size_t bytes) const {
    return group_.reach().all_map_me && memory::heap_shareable(address, bytes);
  }

  Group& group_;
  const memory::Pairs& pairs_;
  const bool attaches_;                          // all ranks may attach this rank's memory
  std::uint64_t first_ = UINT64_MAX, last_ = 0;  // all addresses that were given
};

}  // namespace quadrille::run
