// How much of a block the hybrid copy moves through the cache: the search for the threshold T.
//
// Idea    With P ranks that share the bandwidth, each can keep about L2 / P of what it copies in
// the
//         cache. That is the start. For very large blocks less is better still, so T is halved for
//         as long as that helps.
// Source  HINT, section V-E: get_runtime_threshold of algorithm 4.
// Cost    At most log2(start / least) + 2 candidates, each measured `repeats` times.
//
// Example: L2 of 1 MiB, 32 ranks: start 32 KiB. Times for a copy with T = 32, 16, 8, 4 KiB: 50, 46,
// 43, 44 us. 8 KiB is kept; what lies below 4 KiB is not tried.
#pragma once

#include <cstddef>
#include <functional>

namespace quadrille::memory {

// Where the search starts: L2 / P in bytes, in whole lines and at least one.
//   l2_bytes  size of a core's second-level cache; 0 if unknown, then 1 MiB is assumed
//   ranks     ranks that copy at the same time on this node; less than 1 counts as 1
std::size_t first_threshold(std::size_t l2_bytes, int ranks);

struct ThresholdSearch {
  int repeats = 3;     // the least of so many measurements counts: disturbances only ever add time
  double gain = 0.02;  // halving helps if it saves more than this part of the time
};

// Returns the threshold in bytes at which the search ends.
//   start    first candidate
//   least    smaller candidates are not tried, except 0 (streaming alone), which follows the last
//   one measure  time of a copy with a threshold of so many bytes, in any unit
// The sequence of calls depends on nothing but the times. So ranks whose `measure` returns the same
// (say, the maximum over all of them) make the same calls and come to the same threshold. A time
// that is not a number never helps.
std::size_t search_threshold(std::size_t start, std::size_t least,
                             const std::function<double(std::size_t threshold)>& measure,
                             const ThresholdSearch& search = {});

}  // namespace quadrille::memory
