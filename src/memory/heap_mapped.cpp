// What of the heap's addresses is heap memory still, where the program has changed mappings.
#include <algorithm>
#include <cstdint>

#include "memory/heap_parts.hpp"

namespace quadrille::memory {
namespace detail {

// The first free note from `from` on; `most` if there is none.
std::size_t ForeignRanges::free_note(std::size_t from) const {
  while (from < most && notes_[from].end != 0) ++from;
  return from;
}

// Bytes between a note and a range: 0 if they meet, SIZE_MAX if either is free.
std::size_t ForeignRanges::distance(std::size_t note, const Range& range) const {
  const std::size_t begin = notes_[note].begin, end = notes_[note].end;
  if (end == 0 || range.end == 0) return SIZE_MAX;
  if (end < range.begin) return range.begin - end;
  return range.end < begin ? begin - range.end : 0;
}

void ForeignRanges::write(std::size_t note, const Range& range) {
  notes_[note].begin = range.begin;
  notes_[note].end = range.end;
  if (note >= count_) count_ = note + 1;
}

void ForeignRanges::clear(std::size_t note) {
  notes_[note].end = 0;
  notes_[note].begin = SIZE_MAX;  // nobody reads the next end with this begin
}

// Note `from` goes into `to`, a later one, with what lies between them.
void ForeignRanges::join(std::size_t from, std::size_t to) {
  write(to, {std::min<std::size_t>(notes_[from].begin, notes_[to].begin),
             std::max<std::size_t>(notes_[from].end, notes_[to].end)});
  clear(from);
}

// Of all notes those that lie nearest to each other become one.
void ForeignRanges::join_nearest() {
  std::size_t from = 0, to = 1, least = SIZE_MAX;
  for (std::size_t j = 1; j < most; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const std::size_t apart = distance(i, {notes_[j].begin, notes_[j].end});
      if (apart < least) from = i, to = j, least = apart;
    }
  }
  join(from, to);
}

// The last note that the range meets; `most` if there is none.
std::size_t ForeignRanges::last_met(const Range& range) const {
  std::size_t note = count_;
  while (note > 0 && distance(note - 1, range) > 0) --note;
  return note > 0 ? note - 1 : most;
}

void ForeignRanges::add(Range range) {
  if (range.begin >= range.end) return;
  if (last_met(range) == most && free_note(0) == most) join_nearest();
  const std::size_t last = last_met(range);
  if (last == most) return write(free_note(0), range);
  write(last,
        {std::min<std::size_t>(range.begin, notes_[last].begin), std::max<std::size_t>(range.end, notes_[last].end)});
  for (std::size_t i = 0; i < last; ++i) {
    if (distance(i, range) == 0) join(i, last);
  }
}

void ForeignRanges::remove(Range range) {
  if (range.begin >= range.end) return;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t begin = notes_[i].begin, end = notes_[i].end;
    if (end <= range.begin || range.end <= begin) continue;
    if (begin < range.begin && range.end < end) {
      const std::size_t rest = free_note(i + 1);
      if (rest == most) continue;  // stays noted: no later note is free
      write(rest, {range.end, end});
    }
    if (begin < range.begin) {
      notes_[i].end = range.begin;
    } else if (range.end < end) {
      notes_[i].begin = range.end;
    } else {
      clear(i);
    }
  }
  while (count_ > 0 && notes_[count_ - 1].end == 0) --count_;
}

bool next_own_mapping(sys::Mappings& mappings, ForeignRanges::Range& own) {
  const HeapState& state = heap_state();
  const auto base = reinterpret_cast<std::uintptr_t>(state.segment.base);
  for (sys::Mapping one; mappings.next(one);) {
    if (one.file != state.identity.file || one.device != state.identity.device || one.begin < base ||
        one.end > base + state.segment.bytes) {
      continue;
    }
    own = {one.begin - base, one.end - base};
    return true;
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
      for (detail::ForeignRanges::Range own; at < last && detail::next_own_mapping(mappings, own);) {
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
