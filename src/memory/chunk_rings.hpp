// Rings of chunks, one a rank of a node, in shared memory that the drivers of the ranks know: a device's own engines
// copy to it and from it (Namugwanya et al., section 3.2, in chunks).
//
// Layout  For each rank a line that says how many chunks it has published, a row of how many it has taken of each
//         other, and a table of where its blocks are; then the rings, from the beginning of a page.
// Order   A rank publishes a chunk when the driver has said that the copy into it is done, with a release; who has seen
//         that, with an acquire, may copy out of it. Likewise it says that it has taken one when the copy out of it is
//         done. The numbers go on from call to call and are of 64 bits: they never wrap.
// Life    A rank registers all rings when it first has to do with a device's memory, and takes them back before it
//         leaves the memory: at the end of the communicator. A registration goes with its context; then it is made
//         anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/held_memory.hpp"
#include "memory/meeting.hpp"

namespace quadrille::memory {

class ChunkRings {
 public:
  static std::size_t bytes(int ranks, std::size_t ring_bytes);

  // `base` is zeroed shared memory of bytes() bytes, at the beginning of a page.
  ChunkRings(std::byte* base, int ranks, std::size_t ring_bytes);
  ChunkRings& operator=(ChunkRings&&) = delete;
  ~ChunkRings();

  std::size_t ring_bytes() const { return ring_bytes_; }
  std::byte* ring(int rank) const { return rings_ + ring_bytes_ * static_cast<std::size_t>(rank); }
  using Count = std::atomic<std::uint64_t>;
  // So many chunks of `rank` are published; `by` has taken all before this one of `from`.
  Count& published(int rank) const;
  Count& taken(int by, int from) const;
  // Of the call in flight, for the rank that copies in another's place: send blocks by destination, recv blocks by
  // source.
  BlockPlace* blocks(Owned side, int rank) const;

  // Makes the rings known to the driver, for all its contexts, unless they are. False if it refuses.
  bool register_with(const DevicePlace& place);

  // The number of this rank's next chunk; of the calls.
  std::uint64_t next = 0;

 private:
  std::byte* part(int rank, std::size_t at) const;
  std::byte* base_;
  const int ranks_;
  const std::size_t ring_bytes_;
  std::byte* rings_;
  ContextToken token_;  // of what it is registered in
};

}  // namespace quadrille::memory
