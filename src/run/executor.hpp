// The executor: runs any schedule over any message layer. It is a machine that can be advanced step by
// step, so that blocking, nonblocking and persistent forms are the same code.
//
// It walks rounds, keeps a round's window of messages in flight, and goes on after an error. Where sizes travel, a part
// of it tells how blocks are held and how the bytes of a message become known (run/carried.hpp): a round then goes in
// steps, each of which has a message at most for each of the round's, to and from the same peers and in the same
// window. So what was proved of the round holds for each step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/schedule.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

class CarriedBlocks;
struct CarriedMemory;
struct CarriedLimits;

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
  bool entered_ = false;           // this round: a step of its messages has begun
  int step_ = 0;                   // of the messages of this round
  std::size_t next_pair_ = 0;      // of this step, not started yet
  std::size_t open_requests_ = 0;  // started and not complete
  std::size_t slots_ = 0;          // in use in this step
  int error_ = 0;                  // the first
};

}  // namespace quadrille::run
