// The tree by which many ranks of a node meet (memory/meeting.hpp), built from where they run.
//
// Idea    The ranks of an L3 cache are numbered as a heap: member i is the parent of `radix` members from radix * i + 1
//         on. The first ranks of the caches of a package form a heap, too, and so do the first ranks of the packages. A
//         rank has its parent in the smallest group of which it is not the first, so rank 0 is the root.
// Cost    However many ranks a package has, one line goes from it to the others and one comes from them; likewise for a
//         cache in its package. In one heap of all ranks nearly each rank outside the first cache has a line of its own
//         across. The first rank of a group has up to three times `radix` children, and the tree has more levels.
//
// Example, radix 8, two packages of two caches with three ranks each, in order. Children:
//   rank 0: 1 2 (cache), 3 (package), 6 (machine)     rank 3: 4 5
//   rank 6: 7 8 (cache), 9 (package)                  rank 9: 10 11
// Ranks of one place, or of none, form one heap: rank 0 has 1 to 8, and rank 1 has 9 to 11.
#pragma once

#include <span>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::memory {

// The edges of a rank.
struct MeetingTree {
  int radix = 0;              // 0: no tree, each rank looks at each other
  int parent = -1;            // -1: this rank is the root
  std::vector<int> children;  // the nearest first
};

// The edges of rank `me`; rank r runs at places[r].
MeetingTree meeting_tree(std::span<const sys::Place> places, int me, int radix);

}  // namespace quadrille::memory
