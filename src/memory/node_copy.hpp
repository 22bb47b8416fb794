// Copies of large blocks inside a node: through the cache or past it, and how that is chosen.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "memory/copy_kernels.hpp"
#include "tuner/contest.hpp"

namespace quadrille::memory {

// ---- Which large copies of a communicator go past the cache: found out by trying while the program runs ----
//
// Idea    Whether streaming stores win depends on the processor, on how many ranks copy at once, and on
//         what the program does with the data. So the first calls of each size class try: all of a block
//         through the cache, its first T = L2 / P bytes (the hybrid copy), none. Then T is halved for as
//         long as that helps. What was fastest is kept.
// Source  HINT, section V-E, algorithm 4 (get_runtime_threshold): T starts at L2 / P and is halved while
//         that helps. The copy all through the cache is ours.
// Cost    18 calls of a size class are steered, 12 more for each halving; every second one is timed.
//         After that: a look into a table, and 18 to 24 calls for each check of what is kept (tuner::Pause).
//
// Each rank decides for itself: how a rank copies is seen by no other. A size class is a power of two of
// the bytes that a rank copies in a call; times are compared per byte. The first call of a class is left
// out: it meets pages that nobody has touched yet. So is the first of each two calls with one candidate:
// what it finds in the cache was left by another candidate. The least time counts, because disturbances
// only ever add time.
//
// Example, L2 of 1 MiB and 4 ranks, T starts at 256 KiB, ns per KiB: all temporal 90, T = 256 KiB 80,
// streaming 82. T = 128 KiB 70 against 80: kept. T = 64 KiB 71 against 70: does not help. The class
// keeps T = 128 KiB.
//
// The tuner is pure: the caller copies and measures. Which candidate of a round is the best says tuner/contest.hpp.

// As T: the whole block goes through the cache.
inline constexpr std::size_t all_temporal = std::numeric_limits<std::size_t>::max();

class StreamTuner {
 public:
  // What is given up must be slower by a fiftieth. Smaller T than `least` are not tried, but streaming alone is. After
  // so many calls that told nothing a class stays as it is.
  static constexpr tuner::Rules rules{.counts = tuner::Counts::least, .must_take = 0.98};
  static constexpr std::size_t least = 4096;
  static constexpr int most_unusable = 64;

  // Calls that copy fewer than `from` bytes are all temporal. `start` is the first T in bytes.
  StreamTuner(std::size_t from, std::size_t start) : from_(from), start_(start) {}

  // How the next call copies.
  struct Use {
    std::size_t temporal_bytes = all_temporal;  // T
    bool timed = false;                         // then record() tells how long it took
    std::size_t size_class = 0;
  };
  // For a call that copies about `call_bytes` bytes.
  Use next(std::size_t call_bytes);

  // A timed call has copied `bytes` bytes with the kernels in `time`, in any unit. If too little was
  // copied to tell anything, `bytes` is 0.
  void record(const Use& use, std::size_t bytes, double time);

  // Another race times the next calls: during at most so many of them, no check begins.
  static constexpr int calls_held = 64;
  void hold_checks() { held_ = calls_held; }

  // Whether the size class of `call_bytes` has ended its trials.
  bool has_decided(std::size_t call_bytes) const { return state_of(call_bytes) == State::decided; }
  // Whether calls of that class are being measured: they have come, and each timed one told something.
  bool is_measuring(std::size_t call_bytes) const { return state_of(call_bytes) == State::measuring; }

 private:
  struct SizeClass {
    std::vector<std::size_t> candidates;  // their T; the first is the one to beat, alone when it is decided
    std::size_t calls = 0;                // of the visit: two with each, of which the second is timed
    int unusable = 0;
    std::size_t halved = 0;  // the T to try after this round
    tuner::Contest round;    // by the time per byte
    tuner::Pause pause;
    bool decided() const { return candidates.size() == 1; }
  };
  enum class State { unknown, measuring, useless, decided };
  std::size_t class_of(std::size_t call_bytes) const;
  State state_of(std::size_t call_bytes) const;
  static void begin_round(SizeClass& c, std::vector<std::size_t> candidates);
  static void end_round(SizeClass& c);
  void search(SizeClass& c) const;  // also whether what is kept is still the best
  static void decide(SizeClass& c, std::size_t best);

