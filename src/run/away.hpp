// The blocks of a dense call between this rank and those of other nodes: messages, so many at a time.
//
// Both sides know which messages come, unless there is nothing to send. A block with gaps goes from and to where it
// lies. In place it is received over, so all blocks are copied before the first arrives, and received packed: MPICH
// cuts a large packed message anywhere and then refuses to unpack part of an element.
//
// Without memory for these copies a rank sends from where the blocks lie, drops what comes, and returns an error.
//
// In step i a rank sends to the i-th rank after it and receives from the i-th before it. A batch is the same steps on
// all ranks, Group::away_steps of them, so each message meets its other half in the same batch.
#pragma once

#include <algorithm>
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
        send_room_(group.scratch.away_send),
        recv_room_(group.scratch.away_recv) {
    has_room_ = send_room_.reserve(bytes_to_stage()) && recv_room_.reserve(bytes_to_unpack());
    if (!has_room_) error_ = MPI_ERR_NO_MEM;
  }
  AwayMessages(const AwayMessages&) = delete;
  AwayMessages& operator=(const AwayMessages&) = delete;
  // Nothing may be under way to memory that the caller frees.
  ~AwayMessages() {
    bool done = true;
    if (transport_ && messages_ > 0) transport_->all_done(messages_, true, done);
  }

  // Starts the first batch.
  void begin() {
    if (group_.reach().local.empty()) return;
    transport_.emplace(group_.messages().comm, group_.me);
    transport_->drop_received(!has_room_);
    if (has_room_) stage();
    start_batch();
  }

  // Waits for all messages, batch by batch. Returns an MPI error code. `meanwhile` does what ranks of this node may need
  // of this one: a rank of another node may wait for them before it starts the batch that we wait for.
  template <class Meanwhile>
  int finish(const Meanwhile& meanwhile) {
    if (!transport_) return error_;
    for (;;) {
      wait_for_batch(meanwhile);
      if (next_step_ >= group_.ranks) break;
      start_batch();
    }
    for (const auto& [rank, from] : packed_) {
      const Block block = recv_[rank];
      keep(error_, unpack_block(from, block.bytes(), block, group_.messages().quiet));
    }
    return error_;
  }
  int finish() {
    return finish([] {});
  }

 private:
  struct Packed {
    int rank;
    std::byte* at;
  };

  bool is_away(int rank) const { return group_.local_of(rank) < 0; }
  Block block_for(int to) const {
    if (!gather_) return send_[to];
    return call_.in_place ? recv_[group_.me] : send_[0];
  }
  static Place bytes_at(std::byte* bytes, std::size_t count) { return {bytes, count, count, 0, true}; }
  int after(int step) const { return (group_.me + step) % group_.ranks; }
  int before(int step) const { return (group_.me - step + group_.ranks) % group_.ranks; }

  std::size_t bytes_to_stage() const {
    std::size_t total = 0;
    if (!overwritten_ || group_.reach().local.empty()) return total;
    for (int rank = 0; rank < group_.ranks; ++rank) {
      if (is_away(rank)) total += send_[rank].bytes();
    }
    return total;
  }
  std::size_t bytes_to_unpack() const { return overwritten_ && !recv_.all_dense() ? bytes_to_stage() : 0; }

  // Copies what is going to be received over, in the order of the steps.
  void stage() {
    if (!overwritten_) return;
    for (int step = 1; step < group_.ranks; ++step) {
      const int to = after(step);
      if (!is_away(to)) continue;
      const Block block = send_[to];
      std::byte* room = send_room_.take(block.bytes());
      keep(error_, pack(block.address, block.count, block.type, block.info, room, group_.messages().quiet));
      staged_.push_back(room);
    }
  }

  void start_batch() {
    messages_ = 0;
    const int end = std::min(next_step_ + group_.reach().away_steps, group_.ranks);
    for (int step = next_step_; step < end; ++step) receive(before(step));
    for (int step = next_step_; step < end; ++step) send(after(step));
    next_step_ = end;
  }

  // A peer may wait for a call that this rank has started and left: the waiter keeps it moving.
  template <class Meanwhile>
  void wait_for_batch(const Meanwhile& meanwhile) {
    if (messages_ == 0) return;
    bool done = false;
    int error = MPI_SUCCESS;
    group_.waiter.until([&] {
      error = transport_->all_done(messages_, false, done);
      if (done || error != MPI_SUCCESS) return true;
      meanwhile();
      return false;
    });
    keep(error_, error);
    if (!done) keep(error_, transport_->all_done(messages_, true, done));  // the others, after an error
    messages_ = 0;
  }

  void send(int to) {
    if (!is_away(to)) return;
    const Block block = block_for(to);
    std::byte* copy = overwritten_ && has_room_ ? staged_[next_staged_++] : nullptr;
    if (block.bytes() == 0) return;
    const Place place = copy != nullptr ? bytes_at(copy, block.bytes()) : typed_place(block);
    keep(error_, transport_->start_send(messages_++, to, {&place, 1}));
  }

  void receive(int from) {
    if (!is_away(from)) return;
    const Block block = recv_[from];
    if (block.bytes() == 0) return;
    Place place = typed_place(block);
    if (overwritten_ && !block.info.dense && has_room_) {
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
  bool has_room_ = true;
  std::optional<MpiTransport> transport_;
  std::vector<std::byte*> staged_;  // by the steps
  std::size_t next_staged_ = 0;
  std::vector<Packed> packed_;
  int next_step_ = 1;
  std::size_t messages_ = 0;  // of this batch
  int error_ = MPI_SUCCESS;
};

}  // namespace quadrille::run
