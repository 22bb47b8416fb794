// A set of tuples of one width, which numbers them in the order of insertion. Without MPI.
//
// One array holds the tuples; a hash table with open addressing holds their numbers. So a tuple costs its
// words and about eight bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "facts.hpp"

namespace kcfa {

class TupleSet {
 public:
  explicit TupleSet(std::size_t width) : width_(width), slots_(1024) {}

  std::size_t size() const { return words_.size() / width_; }
  const Word* operator[](std::size_t number) const { return words_.data() + number * width_; }

  // The number of the tuple, and whether it is new. `hash` is the tuple's hash_of. Pointers to
  // tuples are valid until the next insert.
  std::pair<std::uint32_t, bool> insert(const Word* tuple, Word hash) {
    if (2 * (size() + 1) > slots_.size()) grow();
    std::uint32_t& slot = slots_[find(tuple, hash)];
    if (slot != 0) return {slot - 1, false};
    if (size() >= 0xfffffffe) throw std::length_error("more than 2^32 - 2 facts on one rank");
    words_.insert(words_.end(), tuple, tuple + width_);
    slot = static_cast<std::uint32_t>(size());
    return {slot - 1, true};
  }

 private:
  // The slot with the tuple, or the empty one where it belongs.
  std::size_t find(const Word* tuple, Word hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != 0 && !std::equal(tuple, tuple + width_, (*this)[slots_[at] - 1])) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t number = 0; number < size(); ++number) {
      const Word* tuple = (*this)[number];
      slots_[find(tuple, hash_of({tuple, width_}))] = static_cast<std::uint32_t>(number + 1);
    }
  }

  std::size_t width_;
  std::vector<Word> words_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0 is empty. Their count is a power of two
};

}  // namespace kcfa
