// How much of a block the hybrid copy moves through the cache: where the search for the threshold T starts.
//
// Idea    With P ranks that share the bandwidth, each can keep about L2 / P of what it copies in the cache. From there
//         stream_tuner.hpp searches.
// Source  HINT, section V-E.
#pragma once

#include <cstddef>

namespace quadrille::memory {

// L2 / P in bytes, in whole lines and at least one.
//   l2_bytes  size of a core's second-level cache; 0 if unknown, then 1 MiB is assumed
//   ranks     ranks that copy at the same time on this node; less than 1 counts as 1
std::size_t first_threshold(std::size_t l2_bytes, int ranks);

// Last-level caches in bytes; 0 if unknown.
struct LastCaches {
  std::size_t mine = 0;  // those of the processors that this rank may use
  std::size_t all = 0;   // those of the whole node
};

// Bytes that a rank must copy in a call before streaming stores are tried: with fewer, what the ranks of a node move
// fits their last-level caches, and a program that reads what it received finds it there. Ranks are taken to be spread
// evenly over the node; where they are not, a rank streams later than it could.
std::size_t least_streamed(const LastCaches& caches, std::size_t l2_bytes, int ranks);

}  // namespace quadrille::memory
