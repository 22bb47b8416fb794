#include "memory/control_pool.hpp"

#include "memory/heap.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t in_chunks(std::size_t bytes) {
  return (bytes + ControlPool::chunk_bytes - 1) / ControlPool::chunk_bytes;
}

// Of the counters; whole pages.
constexpr std::size_t head_bytes(std::size_t chunks) { return sys::round_up(chunks * sizeof(std::int32_t), 4096); }

}  // namespace

std::size_t ControlPool::segment_bytes(std::size_t bytes) {
  const std::size_t chunks = in_chunks(bytes);
  return head_bytes(chunks) + chunks * chunk_bytes;
}

ControlPool::ControlPool(std::byte* base, std::size_t bytes)
    : base_(base),
      segment_(segment_bytes(bytes)),
      chunks_(in_chunks(bytes)),
      users_(reinterpret_cast<std::atomic<std::int32_t>*>(base)),
      areas_(base + head_bytes(chunks_)) {
  note_reserved(base, segment_, true);
}

ControlPool::~ControlPool() {
  forget_reserved(base_);
  sys::unmap_segment(base_, segment_);
}

void ControlPool::clear(std::size_t first, std::size_t count) {
  for (std::size_t c = first; c < first + count; ++c) users_[c].store(0, std::memory_order_release);
}

// Takes `count` chunks, or none if one of them is taken.
bool ControlPool::claim(std::size_t first, std::size_t count) {
  for (std::size_t c = first; c < first + count; ++c) {
    std::int32_t free = 0;
    if (!users_[c].compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      clear(first, c - first);
      return false;
    }
  }
  return true;
}

std::optional<std::size_t> ControlPool::take(std::size_t bytes, int users) {
  const std::size_t count = in_chunks(bytes);
  std::size_t run = 0;  // free chunks before `c`
  for (std::size_t c = 0; c < chunks_; ++c) {
    run = users_[c].load(std::memory_order_relaxed) != 0 ? 0 : run + 1;
    if (run < count) continue;
    const std::size_t first = c + 1 - count;
    if (claim(first, count)) {
      users_[first].store(users + 1, std::memory_order_relaxed);
      return first;
    }
    run = 0;  // another process was faster; go on behind it
  }
  return std::nullopt;
}

void ControlPool::leave(std::size_t chunk, std::size_t bytes) {
  if (users_[chunk].fetch_sub(1, std::memory_order_acq_rel) != 2) return;
  const std::size_t count = in_chunks(bytes);
  // If the pages cannot be dropped, the area stays taken: the next user relies on zeros.
  if (sys::drop_shared_pages(area(chunk), count * chunk_bytes)) clear(chunk, count);
}

}  // namespace quadrille::memory
