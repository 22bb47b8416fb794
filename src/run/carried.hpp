// Blocks whose sizes travel, for the executor: two-phase Bruck, SLOAV, mn-co of uneven blocks.
//
// The messages of a round go in steps. First the sizes, at the head of a message, one number of 4 bytes for each block;
// then the data. If the data of a message are at most `eager` bytes, they go behind the sizes in one message: the
// receiver sees by the sizes that they are there. A number too large for 4 bytes is replaced by a mark, and all sizes
// of that message follow once more in 8 bytes, in a step between. With `coupled`, the length of the first message goes
// ahead in one more step, so data of any length go behind its sizes, but those of a message with a mark. A receiver
// takes all sizes from its sender, also those of its own blocks: where a program expects other sizes than are sent,
// only its own block is cut, when it is copied out.
//
// A block of scratch is nothing but an address and a size. What arrives stays where it arrived until it is
// sent on or copied out.
//
// Working memory of a rank, where N is the largest block and b the bytes that a round brings it:
//   by need      what a round sends, and the sum of b over the rounds; for even data about N/2 * P/2 * log2 P.
//                For each message up to `eager` bytes more
//   monolithic   what a round sends and brings, and N for each slot of blocks that wait; N is agreed first. Bounded
//                whatever the data are, and wasteful if N is far above the mean
// By need is the standard: it never takes more than the data that pass through the rank.
//
// A rank that finds no memory for what a round brings drops that, but for sizes without data behind them, which say
// what else comes. It goes on, as the others wait for it. A message that was to hold a block that was dropped comes
// with its sizes alone, and then its blocks count as dropped there, too. Who misses a block of its own returns
// MPI_ERR_NO_MEM, and so does who dropped one. It is the same with a message that could not be started, or that failed
// on its way. Of one that could not be started the sizes are sent once more, without data. If sizes failed on their
// way, or with `coupled` their length, nobody knows how long the blocks were: what moves on of them comes empty from
// the first step on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "memory/pool.hpp"
#include "memory/spare.hpp"
#include "mpi/thrown.hpp"
#include "plan/schedule.hpp"
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
  std::vector<Held> held;                        // [scratch block]
  std::vector<std::byte*> heads_out, heads_in;   // [message of the round] its sizes, and data behind them
  std::vector<std::uint64_t> wide_out, wide_in;  // sizes of a round, one message after the other
  // [message of the round] Bytes for its sizes and the data behind them; of what came, as many as came. 0: its sizes
  // are not known, and nothing follows.
  std::vector<std::uint64_t> lengths_out, lengths_in;
  std::vector<Place> coming;  // [message of the round] where the data that do not come with sizes go
  std::vector<Place> going;   // the places of a message that is started
  memory::Pool staging;       // what a round sends
  memory::Pool sent_heads;
  std::vector<std::unique_ptr<memory::Pool>> heads, landing;  // [round] what it brings
  std::vector<std::unique_ptr<memory::Pool>> single;          // of a head each, where there is no memory for a round's
  SureRoom monolithic;  // instead: P * N bytes, what a round sends, what it brings
  // Gives large memory back.
  void trim();
};

// The same on all ranks.
struct CarriedLimits {
  std::size_t eager = 0;               // data of a message up to here travel with their sizes
  std::size_t wide_from = UINT32_MAX;  // sizes from here on take 8 bytes; for tests
};

// What the executor needs to know of such blocks. For each step it asks for all messages of the round, in their order;
// then it tells what came, in any order, and then that the step is over.
class CarriedBlocks {
 public:
  using Message = plan::Message;

  // All must outlive it, but for the limits.
  CarriedBlocks(const plan::Schedule& schedule, const Binding& binding, Transport& transport, CarriedMemory& memory,
                const CarriedLimits& limits)
      : schedule_(schedule),
        coupled_(schedule.sizes == plan::Sizes::coupled),
        binding_(binding),
        transport_(transport),
        memory_(memory),
        limits_(limits) {}
  CarriedBlocks& operator=(CarriedBlocks&&) = delete;

  void begin();  // a start: no block is held
  // `after` the messages of a round. Before them, scratch blocks are brought together for these alone.
  int copy(const plan::Copy& copy, bool after);

