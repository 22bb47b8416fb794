// Which large copies of a communicator go past the cache: found out by trying while the program runs.
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
// This file is pure: the caller copies and measures. Which candidate of a round is the best says tuner/contest.hpp.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "tuner/contest.hpp"

namespace quadrille::memory {

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
  std::vector<SizeClass> classes_;
};

}  // namespace quadrille::memory
