// Runs schedules whose sizes travel: two-phase Bruck and SLOAV.
//
// A round has up to two phases of messages. With `carried`, sizes go first, one number of 4 bytes for each
// block of whose size the receiver must be told; then the data. If the data of a message are at most `eager`
// bytes, they go behind the sizes in one message: the receiver sees by the sizes that they are there. With
// `coupled`, the length of each message goes first; then the message, with the sizes at its head. A number too
// large for 4 bytes is replaced by a mark, and all sizes of that message follow once more in 8 bytes.
//
// A block of scratch is nothing but an address and a size. What arrives stays where it arrived until it is
// sent on or copied out.
//
// Working memory of a rank, where N is the largest block and b the bytes that a round brings it:
//   by need      what a round sends, and the sum of b over the rounds; for even data about N/2 * P/2 * log2 P.
//                Nothing is allocated for blocks that are empty
//   monolithic   what a round sends and brings, and N for each slot of blocks that wait; N is agreed first. Bounded
//                whatever the data are, and wasteful if N is far above the mean
// By need is the standard: it never takes more than the data that pass through the rank.
//
// A rank that finds no memory for what a round brings drops that, and goes on: the others wait for it. A message that was
// to hold a block that was dropped comes empty (with `coupled`: it is announced so), and then its blocks count as dropped
// there, too. Who misses a block of its own returns MPI_ERR_NO_MEM, and so does who dropped one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/pool.hpp"
#include "memory/spare.hpp"
#include "plan/schedule.hpp"
#include "run/executor.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// Room for the blocks of calls whose sizes all ranks know.
//
// A rank without memory may not be the only one to know. So room is taken by all ranks in the same call, which then ask
// each other whether all have got it (run/agreement.hpp). Calls that need no more than they have do not ask.
struct SureRoom {
  memory::Pool scratch, send, recv;
  std::size_t bytes = 0;  // all ranks have so many in each of the three
  // Small blocks need no question: there is always room for them (memory/spare.hpp).
  bool is_enough(std::size_t wanted) const { return wanted <= std::max(bytes, memory::most_spare_bytes); }
  // After all ranks have got `wanted`; then trim() leaves as much on all of them.
  void note(std::size_t wanted) { bytes = wanted <= memory::Pool::most_kept ? wanted : 0; }
  // What is to be taken for less than `wanted` of it, so that all three have as much.
  std::size_t each(std::size_t needed, std::size_t wanted) const {
    return wanted <= memory::Pool::most_kept ? wanted : needed;
  }
  void trim() { scratch.trim(), send.trim(), recv.trim(); }
};

// Memory that is kept between calls.
struct CarriedMemory {
  struct Held {
    std::byte* at;
    std::size_t bytes;
  };
  std::vector<Held> held;               // [scratch block]
  std::vector<std::size_t> known;       // [scratch block] its size, if a copy takes it to recv
  std::vector<std::byte*> heads_out, heads_in;  // [message of the round] its sizes, and data behind them
  std::vector<std::size_t> head_came;   // [message of the round] bytes of these that came
  std::vector<std::uint64_t> wide_out, wide_in; // sizes of a round, one message after the other
  std::vector<std::uint64_t> lengths_out, lengths_in;  // of combined messages
  memory::Pool staging;                 // what a round sends
  memory::Pool sent_heads;
  std::vector<std::unique_ptr<memory::Pool>> heads, landing;  // [round] what it brings
  SureRoom monolithic;                  // instead: P * N bytes, what a round sends, what it brings
  // Gives large memory back.
  void trim();
};

// The same on all ranks.
struct CarriedLimits {
  std::size_t eager = 0;               // data of a message up to here travel with their sizes
  std::size_t wide_from = UINT32_MAX;  // sizes from here on take 8 bytes; for tests
};

class CarriedExecution {
 public:
  // All must outlive the execution. binding.scratch is the monolithic buffer, with block_bytes a slot; null:
  // by need.
  CarriedExecution(const plan::Schedule& schedule, const Binding& binding, Transport& transport,
                   CarriedMemory& memory, CarriedLimits limits);

  // As Execution::advance().
  int advance(bool block);
  bool done() const { return round_ == schedule_.rounds.size(); }

 private:
  enum class Phase { enter, sizes, wide, data, leave };
  using Held = CarriedMemory::Held;

  const plan::Round& round() const { return schedule_.rounds[round_]; }
  bool coupled() const { return schedule_.sizes == plan::Sizes::coupled; }
  std::span<const plan::Message> sends() const { return messages(round().sends); }
  std::span<const plan::Message> receives() const { return messages(round().receives); }
  std::span<const plan::Message> messages(plan::Range range) const {
    return {schedule_.messages.data() + range.first, range.count};
  }
  Held& held(const plan::Message& message, std::uint32_t span) {
    const plan::Span& s = schedule_.spans[message.spans.first + span];
    return memory_.held[static_cast<std::size_t>(s.block)];
  }
  int step(bool block, bool& waits);
  int wait(bool block, Phase next, bool& waits);

  int enter();
  int leave();
  int copy_out(const plan::Copy& copy);
  void keep(const plan::Copy& copy);
  void note_known_sizes();
  void move(std::byte* from, std::byte* to, std::size_t bytes);
  void append_blocks(std::byte*& at, const plan::Message& message);

  int start_sizes();
  int start_lengths();
  int start_combined();
  int start_wide();
  int start_data();
  int start_receives();
  int start_sends();
  void append_sizes(std::byte*& at, const plan::Message& message, bool wide);
  int send_heads_and_blocks();
  int send_scattered(std::size_t index, const plan::Message& message);
  std::byte* take_landing(std::size_t bytes);
  bool is_lost(const plan::Message& message);
  void lose(const plan::Message& message);
  void look_what_came();
  std::uint32_t narrow(std::size_t bytes) const;
  bool has_wide(const plan::Message& message, const std::byte* head) const;
  bool came_with_sizes(const plan::Message& message, const std::byte* head);
  void take_sizes(const plan::Message& message, const std::byte* head, const std::uint64_t* wide);
  std::size_t bytes_of(const plan::Message& message);
  void take_combined();
  int start(bool is_send, std::size_t index, int peer, void* at, std::size_t bytes);

  const plan::Schedule& schedule_;
  const Binding& binding_;
  Transport& transport_;
  CarriedMemory& memory_;
  const CarriedLimits limits_;
  std::size_t round_ = 0;
  int error_ = 0;          // a block larger than its room, or one for which there was no memory
  bool drops_ = false;     // what comes in this phase
  std::size_t slots_ = 0;  // requests that this phase may wait for
  Phase phase_ = Phase::enter;
};

}  // namespace quadrille::run
