// Where the ranks of a node meet to copy for each other: all come, all copy, all have copied; and what each says of its
// blocks when it comes.
//
// Idea    A rank has one line for a call, in which it writes where its blocks are: the first one and the distance
//         between them, if they are of one size and at equal distances, as those of Alltoall and Allgather are. Else a
//         rank says where it has a table of them. A rank that copies a block reads one line of its source and one of
//         its destination, however many blocks it copies for them. The lines of all ranks lie side by side: in few
//         pages, and not in the same places of a cache, as they would in regions of whole pages. With few ranks each
//         looks at the line of each other, which it reads for the copies anyway. With many they meet in a tree along
//         L3 caches and packages (MeetingTree below): a rank waits for its children, tells its parent, and is
//         told by it that all are there. What ranks have to say (may all be copied; how long is the longest block) goes
//         up and down with it.
// Cost    In the tree a rank looks at the lines of its children and its parent, instead of P - 1. Waits follow each
//         other, two for each level; one of those up and one of those down are between packages.
// Order   A release by each rank on the way, and an acquire by the next, bring what the first has written to the last.
//         Nobody gets through a meeting before all have come to it, so a rank is at most one meeting ahead of another,
//         and there are two words, one for the beginning of a call and one for its end: what is overwritten was read.
//         What a rank says of its blocks is read between the two, so one line is enough. Only equality of numbers is
//         tested, and the number before is always that of the last call.
//
// Example, radix 2, 6 ranks on one cache: 0 is the parent of 1 and 2, 1 that of 3 and 4, 2 that of 5. Rank 3 comes and
// tells 1, 5 tells 2; when 4 has told 1, and 1 and 2 have told 0, all are there: 0 tells 1 and 2, which tell the
// others. With ranks 3 to 5 on another cache, 0 is the parent of 1, 2 and 3, and 3 that of 4 and 5: one wait each way
// is between the caches, instead of three.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/copy_kernels.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

// The number of a call in shared memory, here and in memory/control_memory.hpp.
#if defined(QUADRILLE_NARROW_SEQUENCE)
using Sequence = std::uint8_t;  // tests: wraps after 256 calls
#else
using Sequence = std::uint32_t;
#endif

// Where a block of a rank is.
struct BlockPlace {
  std::uint64_t at;  // offset in its owner's shared heap, or address in its owner; undefined if bytes == 0
  std::uint64_t bytes : 63;
  std::uint64_t by_address : 1;
  bool operator==(const BlockPlace&) const = default;
};

// Writes a place down for others. What is as it was is not written: it may stay in their caches.
inline void write_down(BlockPlace& place, const BlockPlace& now) {
  if (place != now) place = now;
}

// Where the blocks of one side of a rank are.
struct BlockRule {
  std::uint64_t at;          // of the first block, as in BlockPlace
  std::uint64_t bytes : 62;  // of each
  std::uint64_t by_address : 1;
  std::uint64_t regular : 1;  // else there is a table; for neighbours the rest says where
  std::int64_t distance;      // from one block to the next
  BlockPlace block(int number) const { return {at + static_cast<std::uint64_t>(distance * number), bytes, by_address}; }
};

enum class Owned : std::uint8_t { send, recv };

// Finds the rule of blocks that are given one by one, or writes the table.
class RuleFinder {
 public:
  explicit RuleFinder(BlockPlace* table) : table_(table) {}
  void add(const BlockPlace& place) {
    if (count_ == 0) {
      rule_ = {place.at, place.bytes, place.by_address, 1, 0};
    } else if (count_ == 1) {
      rule_.distance = static_cast<std::int64_t>(place.at - rule_.at);
    }
    if (rule_.regular != 0 && place != rule_.block(count_)) {
      for (int i = 0; i < count_; ++i) table_[i] = rule_.block(i);
      rule_.regular = 0;
    }
    if (rule_.regular == 0) table_[count_] = place;
    ++count_;
  }
  const BlockRule& rule() const { return rule_; }

 private:
  BlockPlace* table_;
  BlockRule rule_{0, 0, 0, 1, 0};
  int count_ = 0;
};

// ---- The tree by which many ranks of a node meet, built from where they run ----
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

// The edges of a rank.
struct MeetingTree {
  int radix = 0;              // 0: no tree, each rank looks at each other
  int parent = -1;            // -1: this rank is the root
  std::vector<int> children;  // the nearest first
};

// The edges of rank `me`; rank r runs at places[r].
MeetingTree meeting_tree(std::span<const sys::Place> places, int me, int radix);

class Meeting {
 public:
  // Children of a rank in the tree; 0: no tree.
  static constexpr int flat = 0;
  // Ranks that share processors come one after the other, and each step of a tree may cost them a turn.
  static int radix_for(int ranks, bool crowded) { return crowded || ranks <= 16 ? flat : 8; }
  static std::size_t bytes(int ranks) { return 3 * sys::cache_line * static_cast<std::size_t>(ranks); }

  Meeting() = default;
  // `base` is zeroed shared memory of bytes(ranks) bytes, at the beginning of a line. All ranks have edges of the same
  // tree, or none has.
  Meeting(std::byte* base, int ranks, int me, MeetingTree tree = {})
      : base_(base), ranks_(ranks), me_(me), tree_(std::move(tree)) {}

