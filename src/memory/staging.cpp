#include "memory/staging.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/device_pieces.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

using Piece = Staging::Piece;

constexpr std::size_t least_bytes = std::size_t{64} << 10;

// Four sizes for each power of two, so that calls of about one size share a piece.
std::size_t rounded(std::size_t bytes) {
  if (bytes <= least_bytes) return least_bytes;
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

thread_local int keeping_all = 0;
std::atomic<void (*)()> work_before_free = nullptr;

struct Kept {
  std::mutex mutex;
  std::vector<Piece> pieces;  // the oldest first
  std::size_t bytes = 0;
  const DeviceDriver* driver = nullptr;
  bool ended = false;
};

Kept& kept() {
  static auto* const list = new Kept;  // outlives all destructors
  return *list;
}

bool is_alive(const DeviceDriver& driver, const Piece& piece) {
  return !piece.pinned || (piece.id != 0 && memory_id(driver, piece.memory) == piece.id);
}

// What went with its context is not there any more.
void free_piece(const DeviceDriver& driver, const Piece& piece) {
  if (!piece.pinned) {
    operator delete (piece.memory, std::align_val_t{sys::cache_line});
  } else if (is_alive(driver, piece)) {
    const AtDevice at(driver, piece.place);
    free_pinned(driver, piece.memory);
  }
}

void forget_first(Kept& list, const DeviceDriver& driver) {
  const Piece piece = list.pieces.front();
  list.pieces.erase(list.pieces.begin());
  list.bytes -= piece.bytes;
  free_piece(driver, piece);
}

// Of the pieces that are kept, the one that fits best.
bool find_kept(const DeviceDriver& driver, const DevicePlace& place, std::size_t bytes, bool must_be_pinned,
               Piece& found) {
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  while (true) {
    auto best = list.pieces.end();
    for (auto at = list.pieces.begin(); at != list.pieces.end(); ++at) {
      const bool is_kind = at->pinned || !must_be_pinned;
      const bool fits =
          is_kind && at->place == place && at->bytes >= bytes && at->bytes <= std::max(2 * bytes, least_bytes);
      if (fits && (best == list.pieces.end() || at->bytes <= best->bytes)) best = at;
    }
    if (best == list.pieces.end()) return false;
    found = *best;
    list.pieces.erase(best);
    list.bytes -= found.bytes;
    if (is_alive(driver, found)) return true;
  }
}

std::byte* allocate_ordinary(std::size_t bytes) {
  return static_cast<std::byte*>(operator new (bytes, std::align_val_t{sys::cache_line}));
}

}  // namespace

void Staging::take(const DeviceDriver& driver, const DevicePlace& place, std::size_t bytes, Kind kind) {
  give_back();
  driver_ = &driver;
  keeps_ = kind == Kind::kept || kind == Kind::pinned;
  if (kind == Kind::ordinary) {
    piece_ = {allocate_ordinary(bytes), bytes, false, 0, place};
    return;
  }
  if (keeps_ && find_kept(driver, place, bytes, kind == Kind::pinned, piece_)) return;
  bytes = rounded(bytes);
  if (void* memory = allocate_pinned(driver, bytes)) {
    piece_ = {static_cast<std::byte*>(memory), bytes, true, memory_id(driver, memory), place};
  } else if (kind != Kind::pinned) {
    piece_ = {allocate_ordinary(bytes), bytes, false, 0, place};
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
  if (piece_.memory == nullptr) return;
  const Piece piece = std::exchange(piece_, {});
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  if (list.ended && piece.pinned) return;
  const bool all = keeping_all > 0 && piece.pinned;
  if (list.ended || !keeps_ || (piece.bytes > most_kept() && !all)) {
    free_piece(*driver_, piece);
    return;
  }
  while (!all && !list.pieces.empty() && list.bytes + piece.bytes > most_kept()) forget_first(list, *driver_);
  try {
    list.pieces.push_back(piece);
  } catch (const std::bad_alloc&) {
    free_piece(*driver_, piece);
    return;
  }
  list.driver = driver_;
  list.bytes += piece.bytes;
}

KeepsAllStaging::KeepsAllStaging() { ++keeping_all; }
KeepsAllStaging::~KeepsAllStaging() { --keeping_all; }

void trim_staging() {
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  while (list.bytes > Staging::most_kept()) forget_first(list, *list.driver);
}

void before_free_staging(void (*work)()) { work_before_free.store(work); }

void free_staging() {
  if (void (*const work)() = work_before_free.exchange(nullptr)) work();
  free_kernels();
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  list.ended = true;
  while (!list.pieces.empty()) forget_first(list, *list.driver);
}

}  // namespace quadrille::memory
