// A program's own traffic beside our calls, on the same communicator: messages and nonblocking collectives.
#pragma once

#include <mpi.h>

#include <vector>

#include "call.hpp"

namespace quadrille::fuzz {

class Traffic {
 public:
  // The same seed on all ranks of the communicator.
  Traffic(std::uint64_t seed, const Communicator& where, const Wishes& wishes);
  void before();
  void after();  // throws a Finding

 private:
  enum class Messages { none, ring, wild_ring, late_ring, unexpected, blocking_send };
  void send();
  void receive();
  void start_collectives(Draw& draw);

  const Communicator& where_;
  Messages messages_ = Messages::none;
  int tag_ = 0, length_ = 0;
  std::uint64_t seed_;
  bool barrier_ = false, reduce_ = false, exchange_ = false;
  std::vector<unsigned char> out_, in_, expected_;
  std::vector<int> numbers_, answers_;
  int mine_ = 0, sum_ = 0;
  std::vector<MPI_Request> requests_;
};

}  // namespace quadrille::fuzz
