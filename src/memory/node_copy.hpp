// Copies of large blocks inside a node: through the cache or past it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "memory/copy.hpp"
#include "memory/copy_kernels.hpp"
#include "memory/stream_tuner.hpp"

namespace quadrille::memory {

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
//         stream_tuner.hpp searches.
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

// The copies of one call. done() comes before any other process is told that they are complete: memory/pairs.hpp asks
// for what it returns.
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
