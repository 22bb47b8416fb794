// A stream of the library's own, for copies of calls that go on beside the program's work: nothing that the program
// puts into streams waits for it, and nobody waits on the host. A blocking call has the driver order its copies behind
// what the program has put into the NULL stream. A call that was only started may not be ordered behind what comes
// later, so it looks whether that of before is done, and begins then.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/context_token.hpp"
#include "memory/device.hpp"
#include "memory/device_driver.hpp"

namespace quadrille::memory {

class OwnStream {
 public:
  enum class Look : std::uint8_t { not_yet, done, failed };
  OwnStream& operator=(OwnStream&&) = delete;
  ~OwnStream() { give_back(); }

  // At a place, where it stays until it is taken at another one, or what was there went with its context. Where the
  // driver has no streams for us the NULL stream stands in.
  void take(const DevicePlace& place);
  bool is_at(const DevicePlace& place) const { return place_ == place; }
  void* stream() const { return stream_; }

  // Of what is in the NULL stream now: to be asked for later.
  void mark();
  Look look_at_mark() const;
  // Of all operations in the stream. After a failure none is in flight.
  Look look() const;

 private:
  void give_back();

  DevicePlace place_;
  void *stream_ = nullptr, *event_ = nullptr;
  ContextToken token_;
  bool is_marked_ = false;
};

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
