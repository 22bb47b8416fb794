#include "run/executor.hpp"

#include <algorithm>

#include "run/carried_blocks.hpp"

namespace quadrille::run {
namespace {

using plan::Buffer;
using plan::Window;

// In place: there is nothing to copy. Types with gaps may lead from one address to different bytes.
bool is_the_same(const Place& from, const Place& to) {
  if (from.address != to.address) return false;
  return (from.dense && to.dense) || (from.type == to.type && from.count == to.count);
}

// Data of one type that continue where the place before them ends.
bool continues(const Place& last, const Place& next) {
  return last.type == next.type && last.dense && next.dense && last.address + last.bytes == next.address;
}

}  // namespace

Execution::Execution(const plan::Schedule& schedule, const Binding& binding, Transport& transport)
    : schedule_(schedule), binding_(binding), transport_(transport) {}

Execution::Execution(const plan::Schedule& schedule, const Binding& binding, Transport& transport,
                     CarriedMemory& memory, const CarriedLimits& limits)
    : schedule_(schedule),
      binding_(binding),
      transport_(transport),
      carried_(std::make_unique<CarriedBlocks>(schedule, binding, transport, memory, limits)) {
  carried_->begin();
}

Execution::~Execution() = default;

void Execution::begin(std::size_t round) {
  round_ = round;
  step_ = none_begun;
  error_ = 0;
  if (carried_ != nullptr) carried_->begin();
}

int Execution::advance(bool block) {
  while (!done()) {
    if (step_ == none_begun) {
      run_copies(round().before, false);
      begin_step(0);
    }
    if (!advance_messages(block)) return 0;
    const bool last = carried_ == nullptr || step_ + 1 == carried_->steps();
    if (carried_ != nullptr) carried_->end_step();
    if (!last) {
      begin_step(++step_);
      continue;
    }
    run_copies(round().after, true);
    step_ = none_begun;
    ++round_;
  }
  return error_;
}

void Execution::begin_step(int step) {
  next_pair_ = open_requests_ = slots_ = 0;
  flights_.assign(plan::window_of(round()), {});
  if (carried_ != nullptr) keep(error_, carried_->begin_step(round_, step));
  step_ = step;
}

std::size_t Execution::reserve() {
  std::size_t most_pairs = 0, most_places = 0;
  for (const plan::Round& one : schedule_.rounds) most_pairs = std::max<std::size_t>(most_pairs, plan::window_of(one));
  for (const plan::Message& message : schedule_.messages) {
    most_places = std::max<std::size_t>(most_places, message.spans.count);
  }
  flights_.reserve(most_pairs);
  places_.reserve(most_places);
  return 2 * most_pairs;
}

bool Execution::advance_messages(bool block) {
  return round().window.wait == Window::Wait::all ? advance_batch(block) : advance_window(block);
}

// Waitall: a batch of pairs is started and waited for as a whole, then the next.
bool Execution::advance_batch(bool block) {
  const std::size_t pairs = plan::pairs_of(round());
  while (true) {
    if (slots_ > 0) {
      bool complete = false;
      const int error = transport_.all_done(slots_, block, complete);
      keep(error_, error);
      if (error == 0 && !complete) return false;
      for (std::size_t place = 0; carried_ != nullptr && place < slots_ / 2; ++place) tell_what_came(place);
      slots_ = 0;
    }
    if (next_pair_ == pairs) return true;
    const std::size_t batch = std::min(flights_.size(), pairs - next_pair_);
    for (std::size_t place = 0; place < batch; ++place) start_pair(next_pair_++, place);
    if (open_requests_ > 0) slots_ = 2 * batch;
    open_requests_ = 0;
  }
}

// Waitany and testany: whenever a pair is complete, the next takes its place.
bool Execution::advance_window(bool block) {
  const bool poll = round().window.wait == Window::Wait::test;
  slots_ = 2 * flights_.size();
  for (std::size_t place = 0; place < flights_.size(); ++place) fill(place);
  while (open_requests_ > 0) {
    std::size_t slot = slots_;
    const int error = transport_.any_done(slots_, block, poll, slot);
    keep(error_, error);
    if (slot == slots_) {
      if (error != 0) return true;  // of no request: there is nothing to wait for
      if (block) continue;
      return false;
    }
    const std::size_t place = slot / 2;
    if (slot % 2 == 1) tell_what_came(place);
    --open_requests_;
    --flights_[place].open;
    fill(place);
  }
  return true;
}

// A pair without data is complete at once, so a place may be filled several times.
void Execution::fill(std::size_t place) {
  while (flights_[place].open == 0 && next_pair_ < plan::pairs_of(round())) start_pair(next_pair_++, place);
}

void Execution::start_pair(std::size_t pair, std::size_t place) {
  const std::span<const plan::Message> receives = schedule_.messages_of(round().receives);
  const std::span<const plan::Message> sends = schedule_.messages_of(round().sends);
  flights_[place] = {static_cast<std::uint32_t>(pair), 0, false};
  // Receives first: a message that finds its receive posted needs no buffer.
  if (pair < receives.size()) start(pair, receives[pair], false, place);
  if (pair < sends.size()) start(pair, sends[pair], true, place);
}

void Execution::start(std::size_t index, const plan::Message& message, bool is_send, std::size_t place) {
  const std::span<const Place> places = carried_ == nullptr ? places_of(message)
                                        : is_send           ? carried_->sent(index)
                                                            : carried_->received(index);
  // Both sides see the same bytes, so both sides leave an empty message out.
  if (places.empty()) return;
  const std::size_t slot = 2 * place + (is_send ? 0 : 1);
  int error = is_send ? transport_.start_send(slot, message.peer, places)
                      : transport_.start_receive(slot, message.peer, places);
  keep(error_, error);
  if (error != 0 && carried_ != nullptr) error = replace(index, message, is_send, slot, error);
  if (error != 0) return;
  ++open_requests_;
  ++flights_[place].open;
  flights_[place].receives = flights_[place].receives || !is_send;
}

// ---- Where sizes travel ----

// A message that could not be started. A shorter one tells the receiver that it does not come.
int Execution::replace(std::size_t index, const plan::Message& message, bool is_send, std::size_t slot, int error) {
  if (!is_send) {
    carried_->came(index, 0);
    return error;
  }
  const Place instead = carried_->not_sent(index);
  return transport_.start_send(slot, message.peer, {&instead, 1});
}

void Execution::tell_what_came(std::size_t place) {
  if (flights_[place].receives && carried_ != nullptr) {
    carried_->came(flights_[place].pair, transport_.came(2 * place + 1));
  }
}

// ---- Places ----

std::span<const Place> Execution::places_of(const plan::Message& message) {
  places_.clear();
  for (const plan::Span& span : schedule_.spans_of(message)) {
    const Place next = place_of(span);
    if (!places_.empty() && continues(places_.back(), next)) {
      places_.back().bytes += next.bytes;
      places_.back().count += next.count;
    } else if (next.bytes > 0) {
      places_.push_back(next);
    }
  }
  return places_;
}

Place Execution::place_of(const plan::Span& span) const {
  const auto block = static_cast<std::size_t>(span.block);
  switch (span.buffer) {
    case Buffer::send:
      return binding_.send[block];
    case Buffer::recv:
      return binding_.recv[block];
    case Buffer::scratch:
      break;
  }
  if (!binding_.scratch_places.empty()) return binding_.scratch_places[block];
  return plain_place(binding_.scratch + block * binding_.block_bytes, binding_.block_bytes);
}

void Execution::run_copies(plan::Range copies, bool after) {
  for (const plan::Copy& one : schedule_.copies_of(copies)) {
    keep(error_, carried_ != nullptr ? carried_->copy(one, after) : copy(one));
  }
  if (copies.count > 0) keep(error_, transport_.copied());
}

int Execution::copy(const plan::Copy& copy) {
  const Place from = place_of(copy.from), to = place_of(copy.to);
  // In-place calls bind the own block of both buffers to one address.
  return from.bytes == 0 || is_the_same(from, to) ? 0 : transport_.copy(from, to);
}

}  // namespace quadrille::run
