// Index arithmetic of the Bruck algorithms, for any number of ranks P and any radix r >= 2.
//
// Blocks are numbered by the distance i that they travel, 0 <= i < P, and i is written in base r.
// At the digit position of weight w = r^k every block whose digit there is z > 0 moves z * w ranks.
// When all positions are done, block i has moved i ranks.
//
// Example, P = 6, r = 2:
//   w = 1 moves 1, 3, 5      w = 2 moves 2, 3      w = 4 moves 4, 5
// Example, P = 6, r = 3:
//   w = 1, z = 1 moves 1, 4  w = 1, z = 2 moves 2, 5     w = 3, z = 1 moves 3, 4, 5
#pragma once

#include <algorithm>
#include <cstdint>

namespace quadrille::plan::bruck {

// The digit values z = 1.. at weight `weight` that some block has: their largest.
inline int largest_digit(int ranks, std::int64_t radix, std::int64_t weight) {
  return static_cast<int>(std::min<std::int64_t>(radix - 1, (ranks - 1) / weight));
}

// Number of blocks whose digit at weight `weight` is not zero.
inline int blocks_moved(int ranks, std::int64_t radix, std::int64_t weight) {
  const std::int64_t period = weight * radix;
  const std::int64_t still = ranks / period * weight + std::min(ranks % period, weight);
  return static_cast<int>(ranks - still);
}

// Number of digit positions: ceil(log_r P).
inline int positions(int ranks, std::int64_t radix) {
  int count = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) ++count;
  return count;
}

// Blocks that wait somewhere between their first move and their last: those with more than one digit that is not zero.
// The others are as many as there are messages: one for each digit value of each position.
inline int waiting_blocks(int ranks, std::int64_t radix) {
  int waiting = std::max(ranks - 1, 0);
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) waiting -= largest_digit(ranks, radix, weight);
  return waiting;
}

// The number of block `block` among these: of the blocks before it the first stays, and of each position the multiples
// of its weight move once.
inline int waiting_slot(std::int64_t radix, int block) {
  int slot = block - 1;
  std::int64_t weight = 1;
  for (; weight * radix <= block; weight *= radix) slot -= static_cast<int>(radix - 1);
  return slot - static_cast<int>(block / weight);
}

// A block that moves at some position.
struct Moved {
  int block;   // i
  int high;    // i / weight: its digits from this position upwards
  bool first;  // all lower digits are zero: this is the first time that the block moves
};

// Calls visit(Moved) for the blocks with digit `digit` at weight `weight`, in increasing order.
template <class Visit>
void for_each_moved(int ranks, std::int64_t radix, std::int64_t weight, int digit, Visit visit) {
  std::int64_t high = digit;
  for (std::int64_t run = digit * weight; run < ranks; run += weight * radix, high += radix) {
    const std::int64_t end = std::min<std::int64_t>(run + weight, ranks);
    for (std::int64_t block = run; block < end; ++block) {
      visit(Moved{static_cast<int>(block), static_cast<int>(high), block == run});
    }
  }
}

}  // namespace quadrille::plan::bruck
