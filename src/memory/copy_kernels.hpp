// Copies of bytes between buffers of a node: of small blocks inline, of large ones by kernels.
//
// Idea    An ordinary ("temporal") copy brings the destination's lines into the cache before it
//         overwrites them: a read for ownership that is of no use, and which throws out what the
//         cache held. Streaming (non-temporal) stores write whole lines past the cache. They win
//         once the data does not fit the caches; below that they cost the reader a trip to memory.
//         The hybrid copy moves the first T bytes of a block in the ordinary way, by the C
//         library, and streams the rest.
// Source  HINT, sections II-B and V-E, algorithm 4. The choice of T is in node_copy.hpp.
// Cost    Bus transactions a line: ordinary 3 (read source, read for ownership, write back),
//         streaming 2. Small copies: no difference, streaming is never used below two lines.
//
// Example: 300 bytes to address 1000 (40 in a line of 64), T = 60. The ordinary copy takes bytes
// 0..87, so that the rest begins on a line (1088 = 17 * 64); streaming stores take the three lines
// of bytes 88..279; the last 20 bytes do not fill a line and are stored in the ordinary way.
//
// All copies are between memory that does not overlap, at any alignment, and never touch a byte
// outside of it. They may be made by several threads at once and never fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace quadrille::memory {

// Copies `bytes` bytes between memory that does not overlap. For a few bytes a call of memcpy costs more than the copy.
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    // The first and the last eight bytes; they may overlap.
    std::uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

// The kernel for one instruction set.
struct CopyKernels {
  std::string_view isa;  // as Highway names it: AVX3 (is AVX-512), AVX2, SSE4, SSSE3, NEON, ...
  // Copies `bytes` bytes past the cache, as far as they fill lines of the destination. Call
  // stream_fence() before telling another core that the data is there.
  void (*streaming)(std::byte* to, const std::byte* from, std::size_t bytes);
};

// The best kernels for this machine. Chosen at the first call; the same ever after.
const CopyKernels& copy_kernels();

// All kernels that this machine can run, the best first; there is at least one.
std::span<const CopyKernels> all_supported_kernels();

// Orders this core's streaming stores before its later stores. It alone publishes nothing: another
// core sees the data only once a flag says so. So: copy, stream_fence(), then store the flag with
// release. A release store without the fence is not enough on x86, where streaming stores are not
// ordered with others. One fence after many copies will do.
class Fenced;
Fenced stream_fence();

// What somebody shows who tells others that his copies are done: a fence was passed, or there was nothing to fence.
class Fenced {
 public:
  static Fenced nothing_streamed() { return {}; }

 private:
  Fenced() = default;
  friend Fenced stream_fence();
};

// HINT's hybrid copy: the first `threshold` bytes (rounded up to where a line of the destination
// begins) through the cache, the rest past it. 0 streams everything; a threshold of `bytes` or more
// streams nothing. Needs stream_fence() as `streaming` does.
void hybrid_copy(const CopyKernels& kernels, std::byte* to, const std::byte* from, std::size_t bytes,
                 std::size_t threshold);

}  // namespace quadrille::memory