  // A call begins. All ranks make the same calls in the same order.
  void begin() { ++number_; }
  void set_rule(Owned which, const BlockRule& rule) { entry(me_).rules[static_cast<std::size_t>(which)] = rule; }
  // Of any rank when all have come; of this one at once.
  const BlockRule& rule(Owned which, int rank) const { return entry(rank).rules[static_cast<std::size_t>(which)]; }
  std::uint64_t generation_of(int rank) const { return entry(rank).generation; }

  // This rank's blocks are written down; `shares`: all of them can be reached. `generation` is that of the addresses
  // among them (memory/reach.hpp).
  void come(bool shares, std::uint64_t generation) {
    entry(me_).generation = generation;
    say(Moment::come, shares, longest(entry(me_)));
  }
  // This rank will touch no peer's memory any more in this call; `copied`: it could do all its copies. What it copied
  // is there.
  void finish(bool copied, Fenced) { say(Moment::finished, copied, 0); }
  // Goes on waiting for the others, without waiting. True if it got further.
  bool advance() { return tree_.radix == flat ? look_at_all() : look_at_tree(); }
  // All have come, or have finished, whatever was said last; what all of them said; and the longest block that one of
  // them sends to anybody, or no_limit if somebody sends blocks of different sizes.
  bool met() const { return step_ == Step::over; }
  bool all_say_so() const { return yes_; }
  std::uint64_t longest_sent() const { return longest_; }
  static constexpr std::uint64_t no_limit = UINT64_MAX;

 private:
  enum class Moment : std::uint8_t { come, finished };
  enum class Step : std::uint8_t { over, others, parent };  // others: all, or the children in the tree
  struct alignas(sys::cache_line) Entry {
    std::atomic<Sequence> words[2];  // by moment; without a tree
    std::uint64_t generation;
    BlockRule rules[2];
  };
  static_assert(sizeof(Entry) == sys::cache_line);
  struct alignas(sys::cache_line) Told {
    std::atomic<Sequence> words[2];  // by moment
    std::uint64_t longest;
  };

  // Lines of one kind: entries, what a rank tells its parent, what it tells its children.
  std::byte* line(std::size_t kind, int rank) const {
    return base_ + sys::cache_line * (kind * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank));
  }
  Entry& entry(int rank) const { return *reinterpret_cast<Entry*>(line(0, rank)); }
  Told& up(int rank) const { return *reinterpret_cast<Told*>(line(1, rank)); }
  Told& down(int rank) const { return *reinterpret_cast<Told*>(line(2, rank)); }
  int children() const { return static_cast<int>(tree_.children.size()); }

  static std::uint64_t longest(const Entry& one) {
    return one.rules[0].regular != 0 ? std::uint64_t{one.rules[0].bytes} : no_limit;
  }
  // The number of the call and what is said.
  Sequence word(bool yes) const { return static_cast<Sequence>(number_ * 2 + (yes ? 1 : 0)); }
  // False as long as it is not of this call; else takes what it says.
  bool heard(const std::atomic<Sequence>& one) {
    const Sequence said = one.load(std::memory_order_acquire);
    if (static_cast<Sequence>(said | 1U) != word(true)) return false;
    yes_ = yes_ && (said & 1U) != 0;
    return true;
  }

  void say(Moment moment, bool yes, std::uint64_t longest_of_mine) {
    moment_ = static_cast<std::size_t>(moment);
    yes_ = yes;
    if (moment == Moment::come) longest_ = longest_of_mine;
    next_ = 0;
    step_ = Step::others;
    if (tree_.radix == flat) entry(me_).words[moment_].store(word(yes), std::memory_order_release);
  }
  bool look_at_all() {
    const int first = next_;
    for (; next_ < ranks_; ++next_) {
      if (next_ == me_) continue;
      if (!heard(entry(next_).words[moment_])) return next_ > first;
      if (moment_ == 0) longest_ = std::max(longest_, longest(entry(next_)));
    }
    step_ = Step::over;
    return true;
  }
  bool look_at_tree() {
    const int first = next_;
    if (step_ == Step::others) {
      for (; next_ < children(); ++next_) {
        const Told& told = up(tree_.children[static_cast<std::size_t>(next_)]);
        if (!heard(told.words[moment_])) return next_ > first;
        if (moment_ == 0) longest_ = std::max(longest_, told.longest);
      }
      if (tree_.parent < 0) return tell_children();
      tell(up(me_));
      step_ = Step::parent;
      return true;
    }
    if (step_ != Step::parent || !heard(down(tree_.parent).words[moment_])) return false;
    if (moment_ == 0) longest_ = down(tree_.parent).longest;
    return tell_children();
  }
  void tell(Told& told) const {
    if (moment_ == 0) told.longest = longest_;
    told.words[moment_].store(word(yes_), std::memory_order_release);
  }
  bool tell_children() {
    if (!tree_.children.empty()) tell(down(me_));
    step_ = Step::over;
    return true;
  }

  std::byte* base_ = nullptr;
  int ranks_ = 0, me_ = 0;
  MeetingTree tree_;
  Sequence number_ = 0;
  // Of the call in flight.
  std::size_t moment_ = 0;
  Step step_ = Step::over;
  int next_ = 0;  // rank, or number of a child, that has not been heard
  bool yes_ = false;
  std::uint64_t longest_ = 0;
};

}  // namespace quadrille::memory