  std::size_t from_, start_;
  int held_ = 0;  // calls
  std::vector<SizeClass> classes_;
};

// The user's wish for streaming stores (QUADRILLE_STREAM).
struct StreamWish {
  enum class Mode { choose, off, on, from } mode = Mode::choose;
  std::size_t from = 0;  // bytes that a rank copies in a call
};
// Reads "auto", "off", "on" (all of every large block) or a number of bytes: calls that copy so much in a
// rank stream what exceeds its share of the cache. Returns an empty string, or what is wrong.
std::string parse_stream(const std::string& text, StreamWish& wish);

// ---- How much of a block the hybrid copy moves through the cache ----
//
// Idea    With P ranks that share the bandwidth, each can keep about L2 / P of what it copies in the cache. From there
//         StreamTuner searches.
// Source  HINT, section V-E.

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

// How a rank copies in the calls of a communicator.
struct CopyPlan {
  std::size_t stream_from = all_temporal;  // bytes a call from which on it streams
  std::size_t temporal_bytes = 0;          // of each block, that go through the cache all the same (HINT's T)
  std::optional<StreamTuner> tuner;        // if there is one, it decides
  Fenced (*fence)() = stream_fence;        // tests count
};
// `l2_bytes` of a core, 0 if unknown; `ranks` that copy at the same time on the node. `measured`: bytes a call from
// which on a tuning table streams, 0 without one. A table, and the tuner, stream only what exceeds least_streamed().
CopyPlan copy_plan(const StreamWish& wish, std::size_t l2_bytes, const LastCaches& last, int ranks,
                   std::size_t measured = 0);

// The copies of one call. done() comes before any other process is told that they are complete:
// memory/control_memory.hpp asks for what it returns.
class NodeCopy {
 public:
  // `call_bytes` is about what this rank copies in the call. The plan must outlive the copies.
  NodeCopy(CopyPlan& plan, std::size_t call_bytes) : plan_(plan), call_bytes_(call_bytes) {
    if (plan.tuner) {
      use_ = plan.tuner->next(call_bytes);
    } else if (call_bytes >= plan.stream_from) {
      use_.temporal_bytes = plan.temporal_bytes;
    }
  }

  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (!use_.timed) return copy(to, from, bytes);
    // Only the copies are timed, not the waiting for peers between them.
    const Clock::time_point begin = Clock::now();
    copy(to, from, bytes);
    time_ += Clock::now() - begin;
    copied_ += bytes;
  }

  Fenced done() {
    const bool streams = use_.temporal_bytes != all_temporal;
    if (!use_.timed) return streams ? plan_.fence() : Fenced::nothing_streamed();
    const Clock::time_point begin = Clock::now();
    const Fenced fenced = streams ? plan_.fence() : Fenced::nothing_streamed();
    time_ += Clock::now() - begin;
    // If most blocks took another way, the rest says little of this size.
    plan_.tuner->record(use_, copied_ >= call_bytes_ / 2 ? copied_ : 0, static_cast<double>(time_.count()));
    use_.timed = false;
    return fenced;
  }

 private:
  using Clock = std::chrono::steady_clock;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (use_.temporal_bytes >= bytes) {
      copy_bytes(to, from, bytes);
    } else {
      hybrid_copy(copy_kernels(), to, from, bytes, use_.temporal_bytes);
    }
  }

  CopyPlan& plan_;
  std::size_t call_bytes_;
  StreamTuner::Use use_;
  Clock::duration time_{0};
  std::size_t copied_ = 0;
};

}  // namespace quadrille::memory
