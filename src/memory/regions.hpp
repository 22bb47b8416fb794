// Which bytes of a buffer a call describes, as few pieces: what is moved for it, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::memory {

// `rows` times `bytes` consecutive bytes, `pitch` bytes from one row to the next. With one row the pitch means nothing.
// Addresses are numbers: a block may lie before the address that the user gave.
struct Region {
  std::intptr_t begin = 0;
  std::size_t bytes = 0, rows = 1, pitch = 0;
  std::intptr_t end() const { return begin + static_cast<std::intptr_t>((rows - 1) * pitch + bytes); }
};

// A set of bytes. What is adjacent becomes one region, and so do equal rows at equal distances.
class Regions {
 public:
  void add(std::intptr_t begin, std::size_t bytes) { add(begin, bytes, 1, 0); }
  // `rows` times, at distances of `stride`, which may be of any sign and less than `bytes`.
  void add(std::intptr_t begin, std::size_t bytes, std::size_t rows, std::ptrdiff_t stride);
  // Joins also what was not added in the order of addresses.
  void put_in_order();

  bool empty() const { return list_.empty(); }
  std::vector<Region>::const_iterator begin() const { return list_.begin(); }
  std::vector<Region>::const_iterator end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }
  // The first address, and the one behind the last. Not of an empty set.
  std::intptr_t first() const;
  std::intptr_t last() const;
  // Counts bytes twice that are described twice.
  std::size_t bytes() const;

 private:
  void push(Region region);
  std::vector<Region> list_;
};

}  // namespace quadrille::memory
