// Copies of large blocks inside a node: through the cache or past it.
#pragma once

#include <cstddef>

#include "memory/copy.hpp"
#include "memory/copy_kernels.hpp"

namespace quadrille::memory {

// How the ranks of a node copy. A call whose blocks together do not stay in a cache is copied with
// streaming stores.
struct CopyPlan {
  std::size_t stream_from = SIZE_MAX;  // bytes that a rank receives in a call from which on it streams
  std::size_t temporal_bytes = 0;      // of each block, that go through the cache all the same (HINT's T)
};

// The copies of one call. Call done() before any other process is told that they are complete.
class NodeCopy {
 public:
  // `call_bytes` is what this rank copies in the call.
  NodeCopy(const CopyPlan& plan, std::size_t call_bytes)
      : streams_(call_bytes >= plan.stream_from), temporal_(plan.temporal_bytes) {}

  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (streams_) {
      hybrid_copy(copy_kernels(), to, from, bytes, temporal_);
    } else {
      copy_bytes(to, from, bytes);
    }
  }
  void done() const {
    if (streams_) stream_fence();
  }

 private:
  bool streams_;
  std::size_t temporal_;
};

}  // namespace quadrille::memory
