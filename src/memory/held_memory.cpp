#include "memory/held_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "memory/device_pieces.hpp"
#include "memory/device_streams.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

std::atomic<int> calls_in_streams = 0;
thread_local int guards = 0;
bool must_not_wait() { return guards != 0; }

struct AllLate {
  std::mutex mutex;
  std::vector<HeldMemory> list;
  std::atomic<bool> any = false;
};
AllLate& all_late() { return sys::immortal<AllLate>(); }

// What went with its context is gone.
void free_now(const HeldMemory& one) {
  if (one.held == Held::ordinary) return operator delete (one.memory, std::align_val_t{sys::cache_line});
  if (!one.is_alive()) return;
  const AtDevice at(one.place);
  const auto address = reinterpret_cast<std::uintptr_t>(one.memory);
  if (one.held == Held::pinned) {
    free_pinned(one.memory);
  } else if (one.held == Held::opened) {
    driver().close_memory(address);
  } else {
    driver().free(address);
  }
}

void give_back_all() {
  AllLate& all = all_late();
  std::vector<HeldMemory> list;
  {
    const std::lock_guard lock(all.mutex);
    list.swap(all.list);
    all.any.store(false, std::memory_order_release);
  }
  for (const HeldMemory& one : list) free_now(one);
}

}  // namespace

void note_call_in_stream() { calls_in_streams.fetch_add(1, std::memory_order_acq_rel); }
void note_call_over() { calls_in_streams.fetch_sub(1, std::memory_order_acq_rel); }
bool any_call_in_stream() { return calls_in_streams.load(std::memory_order_acquire) != 0; }

MustNotWait::MustNotWait() { ++guards; }
MustNotWait::~MustNotWait() { --guards; }
bool may_wait_for_devices() { return !must_not_wait() && !any_call_in_stream(); }

void give_back(const HeldMemory& memory) {
  if (memory.held == Held::ordinary || may_wait_for_devices()) return free_now(memory);
  AllLate& all = all_late();
  const std::lock_guard lock(all.mutex);
  try {
    all.list.push_back(memory);
    all.any.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // it goes with the process
  }
}

void give_back_late() {
  if (all_late().any.load(std::memory_order_acquire) && may_wait_for_devices()) give_back_all();
}

// ---- Staging ----

namespace {

constexpr std::size_t least_bytes = std::size_t{64} << 10;

// Four sizes for each power of two, so that calls of about one size share a piece.
std::size_t rounded(std::size_t bytes) {
  if (bytes <= least_bytes) return least_bytes;
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

struct Kept {
  std::mutex mutex;
  std::vector<HeldMemory> pieces;  // the oldest first
  std::atomic<std::size_t> bytes = 0;
  bool ended = false;
};

Kept& kept() { return sys::immortal<Kept>(); }

// Frees the oldest. That may wait for the device, so it is done without the lock, which a thread may need that makes
// progress for a stream.
void keep_at_most(std::size_t most) {
  Kept& list = kept();
  while (list.bytes.load(std::memory_order_relaxed) > most) {
    HeldMemory piece;
    {
      const std::lock_guard lock(list.mutex);
      if (list.bytes <= most || list.pieces.empty()) return;
      piece = list.pieces.front();
      list.pieces.erase(list.pieces.begin());
      list.bytes -= piece.bytes;
    }
    memory::give_back(piece);
  }
}

// Of the pieces that are kept, the one that fits best; an empty one if none does.
HeldMemory find_kept(const DevicePlace& place, std::size_t bytes, bool must_be_pinned) {
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  while (true) {
    auto best = list.pieces.end();
    for (auto at = list.pieces.begin(); at != list.pieces.end(); ++at) {
      const bool is_kind = at->place == place && (at->held == Held::pinned || !must_be_pinned);
      const bool fits = is_kind && at->bytes >= bytes && at->bytes <= std::max(2 * bytes, least_bytes);
      if (fits && (best == list.pieces.end() || at->bytes <= best->bytes)) best = at;
    }
    if (best == list.pieces.end()) return {};
    const HeldMemory found = *best;
    list.pieces.erase(best);
    list.bytes -= found.bytes;
    if (found.is_alive()) return found;
  }
}

}  // namespace

void Staging::take(const DevicePlace& place, std::size_t bytes, Kind kind) {
  give_back();
  keeps_ = kind == Kind::kept || kind == Kind::pinned;
  if (keeps_) piece_ = find_kept(place, bytes, kind == Kind::pinned);
  if (data() != nullptr) return;
  if (kind != Kind::ordinary) bytes = rounded(bytes);
  // To pin memory may wait for the device. Other memory in its place is not kept, as later calls want pinned memory.
  const bool must_not_pin = must_not_wait();
  keeps_ = keeps_ && !must_not_pin;
  void* const pinned = kind != Kind::ordinary && !must_not_pin ? allocate_pinned(bytes) : nullptr;
  if (pinned != nullptr) {
    piece_ = {place, Held::pinned, pinned, memory_id(pinned), bytes};
  } else if (kind != Kind::pinned) {
    piece_ = {place, Held::ordinary, operator new (bytes, std::align_val_t{sys::cache_line}), 0, bytes};
  }
}

std::size_t Staging::most_kept() {
  static const std::size_t bytes = [] {
    const auto processors = static_cast<std::size_t>(sys::online_processors());
    return std::clamp(sys::physical_memory() / processors / 4, least_kept, most_ever_kept);
  }();
  return bytes;
}

void Staging::give_back() {
  if (data() == nullptr) return;
  const HeldMemory piece = std::exchange(piece_, {});
  if (!keep(piece)) memory::give_back(piece);
  trim_staging();
}

// False if it is to be freed.
bool Staging::keep(const HeldMemory& piece) const {
  const bool is_pinned = piece.held == Held::pinned;
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  if (list.ended && is_pinned) return true;  // it goes with the process
  const bool all = is_pinned && !may_wait_for_devices();
  if (list.ended || !keeps_ || (piece.bytes > most_kept() && !all)) return false;
  try {
    list.pieces.push_back(piece);
  } catch (const std::bad_alloc&) {
    return false;
  }
  list.bytes += piece.bytes;
  return true;
}

void trim_staging() {
  if (kept().bytes.load(std::memory_order_relaxed) > Staging::most_kept() && may_wait_for_devices()) {
    keep_at_most(Staging::most_kept());
  }
}

void free_staging() {
  free_kernels();
  free_streams();
  {
    const std::lock_guard lock(kept().mutex);
    kept().ended = true;
  }
  keep_at_most(0);
  give_back_all();
}

}  // namespace quadrille::memory
