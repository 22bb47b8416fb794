// The blocks of a dense call between this rank and those of other nodes: messages, all begun at once.
//
// Both sides know which messages come, unless there is nothing to send. A block with gaps goes from and to where it
// lies. In place it is received over, so it is sent from a copy, and received packed: MPICH cuts a large packed message
// anywhere and then refuses to unpack part of an element.
#pragma once

#include <optional>
#include <vector>

#include "run/blocks.hpp"
#include "run/mpi_transport.hpp"
#include "run/room.hpp"

namespace quadrille::run {

class AwayMessages {
 public:
  AwayMessages(const Call& call, Group& group)
      : call_(call),
        group_(group),
        gather_(is_allgather(call.collective)),
        overwritten_(call.in_place && !gather_),
        send_(call.in_place ? call.recv : call.send),
        recv_(call.recv),
        send_room_(group.away_send, bytes_to_stage()),
        recv_room_(group.away_recv, bytes_to_unpack()) {}

  void begin() {
    if (group_.local.empty()) return;
    transport_.emplace(group_.comm, group_.me);
    for (int step = 1; step < group_.ranks; ++step) send((group_.me + step) % group_.ranks);
    for (int step = 1; step < group_.ranks; ++step) receive((group_.me - step + group_.ranks) % group_.ranks);
  }

  // Waits for all of them. Returns an MPI error code.
  int finish() {
    if (messages_ == 0) return error_;
    bool done = true;
    keep(error_, transport_->all_done(messages_, true, done));
    for (const auto& [rank, from] : packed_) {
      const Block block = recv_[rank];
      keep(error_, unpack_block(from, block.bytes(), block, group_.quiet));
    }
    return error_;
  }

 private:
  struct Packed {
    int rank;
    const std::byte* from;
  };

  bool is_away(int rank) const { return group_.local_of(rank) < 0; }
  Block block_for(int to) const {
    if (!gather_) return send_[to];
    return call_.in_place ? recv_[group_.me] : send_[0];
  }
  static Place bytes_at(std::byte* bytes, std::size_t count) { return {bytes, count, count, 0, true}; }

  std::size_t bytes_to_stage() const {
    std::size_t total = 0;
    if (!overwritten_ || group_.local.empty()) return total;
    for (int rank = 0; rank < group_.ranks; ++rank) {
      if (is_away(rank)) total += send_[rank].bytes();
    }
    return total;
  }
  std::size_t bytes_to_unpack() const {
    return overwritten_ && !recv_.all_dense() ? bytes_to_stage() : 0;
  }

  void send(int to) {
    if (!is_away(to)) return;
    const Block block = block_for(to);
    if (block.bytes() == 0) return;
    Place place = typed_place(block);
    if (overwritten_) {
      std::byte* room = send_room_.take(block.bytes());
      keep(error_, pack(block.address, block.count, block.type, block.info, room, group_.quiet));
      place = bytes_at(room, block.bytes());
    }
    keep(error_, transport_->start_send(messages_++, to, {&place, 1}));
  }

  void receive(int from) {
    if (!is_away(from)) return;
    const Block block = recv_[from];
    if (block.bytes() == 0) return;
    Place place = typed_place(block);
    if (overwritten_ && !block.info.dense) {
      std::byte* room = recv_room_.take(block.bytes());
      packed_.push_back({from, room});
      place = bytes_at(room, block.bytes());
    }
    keep(error_, transport_->start_receive(messages_++, from, {&place, 1}));
  }

  const Call& call_;
  Group& group_;
  const bool gather_;
  const bool overwritten_;  // the send blocks are received over; in an in-place allgather they are not
  const Blocks send_, recv_;
  Room send_room_, recv_room_;
  std::optional<MpiTransport> transport_;
  std::vector<Packed> packed_;
  std::size_t messages_ = 0;
  int error_ = MPI_SUCCESS;
};

}  // namespace quadrille::run
