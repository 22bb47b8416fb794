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

}  // namespace quadrille::memory
