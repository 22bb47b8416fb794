// What the executor needs of a message layer, and how blocks are bound to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quadrille::run {

// A datatype as the message layer knows it. 0 means plain bytes.
using TypeHandle = std::uintptr_t;

// Where a block is: `count` elements of `type` at `address`; `bytes` of data, without gaps counted.
// `dense`: the data are `bytes` consecutive bytes.
struct Place {
  std::byte* address = nullptr;
  std::size_t count = 0;
  std::size_t bytes = 0;
  TypeHandle type = 0;
  bool dense = true;
};

// Of plain bytes.
inline Place plain_place(std::byte* address, std::size_t bytes) { return {address, bytes, bytes, 0, true}; }

// The addresses for one start of a schedule.
struct Binding {
  std::span<const Place> send;                 // [block]
  std::span<const Place> recv;                 // [block]
  std::byte* scratch = nullptr;                // schedule.scratch_blocks * block_bytes bytes
  std::size_t block_bytes = 0;                 // size of a scratch block
  std::span<const Place> scratch_places = {};  // [block] where the scratch blocks differ in size
};

// Keeps the first error. Peers wait for us, so an error never ends a traversal.
inline void keep(int& first, int error) {
  if (first == 0) first = error;
}

// A message layer. Requests live in numbered slots that the executor reuses. Messages between two
// ranks arrive in the order in which they were started. Functions return an error code, 0 for success.
class Transport {
 public:
  virtual ~Transport() = default;
  // Starts a message of these places, in order, without gaps between them.
  virtual int start_send(std::size_t slot, int peer, std::span<const Place> places) = 0;
  virtual int start_receive(std::size_t slot, int peer, std::span<const Place> places) = 0;
  // Are all requests of slots [0, slots) complete? If `block`, wait until they are. With an error, too, all are: it
  // waits for the others.
  virtual int all_done(std::size_t slots, bool block, bool& done) = 0;
  // A slot among [0, slots) whose request has completed since it was started, each reported once;
  // `slots` if there is none. If `block`, wait for one. `poll` asks for testany instead of waitany.
  virtual int any_done(std::size_t slots, bool block, bool poll, std::size_t& slot) = 0;
  // From now on what is received is dropped, for which there is no memory, and that it did not fit is no error; or not.
  virtual void drop_received(bool) {}
  // Bytes that came in this slot, which the last all_done() or any_done() told to be complete; none if that failed.
  // SIZE_MAX where it is not known.
  virtual std::size_t came(std::size_t) const { return SIZE_MAX; }
  // Moves one block inside this rank; the two places hold the same data in possibly different types.
  virtual int copy(const Place& from, const Place& to) = 0;
  // The copies of a step have been asked for: messages that follow may go from and to the same places. Returns an
  // error.
  virtual int copied() { return 0; }
};

}  // namespace quadrille::run
