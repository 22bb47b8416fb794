// Messages: what the executor needs of a message layer, how blocks are bound to memory, and the layer over the MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/device.hpp"
#include "mpi/tags.hpp"
#include "mpi/types.hpp"

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

// One block of a side as the user gave it, with what is to be known of its type.
struct Block {
  std::byte* address = nullptr;
  std::size_t count = 0;
  MpiType type{};
  TypeInfo info;
  std::size_t bytes() const { return count * info.size; }
};

// The addresses for one start of a schedule.
struct Binding {
  std::span<const Place> send;                 // [block]
  std::span<const Place> recv;                 // [block]
  std::byte* scratch = nullptr;                // schedule.scratch_blocks * block_bytes bytes
  std::size_t block_bytes = 0;                 // size of a scratch block
  std::span<const Place> scratch_places = {};  // [block] where the scratch blocks differ in size
};

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

// ---- Over MPI ----

// What a function of the MPI takes for a message.
struct Argument {
  std::byte* address = nullptr;
  int count = 0;
  MpiType type{};
  bool made = false;  // a type of ours, to be freed
};

// Point-to-point messages on a private communicator.
class MpiTransport final : public Transport {
 public:
  // `comm` is private to Quadrille and has MPI_ERRORS_RETURN. Only one message to a peer is matched at a time in the
  // order of starting, so one tag is enough for a call. Copies inside this rank have tags of their own.
  // Where `comm` is of more ranks than the schedule, `ranks` are the numbers there of those of the schedule.
  MpiTransport(MpiComm comm, int me, int tag = tags::rounds, const int* ranks = nullptr);
  MpiTransport& operator=(MpiTransport&&) = delete;
  ~MpiTransport() override;

  // Copies are a device's from now on, and done when copied() or finish_copies() is called: the first does nothing with
  // `beside`, as no message has to do with what is copied.
  void use_device(const memory::DevicePlace& place, bool beside);
  int finish_copies();

  // Of messages that are started from now on.
  void use_tag(int tag) { tag_ = tag; }
  // A message that is sent from now on is complete when its receiver has begun to take it, and not before.
  void send_synchronously() { send_ = &Mpi::Issend; }
  // Takes the memory for so many slots, but for pieces. Throws std::bad_alloc.
  void reserve(std::size_t slots);

  // A message of several places of plain bytes, of at most so many bytes together, is copied into one piece, and
  // out of one at the receiver; else, or without memory for the piece, it is a derived datatype. Making one costs more
  // than copying some KiB.
  void pack_up_to(std::size_t bytes) { most_packed_ = bytes; }

  // The messages that follow are those that followed the last call of this, in the same order and from and to the
  // same places. So derived datatypes are made for them once, and kept for as long as the transport lives.
  void repeat() {
    keeps_ = true;
    next_kept_ = 0;
  }

  int start_send(std::size_t slot, int peer, std::span<const Place> places) override;
  int start_receive(std::size_t slot, int peer, std::span<const Place> places) override;
  int all_done(std::size_t slots, bool block, bool& done) override;
  int any_done(std::size_t slots, bool block, bool poll, std::size_t& slot) override;
  void drop_received(bool drops) override { drops_ = drops; }
  std::size_t came(std::size_t slot) const override;
  int copy(const Place& from, const Place& to) override;
  int copied() override { return beside_ ? 0 : finish_copies(); }

  // Where a rank may fail: ends the messages in flight, on all ranks, and waits until they have ended.
  void end_messages();

  // Whether a message of slots [0, slots) is in flight.
  bool has_in_flight(std::size_t slots) const;

  // Receives a message of `bytes` for which there is no room. Into less room Open MPI 4.1 may write the whole message.
  int start_dropping(std::size_t slot, int peer, std::size_t bytes);

 private:
  // One piece for the places of a message in flight.
  struct Piece {
    std::vector<std::byte> memory;
    std::vector<Place> places;  // to be filled from it; empty if there is nothing to do
  };
  bool repack(std::size_t bytes, const Argument& from, const Argument& to, int& error);
  int send_to_self(const Argument& send, const Argument& receive);
  void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
  int argument_of(std::span<const Place> places, Argument& argument);

  MpiRequest* request(std::size_t slot);
  int start(bool sends, std::size_t slot, int peer, std::span<const Place> places);
  int started(std::size_t slot, int error);
  // Without address if these places are not packed, or there is no memory.
  Place piece_of(std::size_t slot, std::span<const Place> places);
  void unpack(std::size_t slot);
  int error_of(int error) const;
  int spread(int error) const;
  int wait_or_test_all(int count, bool block, int& flag);
  void wait_for_pending();

  int rank_of(int peer) const;

  MpiComm comm_;
  const int* ranks_;
  int me_;  // in comm_
  int tag_;
  decltype(Mpi::Isend) Mpi::*send_ = &Mpi::Isend;  // in the table, which a test may change
  bool drops_ = false;
  std::size_t most_packed_ = 0;
  std::vector<Piece> pieces_;  // [slot]
  MpiArray<MpiRequest> requests_;
  std::vector<MpiStatus> statuses_;  // of what was told to be complete, as the MPI writes them: see status_at()
  int last_error_ = 0;               // of the MPI then
  std::optional<memory::DeviceCopies> device_copies_;
  memory::DevicePlace device_place_;
  bool beside_ = true;
  bool keeps_ = false;
  std::size_t next_kept_ = 0;
  std::vector<Argument> kept_;  // those with a type of ours, in the order of their messages
};

}  // namespace quadrille::run