  int steps() const { return coupled_ ? 4 : 3; }
  // Both this and copy() return an MPI error code; the call goes on.
  int begin_step(std::size_t round, int step);
  // The places of a message. Nothing: there is no such message in this step, on either side.
  std::span<const Place> received(std::size_t message);
  std::span<const Place> sent(std::size_t message);
  // A received message is complete. Fewer bytes than were expected came if a block was dropped on its way.
  void came(std::size_t message, std::size_t bytes) {
    if (!is_dropped(message)) look_at(message, bytes);
  }
  // It could not be started: returns what is to go instead, for the receiver waits for something.
  Place not_sent(std::size_t message);
  void end_step();

 private:
  using Held = CarriedMemory::Held;
  enum class Step : std::uint8_t { lengths, heads, wide, data };

  const plan::Round& round() const { return schedule_.rounds[round_]; }
  std::span<const Message> sends() const { return schedule_.messages_of(round().sends); }
  std::span<const Message> receives() const { return schedule_.messages_of(round().receives); }
  Held& held(const plan::Span& span) { return memory_.held[static_cast<std::size_t>(span.block)]; }
  // The blocks of a message.
  struct BlocksOf {
    struct Iterator {
      const plan::Span* span;
      Held* all;
      Held& operator*() const { return all[span->block]; }
      Iterator& operator++() { return ++span, *this; }
      bool operator==(const Iterator&) const = default;
    };
    std::span<const plan::Span> spans;
    Held* all;
    Iterator begin() const { return {spans.data(), all}; }
    Iterator end() const { return {spans.data() + spans.size(), all}; }
  };
  BlocksOf held(const Message& message) { return {schedule_.spans_of(message), memory_.held.data()}; }

  // ---- Blocks (run/carried.cpp) ----

  int copy_out(const plan::Copy& copy);
  void keep(const plan::Copy& copy);
  void move_to_slot(const plan::Span& span);
  // Has a block that came and stays a slot in scratch, into which it is moved?
  bool has_slots() const { return binding_.scratch != nullptr; }
  void move(std::byte* from, std::byte* to, std::size_t bytes);
  void append_blocks(std::byte*& at, const Message& message);
  // Nowhere: it was dropped, could not be packed, or did not come.
  static bool is_lost(const Held& block) { return block.at == nullptr && block.bytes > 0; }
  static constexpr std::size_t unknown_bytes = SIZE_MAX;
  bool is_lost(const Message& message);
  bool has_unknown(const Message& message);
  void lose(const Message& message);
  std::size_t bytes_of(const Message& message);  // none of them unknown

  // ---- Messages (run/carried_messages.cpp) ----

  void prepare_lengths();
  void prepare_heads();
  bool lay_out(std::span<const Message> all, const std::vector<std::uint64_t>& lengths, std::vector<std::byte*>& heads,
               memory::Pool& pool);
  void prepare_wide();
  void prepare_receives();
  void prepare_sends();
  bool is_dropped(std::size_t message) const;
  void look_at(std::size_t message, std::size_t bytes);
  std::span<const Place> length_message(std::size_t i);
  std::span<const Place> head_message(std::size_t i);
  std::span<const Place> wide_message(std::size_t i);
  std::span<const Place> data_message(std::size_t i);
  std::size_t bytes_in_head(const Message& message);
  bool comes_with_sizes(const Message& message, const std::byte* head);
  void take_sizes(std::size_t i, const std::uint64_t* wide_sizes);
  std::byte* take_landing(memory::Pool& pool, std::size_t bytes);
  std::span<const Place> one(void* at, std::size_t bytes);
  void also_send_blocks(const Message& message);

  const plan::Schedule& schedule_;
  const bool coupled_;
  const Binding& binding_;
  Transport& transport_;
  CarriedMemory& memory_;
  const CarriedLimits limits_;
  std::size_t round_ = 0;
  Step step_ = Step::lengths;
  int error_ = 0;                           // of this step
  bool drops_ = false;                      // what comes in this step
  bool packs_ = false;                      // there is memory to bring the blocks of a message together
  std::byte* next_out_ = nullptr;           // where the next message that is brought together begins
  std::uint64_t* next_wide_in_ = nullptr;   // sizes of the next message
  std::uint64_t* next_wide_out_ = nullptr;  // likewise
};

}  // namespace quadrille::run
