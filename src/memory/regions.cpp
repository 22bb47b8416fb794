#include "memory/regions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace quadrille::memory {
namespace {

// Drivers take no larger distance of rows.
constexpr std::intptr_t most_pitch = std::numeric_limits<std::int32_t>::max();

std::intptr_t row_behind(const Region& region) {
  return region.begin + static_cast<std::intptr_t>(region.rows * region.pitch);
}

// Two pieces of one row each.
bool join_single(Region& a, const Region& b) {
  if (b.begin <= a.end() && a.begin <= b.end()) {
    const std::intptr_t begin = std::min(a.begin, b.begin), end = std::max(a.end(), b.end());
    a = {begin, static_cast<std::size_t>(end - begin), 1, 0};
    return true;
  }
  const std::intptr_t distance = b.begin - a.begin;
  if (a.bytes != b.bytes || distance < 0 || distance > most_pitch) return false;
  a.rows = 2;
  a.pitch = static_cast<std::size_t>(distance);
  return true;
}

// The rows of one continue those of the other.
bool join_below(Region& a, const Region& b) {
  if (a.bytes != b.bytes || (a.rows > 1 && b.rows > 1 && a.pitch != b.pitch)) return false;
  const std::size_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  Region rows = a;
  rows.pitch = pitch;
  if (b.begin != row_behind(rows)) return false;
  a = {a.begin, a.bytes, a.rows + b.rows, pitch};
  return true;
}

// Each row of one continues the same row of the other.
bool join_beside(Region& a, const Region& b) {
  if (a.rows != b.rows || a.pitch != b.pitch || a.bytes + b.bytes > a.pitch) return false;
  if (b.begin != a.begin + static_cast<std::intptr_t>(a.bytes)) return false;
  a.bytes += b.bytes;
  if (a.bytes == a.pitch) a = {a.begin, a.rows * a.pitch, 1, 0};
  return true;
}

// Makes both one, if their bytes are one region.
bool join(Region& a, const Region& b) {
  if (a.rows == 1 && b.rows == 1) return join_single(a, b);
  return join_below(a, b) || join_beside(a, b);
}

}  // namespace

void Regions::add(std::intptr_t begin, std::size_t bytes, std::size_t rows, std::ptrdiff_t stride) {
  if (bytes == 0 || rows == 0) return;
  if (stride < 0) begin += static_cast<std::intptr_t>(rows - 1) * stride;
  const auto pitch = static_cast<std::size_t>(stride < 0 ? -stride : stride);
  if (rows == 1 || pitch <= bytes) {
    push({begin, (rows - 1) * pitch + bytes, 1, 0});
  } else if (pitch <= static_cast<std::size_t>(most_pitch)) {
    push({begin, bytes, rows, pitch});
  } else {
    for (std::size_t row = 0; row < rows; ++row) push({begin + static_cast<std::intptr_t>(row * pitch), bytes, 1, 0});
  }
}

void Regions::push(Region region) {
  while (!list_.empty()) {
    Region joined = list_.back();
    if (!join(joined, region)) break;
    list_.pop_back();
    region = joined;
  }
  list_.push_back(region);
}

void Regions::put_in_order() {
  if (std::ranges::is_sorted(list_, {}, &Region::begin)) return;
  std::vector<Region> all = std::exchange(list_, {});
  std::ranges::sort(all, {}, &Region::begin);
  for (const Region& region : all) push(region);
}

std::intptr_t Regions::first() const { return std::ranges::min(list_, {}, &Region::begin).begin; }

std::intptr_t Regions::last() const { return std::ranges::max(list_, {}, &Region::end).end(); }

std::size_t Regions::bytes() const {
  std::size_t sum = 0;
  for (const Region& region : list_) sum += region.bytes * region.rows;
  return sum;
}

}  // namespace quadrille::memory
