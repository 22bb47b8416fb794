// Binary relations as sets of pairs, and the owners of their parts. Without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace closure {

using Vertex = std::uint32_t;

// 2^32 - 1 is excluded, so that sets can use its key for "empty".
constexpr Vertex kLargestVertex = 0xfffffffe;

// An edge of the graph, or a tuple of its closure: there is a path from `from` to `to`.
struct Pair {
  Vertex from;
  Vertex to;
  bool operator==(const Pair&) const = default;
};

// The order of all tuples: by end, then by start. Tuples that are extended by the same edges are then
// adjacent.
inline std::uint64_t key_of(Pair pair) { return static_cast<std::uint64_t>(pair.to) << 32 | pair.from; }
inline Pair pair_of(std::uint64_t key) { return {static_cast<Vertex>(key), static_cast<Vertex>(key >> 32)}; }

void sort_pairs(std::vector<Pair>& pairs);

// Sorts and removes duplicates.
void sort_unique(std::vector<Pair>& pairs);

// Mixes all bits of a number (the finaliser of SplitMix64).
std::uint64_t hash(std::uint64_t value);

// The owners of tuples and edges. Tuples that end at a vertex are spread over its `sub_buckets` by their start, so that
// a vertex that many others reach makes no rank's part large. Each of these ranks has the vertex's outgoing edges, so
// that the join needs no message.
struct Placement {
  int ranks = 1;
  int sub_buckets = 1;

  int home_of(Vertex vertex, std::uint64_t sub_bucket) const {
    return static_cast<int>(hash(vertex | sub_bucket << 32) % static_cast<std::uint64_t>(ranks));
  }
  // The owner of a tuple.
  int home_of(Pair tuple) const {
    return home_of(tuple.to, hash(tuple.from) % static_cast<std::uint64_t>(sub_buckets));
  }
  // The owners of the edges that begin at a vertex: each rank once, in the order of the sub-buckets.
  std::vector<int> homes_of(Vertex vertex) const;
};

// A digest of a relation: the number of tuples, and the sum of their hashes modulo 2^64. It does not
// depend on the order, and the digests of disjoint parts add up.
struct Digest {
  std::uint64_t tuples = 0;
  std::uint64_t sum = 0;
  void add(Pair pair) {
    ++tuples;
    sum += hash(key_of(pair));
  }
  bool operator==(const Digest&) const = default;
};

// A hash set with open addressing: 8 bytes a slot, at most half of the slots full.
class PairSet {
 public:
  PairSet();
  // Whether the pair is new.
  bool insert(Pair pair);
  std::size_t size() const { return size_; }
  std::vector<Pair> sorted() const;
  Digest digest() const;

 private:
  std::size_t slot_of(std::uint64_t key) const;
  void grow();

  std::vector<std::uint64_t> slots_;  // a power of two of them
  std::size_t size_ = 0;
};

// The edges of a graph, indexed by their start.
class EdgeIndex {
 public:
  explicit EdgeIndex(std::vector<Pair> edges);
  std::span<const Pair> from(Vertex vertex) const;

 private:
  std::vector<Pair> edges_;  // sorted by their start
};

}  // namespace closure
