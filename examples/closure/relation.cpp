#include "relation.hpp"

#include <algorithm>
#include <utility>

namespace closure {
namespace {

// The key of the pair (2^32 - 1, 2^32 - 1), which is above kLargestVertex.
constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
constexpr std::size_t kFirstSlots = 1024;

}  // namespace

void sort_pairs(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end(), [](Pair a, Pair b) { return key_of(a) < key_of(b); });
}

void sort_unique(std::vector<Pair>& pairs) {
  sort_pairs(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

std::uint64_t hash(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
  return value ^ value >> 31;
}

std::vector<int> Placement::homes_of(Vertex vertex) const {
  std::vector<int> homes;
  for (int bucket = 0; bucket < sub_buckets; ++bucket) {
    const int home = home_of(vertex, static_cast<std::uint64_t>(bucket));
    if (std::find(homes.begin(), homes.end(), home) == homes.end()) homes.push_back(home);
  }
  return homes;
}

PairSet::PairSet() : slots_(kFirstSlots, kEmpty) {}

bool PairSet::insert(Pair pair) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  const std::uint64_t key = key_of(pair);
  const std::size_t slot = slot_of(key);
  if (slots_[slot] == key) return false;
  slots_[slot] = key;
  ++size_;
  return true;
}

std::vector<Pair> PairSet::sorted() const {
  std::vector<Pair> pairs;
  pairs.reserve(size_);
  for (const std::uint64_t key : slots_) {
    if (key != kEmpty) pairs.push_back(pair_of(key));
  }
  sort_pairs(pairs);
  return pairs;
}

Digest PairSet::digest() const {
  Digest digest;
  for (const std::uint64_t key : slots_) {
    if (key != kEmpty) digest.add(pair_of(key));
  }
  return digest;
}

// Where the key is, or where it would go.
std::size_t PairSet::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash(key) & mask;
  while (slots_[slot] != kEmpty && slots_[slot] != key) slot = (slot + 1) & mask;
  return slot;
}

void PairSet::grow() {
  const std::vector<std::uint64_t> old = std::exchange(slots_, std::vector<std::uint64_t>(2 * slots_.size(), kEmpty));
  for (const std::uint64_t key : old) {
    if (key != kEmpty) slots_[slot_of(key)] = key;
  }
}

EdgeIndex::EdgeIndex(std::vector<Pair> edges) : edges_(std::move(edges)) {
  std::sort(edges_.begin(), edges_.end(), [](Pair a, Pair b) { return a.from < b.from; });
}

std::span<const Pair> EdgeIndex::from(Vertex vertex) const {
  const auto begins_before = [](Pair edge, Vertex start) { return edge.from < start; };
  const auto first = std::lower_bound(edges_.begin(), edges_.end(), vertex, begins_before);
  auto last = first;
  while (last != edges_.end() && last->from == vertex) ++last;
  return {first, last};
}

}  // namespace closure
