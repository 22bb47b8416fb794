// Rings of chunks, one a rank of a node, in shared memory that the drivers of the ranks know: a device's own engines
// copy to it and from it (Namugwanya et al., section 3.2, in chunks).
//
// Layout  For each rank a line that says how many chunks it has published, then for each rank a row of how many it has
// taken
//         of each other, and tables of where each rank's blocks are; then the rings, from the beginning of a page.
// Order   A rank publishes a chunk when the driver has said that the copy into it is done, with a release; who has seen
// that,
//         with an acquire, may copy out of it. Likewise it says that it has taken one when the copy out of it is done.
//         The numbers go on from call to call and are of 64 bits: they never wrap.
// Life    A rank registers all rings when it first has to do with a device's memory, and takes them back before it
// leaves
//         the memory: at the end of the communicator. A registration goes with its context; then it is made anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/context_token.hpp"
#include "memory/device.hpp"
#include "memory/meeting.hpp"
#include "memory/own_stream.hpp"

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
  std::byte* base_;
  const int ranks_;
  const std::size_t ring_bytes_;
  std::byte* rings_;
  ContextToken token_;  // of what it is registered in
};

// A stream of ours beside the program's work, whose progress is asked for mark by mark.
class CopyLane {
 public:
  using Look = OwnStream::Look;
  CopyLane& operator=(CopyLane&&) = delete;
  ~CopyLane() { give_back(); }

  // At a place, with so many marks, unless it is there. False if the driver refuses. Throws std::bad_alloc.
  bool take(const DevicePlace& place, std::size_t marks);
  const DevicePlace& place() const { return place_; }
  void* stream() const { return stream_; }
  // These two while AtDevice of its place lives. Behind all that was put into the stream; false: that is done, and the
  // driver has refused.
  bool mark(std::size_t number);
  // Whether all copies before the mark are done. After a failure none is in flight.
  Look look(std::size_t number) const;
  // Of all that was put into the stream.
  Look look_at_all() const { return look_at_stream(place_, stream_); }

 private:
  void give_back();
  DevicePlace place_;
  void* stream_ = nullptr;
  std::vector<void*> events_;
  ContextToken token_;
};

}  // namespace quadrille::memory
