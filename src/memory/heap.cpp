#include "memory/heap.hpp"

#include <time.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>

#include "memory/heap_parts.hpp"
#include "sys/kernel_files.hpp"
#include "sys/sys.hpp"
#include "text/text.hpp"

namespace quadrille::memory {

constinit detail::HeapGate detail::heap_gate;

HeapState& heap_state() {
  static constinit HeapState state;
  return state;
}

namespace {

constexpr std::size_t word_bits = 64;

// Calls use(word, its bits) for the pages that a range touches, until `use` returns false.
template <class Use>
void for_each_word(std::atomic<std::uint64_t>* words, const HeapRange& range, Use use) {
  const std::size_t page = sys::page_size(), end = (range.end + page - 1) / page;
  for (std::size_t at = range.begin / page, count = 0; at < end; at += count) {
    count = std::min(word_bits - at % word_bits, end - at);
    const std::uint64_t bits = ~std::uint64_t{0} >> (word_bits - count) << at % word_bits;
    if (!use(words[at / word_bits], bits)) return;
  }
}

}  // namespace

bool ForeignPages::make(std::size_t bytes) {
  const std::size_t words = bytes / sys::page_size() / word_bits + 1;
  words_ = reinterpret_cast<std::atomic<std::uint64_t>*>(sys::map_private(words * sizeof(*words_)));
  return words_ != nullptr;
}

bool ForeignPages::touch(const HeapRange& range) const {
  bool touched = false;
  if (count_ == 0) return touched;
  for_each_word(words_, range, [&](const std::atomic<std::uint64_t>& word, std::uint64_t bits) {
    touched = (word & bits) != 0;
    return !touched;
  });
  return touched;
}

void ForeignPages::note(const HeapRange& range, bool foreign) {
  for_each_word(words_, range, [&](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
    const std::uint64_t before = foreign ? word.fetch_or(bits) : word.fetch_and(~bits);
    const auto changed = static_cast<std::size_t>(std::popcount(bits & (foreign ? ~before : before)));
    count_ += foreign ? changed : -changed;
    return true;
  });
}

namespace {

using detail::heap_gate;

// Blocks of this size go back to the system as soon as they are freed, as they do with libc.
constexpr std::size_t large_block = std::size_t{32} << 20;
constexpr std::int64_t decay_interval_ns = 250'000'000;

// Blocks from here on get huge pages. Smaller ones would hold more memory than they use. Set before the heap is active.
std::size_t huge_from = SIZE_MAX;

// Why `text` cannot be taken as a size; empty if it can, then it is in `bytes`.
std::string take_size(const std::string& text, std::size_t least, std::size_t& bytes) {
  std::size_t read = 0;
  if (!text::read_bytes(text, read)) return "expected a number of bytes, such as 16384, 16K or 1G";
  if (read < least) return "expected at least " + std::to_string(least) + " bytes";
  bytes = read;
  return {};
}

// The settings of this process, read at the first call.
const HeapSettings& settings() {
  static const auto* read = new HeapSettings(read_heap_settings(sys::environment));
  return *read;
}

std::size_t segment_size() {
  const std::size_t page = sys::page_size();
  std::size_t bytes = settings().bytes;
  if (bytes == 0) bytes = std::min(heap_most_bytes, sys::physical_memory());
  return bytes / page * page;
}

// Whether the program has mapped something over pages of these addresses, which are the heap's.
bool is_mapped_over(const void* address, std::size_t bytes) {
  const std::size_t offset = heap_offset(address);
  return heap_state().foreign.touch({offset, offset + bytes});
}

constinit sys::SpinLock noting;

// The pages of the heap that these addresses touch, as offsets.
HeapRange pages_of(const void* address, std::size_t bytes) {
  const HeapState& state = heap_state();
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const auto base = reinterpret_cast<std::uintptr_t>(state.segment.base);
  const std::size_t page = sys::page_size();
  const std::uintptr_t last = first + bytes < first ? UINTPTR_MAX : first + bytes;
  return {first > base ? (first - base) / page * page : 0,
          std::min((last - base + page - 1) / page * page, state.segment.bytes)};
}

void note(const void* address, std::size_t bytes, bool foreign) {
  HeapState& state = heap_state();
  if (state.stage.load(std::memory_order_acquire) != HeapState::active) return;
  const std::lock_guard lock(noting);
  state.foreign.note(pages_of(address, bytes), foreign);
}

bool wants_huge_pages() {
  using Pages = HeapSettings::Pages;
  return settings().pages == Pages::huge || (settings().pages == Pages::automatic && sys::shares_huge_pages());
}

// Only this process advises: where a peer is the first to write to a block, its pages are small ones.
void advise_block(void* address, std::size_t bytes, bool huge) {
  if (bytes >= huge_from) sys::advise_pages(static_cast<std::byte*>(address), bytes, huge);
}

// The block is never used again, but its own pages go back. What the program has put there stays, as another may use
// these addresses by now.
void abandon(void* address, std::size_t bytes) {
  const auto drop_own = [](void*, std::byte* begin, std::size_t size, bool is_heap) {
    if (is_heap) heap_drop(begin, size);
  };
  const std::size_t page = sys::page_size(), offset = heap_offset(address);
  const std::size_t begin = sys::round_up(offset, page), end = (offset + bytes) / page * page;
  if (begin < end) heap_for_each_part(heap_state().segment.base + begin, end - begin, drop_own, nullptr);
}

void* take_block(std::size_t bytes, std::size_t alignment, bool zero) {
  void* block = arena_allocate(bytes, alignment, zero);
  if (block != nullptr && bytes >= huge_from) advise_block(block, arena_usable(block), true);
  return block;
}

// Returns none, or why there is no heap.
Reason make_heap(HeapSegment& segment) {
  if (sys::memory_checker() != nullptr) return Reason::memory_watched;
  segment.bytes = segment_size();
  if (segment.bytes == 0) return Reason::memory_size_unknown;
  if (const Reason why = sys::heap_obstacle(segment.bytes); why != Reason::none) return why;
  segment.descriptor = sys::create_heap_file(segment.bytes);
  if (segment.descriptor < 0) return Reason::no_memory_file;
  segment.base = sys::map_heap(segment.descriptor, segment.bytes);
  if (segment.base == nullptr) return Reason::segment_not_mapped;
  if (!sys::identify(segment.descriptor, heap_state().identity)) return Reason::segment_without_status;
  sys::advise_pages(segment.base, segment.bytes, false);
  if (wants_huge_pages()) huge_from = 2 * sys::huge_page_bytes();  // one lies inside wherever the block begins
  heap_state().first = sys::heap_skew(sys::process_number(), segment.bytes);
  const Reason why = arena_start();
  return why == Reason::none && !heap_state().foreign.make(segment.bytes) ? Reason::out_of_memory : why;
}

void discard(HeapSegment& segment) {
  if (segment.base != nullptr) sys::unmap_raw(segment.base, segment.bytes);
  sys::close_descriptor(segment.descriptor);
  segment = {};
}

// One thread only comes here. Ends with the heap active or failed: inside malloc nothing may be thrown.
void start() noexcept {
  HeapState& state = heap_state();
  Reason why = Reason::out_of_memory;
  try {
    // Before jemalloc watches them, see heap_fork.cpp.
    why = heap_watch_forks() ? make_heap(state.segment) : Reason::forks_unwatched;
  } catch (const std::exception&) {
  }
  if (why != Reason::none) {
    discard(state.segment);
    state.why_not.store(why, std::memory_order_release);
    heap_gate.from.store(SIZE_MAX, std::memory_order_relaxed);
    state.stage.store(HeapState::failed, std::memory_order_release);
    return;
  }
  heap_gate.base.store(reinterpret_cast<std::uintptr_t>(state.segment.base), std::memory_order_relaxed);
  heap_gate.bytes.store(state.segment.bytes, std::memory_order_release);
  // Before the stage: who sees the heap active finds large allocations in it.
  heap_gate.from.store(settings().from, std::memory_order_release);
  state.stage.store(HeapState::active, std::memory_order_release);
}

// True if this call may continue with start(). Allocations by start() itself find the start in progress, and go to
// libc.
bool claim_start() {
  int expected = HeapState::idle;
  return heap_state().stage.compare_exchange_strong(expected, HeapState::starting);
}

// Lets time-based purging happen although nobody else drives it. Cheap: the coarse clock.
void decay_now_and_then() {
  static std::atomic<std::int64_t> last{0};
  timespec clock{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &clock);
  const std::int64_t now = clock.tv_sec * 1'000'000'000 + clock.tv_nsec;
  std::int64_t before = last.load(std::memory_order_relaxed);
  if (now - before > decay_interval_ns && last.compare_exchange_strong(before, now)) arena_decay();
}

}  // namespace

bool drop_heap_pages(std::byte* base, std::size_t bytes) {
  if (heap_state().stage.load(std::memory_order_acquire) == HeapState::forked) {
    return sys::drop_private_pages(base, bytes);
  }
  // What the program has put there is not ours to drop.
  if (is_mapped_over(base, bytes)) return false;
  const bool dropped = sys::drop_shared_pages(base, bytes);
  // UCX tells of them as unmapped (api/map_watch.cpp). They are the heap's still.
  if (is_mapped_over(base, bytes)) heap_take_back_note(base, bytes);
  return dropped;
}

std::string read_heap_mode(const std::string& text, HeapSettings& settings) {
  using Mode = HeapSettings::Mode;
  constexpr std::pair<std::string_view, Mode> modes[] = {{"on", Mode::on},      {"1", Mode::on},  {"yes", Mode::on},
                                                         {"off", Mode::off},    {"0", Mode::off}, {"no", Mode::off},
                                                         {"early", Mode::early}};
  const auto* const known = std::ranges::find(modes, text, &std::pair<std::string_view, Mode>::first);
  if (known == std::end(modes)) return "expected on, off or early";
  settings.mode = known->second;
  return {};
}

std::string read_heap_from(const std::string& text, HeapSettings& settings) {
  return take_size(text, 1, settings.from);
}

std::string read_heap_bytes(const std::string& text, HeapSettings& settings) {
  return take_size(text, heap_least_bytes, settings.bytes);
}

std::string read_heap_pages(const std::string& text, HeapSettings& settings) {
  if (text != "huge" && text != "small") return "expected huge or small";
  settings.pages = text == "huge" ? HeapSettings::Pages::huge : HeapSettings::Pages::small;
  return {};
}

HeapSettings read_heap_settings(std::string (*get)(const char*)) {
  HeapSettings settings;
  const auto read = [&](const char* name, auto read_value) {
    if (const std::string text = get(name); !text.empty()) read_value(text, settings);
  };
  read("QUADRILLE_HEAP", read_heap_mode);
  read("QUADRILLE_HEAP_FROM", read_heap_from);
  read("QUADRILLE_HEAP_BYTES", read_heap_bytes);
  read("QUADRILLE_HEAP_PAGES", read_heap_pages);
  return settings;
}

bool heap_start() {
  HeapState& state = heap_state();
  try {
    if (settings().mode == HeapSettings::Mode::off) return false;
  } catch (const std::exception&) {
    return false;
  }
  if (claim_start()) start();
  while (state.stage.load(std::memory_order_acquire) == HeapState::starting) sys::yield();
  return heap_active();
}

void heap_prepare_early() {
  try {
    if (sys::environment("QUADRILLE_HEAP") != "early") return;
    heap_gate.from.store(settings().from, std::memory_order_relaxed);
  } catch (const std::exception&) {
  }
}

bool heap_active() { return heap_state().stage.load(std::memory_order_acquire) == HeapState::active; }

Why heap_why_not() {
  const int stage = heap_state().stage.load(std::memory_order_acquire);
  if (stage == HeapState::active) return {};
  if (stage == HeapState::forked) return {Reason::heap_forked};
  const Reason why = heap_state().why_not.load(std::memory_order_acquire);
  if (why == Reason::memory_watched) return {why, sys::memory_checker()};
  if (why != Reason::none) return {why};
  return {settings().mode == HeapSettings::Mode::off ? Reason::heap_off : Reason::heap_not_started};
}

HeapSegment heap_segment() {
  if (!heap_active()) return {};
  HeapSegment segment = heap_state().segment;
  if (!sys::still_is(segment.descriptor, heap_state().identity)) segment.descriptor = -1;
  return segment;
}

std::byte* heap_base() { return heap_active() ? heap_state().segment.base : nullptr; }

bool heap_contains(const void* address, std::size_t bytes) {
  if (!heap_active()) return false;
  // Before the heap the offset wraps.
  const std::size_t offset = heap_offset(address), size = heap_state().segment.bytes;
  return offset < size && bytes <= size - offset;
}

bool heap_shareable(const void* address, std::size_t bytes) {
  return heap_contains(address, bytes) && !is_mapped_over(address, bytes) && mappings_are_watched();
}

std::size_t heap_offset(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(heap_state().segment.base);
}

void* heap_allocate(std::size_t bytes, std::size_t alignment, bool zero) {
  const KeepErrno keep;
  if (!heap_active()) {
    const bool early = heap_gate.from.load(std::memory_order_relaxed) != SIZE_MAX;
    if (!early || !claim_start()) return nullptr;
    start();
    if (!heap_active()) return nullptr;
  }
  return take_block(std::max<std::size_t>(bytes, 1), alignment, zero);
}

bool heap_free(void* address) {
  if (!heap_owns(address)) return false;
  const KeepErrno keep;
  const std::size_t bytes = arena_usable(address);
  if (is_mapped_over(address, bytes)) {
    abandon(address, bytes);
    return true;
  }
  advise_block(address, bytes, false);  // smaller blocks may follow there
  arena_free(address);
  if (bytes >= large_block) {
    arena_trim();
  } else {
    decay_now_and_then();
  }
  return true;
}

void* heap_resize(void* address, std::size_t bytes) {
  const KeepErrno keep;
  if (is_mapped_over(address, arena_usable(address))) return nullptr;
  if (heap_active()) {
    if (!heap_wants(bytes)) return nullptr;
    advise_block(address, arena_usable(address), false);
    void* block = arena_resize(address, bytes);
    void* now = block != nullptr ? block : address;
    advise_block(now, arena_usable(now), true);
    return block;
  }
  // After a fork: never take more, but let a block shrink where it is.
  if (bytes < heap_from_default || bytes > arena_usable(address)) return nullptr;
  arena_resize_in_place(address, bytes);
  return address;
}

std::size_t heap_usable(const void* address) { return arena_usable(address); }

std::byte* heap_map_peer(int descriptor, std::size_t bytes) {
  std::byte* base = sys::map_peer(descriptor, bytes);
  if (base == nullptr) return nullptr;
  if (settings().pages == HeapSettings::Pages::small) sys::advise_pages(base, bytes, false);
  note_reserved(base, bytes, false);
  return base;
}

void heap_unmap_peer(std::byte* base, std::size_t bytes) {
  forget_reserved(base);
  sys::unmap_raw(base, bytes);
}

void heap_note_mapping(const void* address, std::size_t bytes) { note(address, bytes, true); }

void heap_take_back_note(const void* address, std::size_t bytes) { note(address, bytes, false); }

// ---- What of the heap's addresses is heap memory still, where the program has changed mappings ----

namespace {

std::atomic<FindMappingWatch> watch{nullptr};

// The next mapping that is the heap's still, as offsets; false behind the last one.
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

}  // namespace

void set_mapping_watch(FindMappingWatch find) { watch.store(find, std::memory_order_release); }

MappingWatch mapping_watch(bool at_start) {
  const FindMappingWatch find = watch.load(std::memory_order_acquire);
  return find == nullptr ? MappingWatch::none : find(at_start);
}

bool mappings_are_watched() { return mapping_watch() != MappingWatch::lost; }

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
    const bool noted = heap_state().foreign.any();
    if (noted) {
      sys::Mappings mappings;
      for (HeapRange own; at < last && next_own_mapping(mappings, own);) {
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
