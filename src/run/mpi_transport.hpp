// The executor's message layer over MPI point-to-point messages on a private communicator.
#pragma once

#include <vector>

#include "mpi/mpi.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

inline TypeHandle to_handle(MPI_Datatype type) { return (TypeHandle)type; }  // int or pointer

class MpiTransport final : public Transport {
 public:
  // `comm` is private to Quadrille and has MPI_ERRORS_RETURN; `self_tag` is for copies inside this rank. Only
  // one message to a peer is matched at a time in the order of starting, so one tag is enough for a call.
  MpiTransport(MPI_Comm comm, int me, int self_tag = 2, int tag = 1)
      : comm_(comm), me_(me), self_tag_(self_tag), tag_(tag) {}

  // A message of several places of plain bytes, of at most so many bytes together, is copied into one piece, and
  // out of one at the receiver; else it is a derived datatype. Making one costs more than copying some KiB.
  void pack_up_to(std::size_t bytes) { most_packed_ = bytes; }

  int start_send(std::size_t slot, int peer, std::span<const Place> places) override;
  int start_receive(std::size_t slot, int peer, std::span<const Place> places) override;
  int all_done(std::size_t slots, bool block, bool& done) override;
  int any_done(std::size_t slots, bool block, bool poll, std::size_t& slot) override;
  int copy(const Place& from, const Place& to) override;

 private:
  // One piece for the places of a message under way.
  struct Piece {
    std::vector<std::byte> memory;
    std::vector<Place> places;  // to be filled from it; empty if there is nothing to do
  };
  MPI_Request& request(std::size_t slot);
  bool is_packed(std::span<const Place> places) const;
  Place piece_of(std::size_t slot, std::span<const Place> places);
  void unpack(std::size_t slot);

  MPI_Comm comm_;
  int me_;
  int self_tag_;
  int tag_;
  std::size_t most_packed_ = 0;
  std::vector<Piece> pieces_;  // [slot]
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace quadrille::run
