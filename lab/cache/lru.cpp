#include "lab/cache/lru.hpp"

#include <algorithm>
#include <bit>

namespace quadrille::lab {

LruCache::LruCache(std::size_t lines)
    : places_(std::max<std::size_t>(lines, 1)), buckets_(std::bit_ceil(2 * places_.size()), none) {}

std::size_t LruCache::bucket_of(std::uint64_t line) const {
  // Neighbouring lines of many buffers: all bits of a line count.
  return (line * 0x9E3779B97F4A7C15ULL >> 20) & (buckets_.size() - 1);
}

void LruCache::unlink(std::uint32_t place) {
  const Place& p = places_[place];
  (p.newer == none ? newest_ : places_[p.newer].older) = p.older;
  (p.older == none ? oldest_ : places_[p.older].newer) = p.newer;
}

void LruCache::make_newest(std::uint32_t place) {
  places_[place].newer = none;
  places_[place].older = newest_;
  (newest_ == none ? oldest_ : places_[newest_].newer) = place;
  newest_ = place;
}

// An unused one, or that of the oldest line, which goes.
std::uint32_t LruCache::free_place() {
  if (used_ < places_.size()) return used_++;
  const std::uint32_t place = oldest_;
  std::uint32_t* link = &buckets_[bucket_of(places_[place].line)];
  while (*link != place) link = &places_[*link].next;
  *link = places_[place].next;
  unlink(place);
  return place;
}

bool LruCache::use(std::uint64_t line) {
  for (std::uint32_t place = buckets_[bucket_of(line)]; place != none; place = places_[place].next) {
    if (places_[place].line != line) continue;
    if (place == newest_) return true;
    unlink(place);
    make_newest(place);
    return true;
  }
  const std::uint32_t place = free_place();
  std::uint32_t& bucket = buckets_[bucket_of(line)];
  places_[place].line = line;
  places_[place].next = bucket;
  bucket = place;
  make_newest(place);
  return false;
}

}  // namespace quadrille::lab
