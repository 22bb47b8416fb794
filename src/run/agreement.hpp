// The largest number of all ranks, found by messages.
//
// Idea    Dissemination: in round k every rank sends what it knows to the rank 2^k after it, and hears what the rank
//         2^k before it knows. Hearing of a number twice does no harm to a maximum, so any number of ranks will do.
// Cost    ceil(log2 P) rounds of one message of 8 bytes.
// Source  Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988.
//
// It runs on the messages of one call, before those of its data, so that calls in flight together need not
// agree in one order, as a collective of the MPI would have to.
//
// Example, 3 ranks with 5, 9, 2: after the first round they know 5, 9, 9; after the second 9, 9, 9.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "run/transport.hpp"

namespace quadrille::run {

class Agreement {
 public:
  Agreement(Transport& transport, int me, int ranks) : transport_(transport), me_(me), ranks_(ranks) {}
  Agreement& operator=(Agreement&&) = delete;

  void begin(std::uint64_t mine) {
    largest_ = mine;
    distance_ = 1;
    waits_ = false;
  }
  // After the first begin().
  bool done() const { return distance_ >= ranks_; }
  // As Execution::advance().
  int advance(bool block) {
    while (!done()) {
      if (!waits_) {
        if (const int error = start_round(); error != 0) return error;
      }
      bool complete = false;
      if (const int error = transport_.all_done(2, block, complete); error != 0 || !complete) return error;
      largest_ = std::max(largest_, heard_);
      distance_ *= 2;
      waits_ = false;
    }
    return 0;
  }
  std::uint64_t largest() const { return largest_; }

 private:
  int start_round() {
    said_ = largest_;
    waits_ = true;
    const Place in = place_of(heard_), out = place_of(said_);
    const int error = transport_.start_receive(1, (me_ - distance_ + ranks_) % ranks_, {&in, 1});
    return error != 0 ? error : transport_.start_send(0, (me_ + distance_) % ranks_, {&out, 1});
  }
  static Place place_of(std::uint64_t& number) {
    return plain_place(reinterpret_cast<std::byte*>(&number), sizeof number);
  }

  Transport& transport_;
  const int me_, ranks_;
  std::uint64_t largest_ = 0, said_ = 0, heard_ = 0;
  int distance_ = 1;
  bool waits_ = false;
};

}  // namespace quadrille::run
