// What a schedule costs: counts, and the constants by which the model of the papers makes time of them.
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
  std::uint64_t size_messages = 0;     // sent beside `messages`, if sizes travel
  std::uint64_t sizes_sent = 0;        // of blocks
  std::uint64_t derived_messages = 0;  // sent or received, not one run of consecutive blocks:
                                       // these need a derived datatype
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts count(const Schedule& schedule);

// A machine as the cost model sees it, in seconds: alpha and beta as in Fan et al., HPDC 2022, section 3.3;
// the others are what that model leaves out. Those from node_message on are for nodes of several ranks
// (placed_cost.hpp).
struct Machine {
  double alpha;             // a message between nodes, for the rank that sends it
  double beta;              // a byte between nodes
  double gamma;             // local copy of a byte
  double delta = 0;         // local copy of a block, beside its bytes
  double rho = 0;           // waiting for the peers of a round
  double node_message = 0;  // a message between nodes, for the adapter that the ranks of a node share
  double node_byte = 0;     // likewise a byte
  double near_message = 0;  // a message inside a node
  double near_byte = 0;     // a byte in one
  double shared_byte = 0;   // a byte copied from or to memory that a node's ranks share
  double shared_block = 0;  // likewise a block, beside its bytes
  double fence = 0;         // all ranks of a node wait for each other
  double flight = 0;        // a message, for each doubling of those in flight with it
  double handshake = 0;     // a round with a message that the MPI does not send before the receiver has answered
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Where no message is told from another, nor one copy from another: those inside a node cost what the others do.
Machine one_class(Machine machine);

// The same machine for nodes of `per_node` ranks that all send at once, without the terms of placed_cost.hpp but
// `flight`: of a message and a byte a rank's share of the adapter is part.
Machine flat(const Machine& machine, int per_node);

// How often 1 is doubled to make `number`, which is 1 at least: the logarithm, with straight lines between powers of
// two. Not of the C library, whose last bits differ between processors: ranks that choose by them must have the same.
double doublings(double number);

}  // namespace quadrille::plan
