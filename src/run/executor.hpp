// The executor: runs any schedule over any message layer. It is a machine that can be advanced step by
// step, so that blocking, nonblocking and persistent forms are the same code.
#pragma once

#include <span>
#include <vector>

#include "plan/schedule.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// The addresses for one start of a schedule.
struct Binding {
  std::span<const Place> send;      // [block]
  std::span<const Place> recv;      // [block]
  std::byte* scratch = nullptr;     // schedule.scratch_blocks * block_bytes bytes
  std::size_t block_bytes = 0;      // size of a scratch block
  std::span<const Place> scratch_places = {};  // [block] where the scratch blocks differ in size
};

class Execution {
 public:
  // All three must outlive the execution.
  Execution(const plan::Schedule& schedule, const Binding& binding, Transport& transport);

  // Takes the memory that it needs to run, but for that of the transport, for which it returns how many slots are used.
  // Throws std::bad_alloc.
  std::size_t reserve();
  // Lets it run once more, from this round on.
  void begin(std::size_t round = 0) {
    round_ = round;
    phase_ = Phase::enter;
    error_ = 0;
  }
  // Goes on as far as is possible without waiting; with `block`, to the end. The others wait for what this rank sends,
  // so an error ends nothing: returns 0, or, when it is done, the first.
  int advance(bool block);
  bool done() const { return round_ == schedule_.rounds.size(); }

 private:
  // A round is passed in three phases.
  enum class Phase { enter, messages, leave };

  // True if all messages of the round are complete.
  bool advance_messages(bool block);
  bool advance_batch(bool block);
  bool advance_window(bool block);
  bool batch_is_complete(bool block);
  void start_pair(std::size_t pair, std::size_t slot);
  void start(const plan::Message& message, bool is_send, std::size_t slot);
  void keep(int error) {
    if (error_ == 0) error_ = error;
  }
  void run_copies(plan::Range copies);
  Place place_of(const plan::Span& span) const;
  std::span<const Place> places_of(const plan::Message& message);
  std::size_t pairs() const { return pairs(schedule_.rounds[round_]); }
  std::size_t window() const { return window(schedule_.rounds[round_]); }
  static std::size_t pairs(const plan::Round& round);
  static std::size_t window(const plan::Round& round);

  const plan::Schedule& schedule_;
  const Binding& binding_;
  Transport& transport_;
  std::vector<Place> places_;             // of the message being started
  std::vector<std::uint8_t> slot_open_;   // requests of a pair that are not complete, by window place
  std::size_t round_ = 0;
  Phase phase_ = Phase::enter;
  std::size_t next_pair_ = 0;             // of this round, not started yet
  std::size_t open_requests_ = 0;         // started and not complete
  std::size_t slots_ = 0;                 // in use in this round
  int error_ = 0;                         // the first
};

}  // namespace quadrille::run
