// The executor's message layer over MPI point-to-point messages on a private communicator.
#pragma once

#include <optional>
#include <vector>

#include "memory/device.hpp"
#include "mpi/mpi.hpp"
#include "mpi/tags.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// What a function of the MPI takes for a message.
struct Argument {
  std::byte* address = nullptr;
  int count = 0;
  MpiType type{};
  bool made = false;  // a type of ours, to be freed
};

class MpiTransport final : public Transport {
 public:
  // `comm` is private to Quadrille and has MPI_ERRORS_RETURN. Only one message to a peer is matched at a time in the
  // order of starting, so one tag is enough for a call. Copies inside this rank have tags of their own.
  // Where `comm` is of more ranks than the schedule, `ranks` are the numbers there of those of the schedule.
  MpiTransport(MpiComm comm, int me, int tag = tags::rounds, const int* ranks = nullptr)
      : comm_(comm), ranks_(ranks), me_(rank_of(me)), tag_(tag) {}
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

  int rank_of(int peer) const { return ranks_ == nullptr ? peer : ranks_[peer]; }

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
