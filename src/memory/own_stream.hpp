// A stream of the library's own, for copies of calls that go on beside the program's work: nothing that the program
// puts into streams waits for it, and nobody waits on the host. A blocking call has the driver order its copies behind
// what the program has put into the NULL stream. A call that was only started may not be ordered behind what comes
// later, so it looks whether that of before is done, and begins then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/context_token.hpp"
#include "memory/device.hpp"
#include "memory/device_driver.hpp"

namespace quadrille::memory {

class OwnStream {
 public:
  enum class Look : std::uint8_t { not_yet, done, failed };
  OwnStream() : OwnStream(independent) {}
  explicit OwnStream(unsigned kind) : kind_(kind) { marks_.reserve(1); }
  OwnStream& operator=(OwnStream&&) = delete;
  ~OwnStream() { give_back(); }

  // Makes the stream at a place, with at least so many marks, unless it is there already. False if the driver refuses
  // the stream or a mark: then the next call tries again, and without a stream the NULL stream stands in. Throws
  // std::bad_alloc, but not for one mark.
  bool take(const DevicePlace& place, std::size_t marks = 1);
  const DevicePlace& place() const { return place_; }
  void* stream() const { return stream_; }

  // Of what is in the NULL stream now: to be asked for later.
  void mark();
  Look look_at_mark() const;
  // Of all operations in the stream. After a failure none is in flight.
  Look look() const;

  // Behind all that was put into the stream; false: that is done, and the driver has refused. While AtDevice of its
  // place lives.
  bool mark(std::size_t number);
  // Whether all operations before the mark are done, if it was set. Then, and when the stream is taken, it is not set
  // any more. After a failure none is in flight.
  Look look(std::size_t number);

 private:
  struct Mark {
    void* event;
    bool is_set;
  };
  void give_back();

  const unsigned kind_;
  DevicePlace place_;
  void* stream_ = nullptr;
  std::vector<Mark> marks_;  // of the stream, or the first one of the NULL stream
  ContextToken token_;
};
// One beside the program's work, whose progress is asked for mark by mark.
using CopyLane = OwnStream;

// One that no other call uses, made if need be, at that place. Goes back to those that are kept for later calls. Throws
// std::bad_alloc.
struct GiveStreamBack {
  void operator()(OwnStream* stream) const;
};
using LentStream = std::unique_ptr<OwnStream, GiveStreamBack>;
LentStream borrow_stream(const DevicePlace& place);
// For the end of MPI: keeps no more.
void free_streams();

// Is all done that was put into a stream of a place? Does not wait, but after a failure.
OwnStream::Look look_at_stream(const DevicePlace& place, void* stream);

}  // namespace quadrille::memory
