// Streams of a device: the program's, in which calls take places, and the library's own.
//
// What the program puts into a stream is done in its order, later than the call that puts it there. A call may take its
// place in a stream without the host waiting for anything: a stream writes a word of the host's memory when it comes
// there, and waits until the host has written another one. So no function of the program is called by the driver, which
// could call neither the driver nor the MPI, and the processor that writes the word calls no driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device_driver.hpp"
#include "memory/held_memory.hpp"

namespace quadrille::memory {

// What streams write and wait for. One call at a time uses it, and puts its number into those that it needs, in turn.
struct alignas(64) StreamWords {
  std::atomic<std::uint32_t> ready = 0;  // by the stream: what lies before the call is done
  std::atomic<std::uint32_t> done = 0;   // by the host, for which the stream waits: so is the call
  std::atomic<std::uint32_t> over = 0;   // by the stream: the call's memory is not used any more
  // Where the stream itself copies from other ranks' memory:
  std::atomic<std::uint32_t> go = 0;      // by the host, for which the stream waits: it may
  std::atomic<std::uint32_t> copied = 0;  // by the stream: it has
  std::uintptr_t on_device = 0;           // where the device finds `ready`; the others follow it
  DevicePlace place;
};
enum class Word : std::uint8_t { ready, done, over, go, copied };

// Whether work can be put into a stream. False if it is none of the driver's, or what is put into it now is captured,
// or something else is that it would wait for. Asking does not disturb a capture.
bool is_usable_stream(void* stream);

// The context in which it works; of those without a handle of their own that which is current, or no place.
DevicePlace place_of_stream(void* stream);

// Words that streams of a place can reach, which AtDevice is for. Null if the driver has no such streams; `stream` is
// one of them, by which that is found out once. The words are all equal, and their number is the last that was used.
StreamWords* take_words(const DevicePlace& place, void* stream);
void give_words_back(StreamWords& words);
// For the end of MPI: no stream uses any.
void free_words();

// The place of a request in streams of a device (api/enqueue.cpp).
//
// Its starts by streams have numbers, one after the other. A start is a turn: the stream says when it has come, the
// request does its work, and lets the stream go on.
struct StreamTurn {
  StreamWords* words = nullptr;
  DevicePlace place;  // of the stream of the last turn
  // Under the lock of run::UnderWay: the turn that is awaited or in flight, and the last enqueued one.
  std::uint32_t now = 0, last = 0;
  // The driver has refused something in the middle: the request goes through all its turns without its streams, and its
  // memory is not used again, as some stream may still do so.
  bool is_broken = false;

  StreamTurn& operator=(StreamTurn&&) = delete;
  ~StreamTurn() {
    if (words != nullptr && !is_broken) give_words_back(*words);
  }
  bool has_come() const { return is_broken || words->ready.load(std::memory_order_acquire) == now; }
  // The streams have passed all turns.
  bool is_over() const { return !is_broken && words->over.load(std::memory_order_acquire) == last; }
};

// While AtDevice lives. False if the driver refuses.
bool write_in_stream(void* stream, const StreamWords& words, Word word, std::uint32_t value);
bool wait_in_stream(void* stream, const StreamWords& words, Word word, std::uint32_t value);

// Waits on the host. False if the driver refuses, or has refused something that the stream had to do.
bool wait_for_stream(void* stream);
// Will streams of this place never do anything any more? Does not wait.
bool is_lost(const DevicePlace& place);

// ---- Streams of the library ----

// One for copies of calls that go on beside the program's work: nothing that the program puts into streams waits for
// it, and nobody waits on the host. A blocking call has the driver order its copies behind what the program has put
// into the NULL stream. A call that was only started may not be ordered behind what comes later, so it looks whether
// that of before is done, and begins then.
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
