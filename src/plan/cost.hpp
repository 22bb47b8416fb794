// What a schedule costs: counted, and in time by the model of the papers.
#pragma once

#include <cstdint>

#include "plan/schedule.hpp"

namespace quadrille::plan {

// Counts of one rank.
struct Counts {
  std::uint64_t rounds = 0;    // with messages; a windowed round counts ceil(pairs / window)
  std::uint64_t messages = 0;  // sent
  std::uint64_t blocks_sent = 0;
  std::uint64_t blocks_copied = 0;  // inside the node
  std::uint64_t scratch_blocks = 0;
  std::uint64_t size_messages = 0;  // sent beside `messages`, if sizes travel
  std::uint64_t sizes_sent = 0;     // of blocks
  std::uint64_t derived_messages = 0;  // sent or received, not one run of consecutive blocks:
                                       // these need a derived datatype
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts count(const Schedule& schedule);

// A machine as the cost model sees it, in seconds: alpha and beta as in Fan et al., HPDC 2022, section 3.3;
// the others are what that model leaves out.
struct Machine {
  double alpha;      // latency of a message
  double beta;       // transfer of a byte
  double gamma;      // local copy of a byte
  double delta = 0;  // local copy of a block, beside its bytes
  double rho = 0;    // waiting for the peers of a round
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Seconds that one rank needs, with blocks of `block_bytes` bytes; in the mean, if sizes differ. A size takes
// 4 bytes. Each of `size_messages` costs alpha.
double time(const Counts& counts, const Machine& machine, double block_bytes);

}  // namespace quadrille::plan
