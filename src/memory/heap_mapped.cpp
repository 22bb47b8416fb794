// What of the heap's addresses is heap memory still, where the program has changed mappings.
#include <algorithm>

#include "memory/heap_parts.hpp"
#include "sys/mappings.hpp"

namespace quadrille::memory {
namespace {

using detail::ForeignRanges;
using detail::heap_state;
using detail::HeapState;

// Tells of parts one after the other, up to `end`.
struct Teller {
  std::uintptr_t at, end;
  UsePart use;
  void* context;

  void part(std::uintptr_t until, bool is_heap) {
    until = std::min(until, end);
    if (at < until) use(context, reinterpret_cast<std::byte*>(at), until - at, is_heap);
    at = std::max(at, until);
  }
};

std::uintptr_t base() { return reinterpret_cast<std::uintptr_t>(heap_state().segment.base); }

// By what was noted of the mappings.
void tell_by_list(Teller& teller, std::uintptr_t end) {
  const ForeignRanges& foreign = heap_state().foreign;
  const std::size_t count = foreign.count.load(std::memory_order_acquire);
  while (teller.at < end) {
    std::uintptr_t next = end, covered = teller.at;  // where the next of them begins, and where one of here ends
    for (std::size_t i = 0; i < count; ++i) {
      const std::uintptr_t from = base() + foreign.ranges[i].begin, to = base() + foreign.ranges[i].end;
      if (from <= teller.at && teller.at < to) covered = std::max(covered, to);
      if (from > teller.at) next = std::min(next, from);
    }
    if (covered > teller.at) {
      teller.part(std::min(covered, end), false);
    } else {
      teller.part(next, true);
    }
  }
}

// By what the kernel knows: there were too many to note.
bool tell_of(void* context, const sys::Mapping& mapping) {
  Teller& teller = *static_cast<Teller*>(context);
  const HeapState& state = heap_state();
  if (mapping.begin >= teller.end) return false;
  if (mapping.end <= teller.at || mapping.file != state.identity.file || mapping.device != state.identity.device) {
    return true;
  }
  teller.part(mapping.begin, false);
  teller.part(mapping.end, true);
  return true;
}

}  // namespace

void heap_for_each_part(std::byte* address, std::size_t bytes, UsePart use, void* context) {
  const HeapState& state = heap_state();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  Teller teller{begin, begin + bytes, use, context};
  if (heap_active()) {
    const std::uintptr_t end = std::min(teller.end, base() + state.segment.bytes);
    teller.part(base(), false);
    if (state.foreign.too_many.load(std::memory_order_acquire)) {
      sys::for_each_mapping(tell_of, &teller);
    } else {
      tell_by_list(teller, end);
    }
  }
  teller.part(teller.end, false);
}

bool heap_drop(std::byte* address, std::size_t bytes) {
  const HeapSegment segment = heap_segment();
  return segment.descriptor >= 0 && sys::punch_hole(segment.descriptor, heap_offset(address), bytes);
}

}  // namespace quadrille::memory
