// The executor: runs any schedule over any message layer. It is a machine that can be advanced step by
// step, so that blocking, nonblocking and persistent forms are the same code.
//
// It walks rounds, keeps a round's window of messages in flight, and goes on after an error. Where sizes travel, a part
// of it tells how blocks are held and how the bytes of a message become known (run/carried_blocks.hpp): a round then
// goes in steps, each of which has a message at most for each of the round's, to and from the same peers and in the
// same window. So what was proved of the round holds for each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/pool.hpp"
#include "memory/spare.hpp"
#include "plan/schedule.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// ---- Memory ----

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

// Where sizes travel: memory that is kept between calls.
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
  void trim() {
    staging.trim();
    sent_heads.trim();
    monolithic.trim();
    std::size_t kept = 0;
    for (const auto& pool : heads) kept += pool->size();
    for (const auto& pool : landing) kept += pool->size();
    if (kept > memory::Pool::most_kept) heads.clear(), landing.clear();
    single.clear();
  }
};

// How sizes travel. All ranks have the same limits.
struct CarriedLimits {
  std::size_t eager = 0;               // data of a message up to here travel with their sizes
  std::size_t wide_from = UINT32_MAX;  // sizes from here on take 8 bytes; for tests
};

// ---- The machine ----

class CarriedBlocks;

class Execution {
 public:
  // All of these must outlive the execution. The first is for schedules whose sizes are known, the second for the
  // others: there binding.scratch is the monolithic buffer, with block_bytes a slot; null: memory by need.
  Execution(const plan::Schedule& schedule, const Binding& binding, Transport& transport);
  Execution(const plan::Schedule& schedule, const Binding& binding, Transport& transport, CarriedMemory& memory,
            const CarriedLimits& limits);
  Execution& operator=(Execution&&) = delete;
  ~Execution();

  // Takes the memory that it needs to run, but for that of the transport, for which it returns how many slots are used.
  // Throws std::bad_alloc.
  std::size_t reserve();
  // Lets it run once more, from this round on.
  void begin(std::size_t round = 0);
  // Goes on as far as is possible without waiting; with `block`, to the end. The others wait for what this rank sends,
  // so an error ends nothing: returns 0, or, when it is done, the first.
  int advance(bool block);
  bool done() const { return round_ == schedule_.rounds.size(); }

 private:
  static constexpr int none_begun = -1;
  // A place of the window.
  struct Flight {
    std::uint32_t pair;  // the pair in flight in this slot
    std::uint8_t open;   // requests of it that are not complete
    bool receives;       // one of them, if sizes travel
  };

  void begin_step(int step);
  // True if all messages of the step are complete.
  bool advance_messages(bool block);
  bool advance_batch(bool block);
  bool advance_window(bool block);
  void fill(std::size_t place);
  void start_pair(std::size_t pair, std::size_t place);
  void start(std::size_t index, const plan::Message& message, bool is_send, std::size_t place);
  int replace(std::size_t index, const plan::Message& message, bool is_send, std::size_t slot, int error);
  void tell_what_came(std::size_t place);
  void run_copies(plan::Range copies, bool after);
  int copy(const plan::Copy& copy);
  Place place_of(const plan::Span& span) const;
  std::span<const Place> places_of(const plan::Message& message);
  const plan::Round& round() const { return schedule_.rounds[round_]; }

  const plan::Schedule& schedule_;
  const Binding& binding_;
  Transport& transport_;
  const std::unique_ptr<CarriedBlocks> carried_;  // null if sizes are known
  std::vector<Place> places_;                     // of the message being started
  std::vector<Flight> flights_;                   // [place of the window]
  std::size_t round_ = 0;
  int step_ = none_begun;          // of the messages of this round
  std::size_t next_pair_ = 0;      // of this step, not started yet
  std::size_t open_requests_ = 0;  // started and not complete
  std::size_t slots_ = 0;          // in use in this step
  int error_ = 0;                  // the first
};

}  // namespace quadrille::run
