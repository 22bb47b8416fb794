// What of the heap's addresses is heap memory still, where the program has changed mappings.
#include <algorithm>
#include <cstdint>

#include "memory/heap_parts.hpp"

namespace quadrille::memory {
namespace detail {

bool next_own_mapping(sys::Mappings& mappings, HeapRange& own) {
  const HeapState& state = heap_state();
  const auto base = reinterpret_cast<std::uintptr_t>(state.segment.base);
  for (sys::Mapping one; mappings.next(one);) {
    own = {one.begin - base, one.end - base};
    const bool is_of_heap = one.file == state.identity.file && one.device == state.identity.device;
    if (is_of_heap && one.begin >= base && own.end <= state.segment.bytes) return true;
  }
  return false;
}

}  // namespace detail

bool heap_for_each_part(std::byte* address, std::size_t bytes, UsePart use, void* context) {
  const HeapSegment segment = heap_segment();
  std::byte* const end = address + bytes;
  std::byte* const from = std::clamp(segment.base, address, end);
  std::byte* const to = segment.base == nullptr ? from : std::clamp(segment.base + segment.bytes, from, end);
  if (address < from) use(context, address, static_cast<std::size_t>(from - address), false);
  if (from < to) {
    // Offsets in the heap.
    std::size_t at = heap_offset(from);
    const std::size_t last = heap_offset(to);
    const auto tell_until = [&](std::size_t until, bool is_heap) {
      until = std::min(until, last);
      if (at < until) use(context, segment.base + at, until - at, is_heap);
      at = std::max(at, until);
    };
    // What was noted need not have become the program's: a watcher may tell of dropped pages as if they were unmapped.
    const bool noted = detail::heap_state().foreign.any();
    if (noted) {
      sys::Mappings mappings;
      for (detail::HeapRange own; at < last && detail::next_own_mapping(mappings, own);) {
        tell_until(own.begin, false);
        tell_until(own.end, true);
      }
      if (at < last && !mappings.good()) return false;
    }
    tell_until(last, !noted);
  }
  if (to < end) use(context, to, static_cast<std::size_t>(end - to), false);
  return true;
}

bool heap_drop(std::byte* address, std::size_t bytes) {
  const HeapSegment segment = heap_segment();
  return segment.descriptor >= 0 && sys::punch_hole(segment.descriptor, heap_offset(address), bytes);
}

}  // namespace quadrille::memory
