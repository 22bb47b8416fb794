// What of the heap's addresses is heap memory still, where the program has changed mappings.
#include <algorithm>

#include "memory/heap_parts.hpp"
#include "sys/mappings.hpp"

namespace quadrille::memory {
namespace {

using detail::ForeignRanges;
using detail::heap_state;
using detail::HeapState;

std::uintptr_t base() { return reinterpret_cast<std::uintptr_t>(heap_state().segment.base); }

struct Filter {
  bool (*use)(void* context, const ForeignRanges::Range&);
  void* context;
};

bool use_if_heap(void* context, const sys::Mapping& mapping) {
  const auto& filter = *static_cast<const Filter*>(context);
  const HeapState& state = heap_state();
  const bool is_heap = mapping.file == state.identity.file && mapping.device == state.identity.device &&
                       mapping.begin >= base() && mapping.end <= base() + state.segment.bytes;
  return !is_heap || filter.use(filter.context, {mapping.begin - base(), mapping.end - base()});
}

// Tells of parts one after the other, up to `end`; all are offsets in the heap.
struct Teller {
  std::size_t at, end;
  UsePart use;
  void* context;

  void part(std::size_t until, bool is_heap) {
    until = std::min(until, end);
    if (at < until) use(context, heap_state().segment.base + at, until - at, is_heap);
    at = std::max(at, until);
  }
};

bool tell_of(void* context, const ForeignRanges::Range& own) {
  Teller& teller = *static_cast<Teller*>(context);
  teller.part(own.begin, false);
  teller.part(own.end, true);
  return own.end < teller.end;
}

}  // namespace

namespace detail {

bool for_each_own_mapping(bool (*use)(void* context, const ForeignRanges::Range&), void* context) {
  Filter filter{use, context};
  return sys::for_each_mapping(use_if_heap, &filter);
}

bool anything_noted() {
  const ForeignRanges& foreign = heap_state().foreign;
  return foreign.count.load(std::memory_order_acquire) > 0 || foreign.too_many.load(std::memory_order_acquire);
}

}  // namespace detail

void heap_for_each_part(std::byte* address, std::size_t bytes, UsePart use, void* context) {
  const HeapSegment segment = heap_segment();
  std::byte* const end = address + bytes;
  std::byte* const from = std::clamp(segment.base, address, end);
  std::byte* const to = segment.base == nullptr ? from : std::clamp(segment.base + segment.bytes, from, end);
  if (address < from) use(context, address, static_cast<std::size_t>(from - address), false);
  if (from < to) {
    Teller teller{heap_offset(from), heap_offset(to), use, context};
    // What was noted need not have become the program's: a watcher may tell of dropped pages as if they were unmapped.
    if (detail::anything_noted()) {
      detail::for_each_own_mapping(tell_of, &teller);
      teller.part(teller.end, false);
    } else {
      teller.part(teller.end, true);
    }
  }
  if (to < end) use(context, to, static_cast<std::size_t>(end - to), false);
}

bool heap_drop(std::byte* address, std::size_t bytes) {
  const HeapSegment segment = heap_segment();
  return segment.descriptor >= 0 && sys::punch_hole(segment.descriptor, heap_offset(address), bytes);
}

}  // namespace quadrille::memory
