// The facts that a rank sends in one iteration. Without MPI.
#pragma once

#include <vector>

#include "tuple_set.hpp"

namespace kcfa {

class Outbox {
 public:
  Outbox(std::size_t width, int ranks) : width_(width), boxes_(ranks), sent_(width) {}

  // Adds a fact unless the outbox has it: a fact often follows from many facts of an iteration.
  void add(const Word* fact, int owner) {
    const Word hash = hash_of({fact, width_});
    if (!sent_.insert(fact, hash).second) return;
    hash_sum_ += hash;
    boxes_[owner].insert(boxes_[owner].end(), fact, fact + width_);
  }

  // The tuples for each rank, one after the other.
  const std::vector<std::vector<Word>>& boxes() const { return boxes_; }

  Word hash_sum() const { return hash_sum_; }

  void clear() {
    for (std::vector<Word>& box : boxes_) box.clear();
    sent_ = TupleSet(width_);
    hash_sum_ = 0;
  }

 private:
  std::size_t width_;
  std::vector<std::vector<Word>> boxes_;
  TupleSet sent_;
  Word hash_sum_ = 0;
};

}  // namespace kcfa
