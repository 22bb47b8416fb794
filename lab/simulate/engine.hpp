// The event engine: runs the programs of ranks through a network, message by message.
//
// Idea    A rank does one thing at a time: copies, starts a message, takes one that has come, answers a sender that
//         asks. What it does takes a processor for as long as the network's constants say; if ranks share processors
//         they wait for one, first come, first served. A message that has left its rank waits for the adapter of its
//         node, is under way for the latency, waits for the other node's adapter, and then for its receiver. A long
//         message asks first. Rounds and windows are kept as the executor keeps them (run/executor.hpp): a batch that
//         is waited for as a whole, or a pair for each that completes.
// Order   Events at one time are taken in an order that depends on places relative to each other alone: the same
//         programs give the same times, on every machine, and a node that stands for all gives the times of all
//         (symmetry.hpp).
// Time    Whole picoseconds, so that sums do not depend on their order.
// Cost    About five events a message; about 50 bytes a message and 32 bytes an event in memory.
// Left out  What a wait costs in processor time, caches, and which way messages take through the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/simulate/network.hpp"
#include "lab/simulate/program.hpp"
#include "plan/problem.hpp"

namespace quadrille::simulate {

// How the nodes of a machine are like each other: node n does what node 0 does, with node m + n (or m xor n) for node
// m.
enum class Alike : std::uint8_t { not_known, rotated, exclusive_or };

// Who runs: all ranks, or those of the first node, which stand for all.
struct Crowd {
  plan::NodeMap map;
  Alike alike = Alike::not_known;  // nodes have consecutive ranks, equally many
  bool one_node = false;           // only ranks of node 0 are there
  std::vector<Program> programs;   // [rank]
};

// The blocks of a call, in bytes.
struct Load {
  double mean = 0, largest = 0;
};

struct Outcome {
  std::string problem;       // one line; empty if all ranks came to their end
  double seconds = 0;        // until the last rank is done
  double first_seconds = 0;  // until the first rank is done
  // Of all ranks that are there.
  std::uint64_t messages = 0, bytes = 0;            // between nodes, sent; questions and answers are not counted
  std::uint64_t near_messages = 0, near_bytes = 0;  // inside nodes
  std::uint64_t received_bytes = 0;                 // of both kinds
  std::uint64_t copied_bytes = 0;
  double busiest_adapter = 0;  // seconds, of one direction
  std::uint64_t events = 0;
  double turns = 1;  // so often was the whole done, a piece of each block at a time
};

// Called every few thousand events with the ranks that are done. Returns false to stop.
using Watch = std::function<bool(const Outcome& soFar, std::size_t done, std::size_t all)>;

class Engine {
 public:
  // Matches each send with its receive. The crowd must outlive it.
  explicit Engine(const Crowd& crowd);
  // Empty, or one line: which message is sent that nobody receives, or the other way round.
  const std::string& problem() const { return problem_; }
  Outcome run(const Network& network, const Load& load, const Watch& watch = {}) const;

  // ---- For the runs ----

  struct Way {
    std::uint32_t to = 0;        // rank that is there
    std::uint32_t label = 0;     // the sender as the receiver names it
    std::uint32_t distance = 0;  // of the nodes, as the receiver sees it
    bool away = false;
  };
  Way way(std::uint32_t from, std::int32_t peer) const;
  const Crowd& crowd() const { return crowd_; }
  std::size_t ranks() const { return crowd_.programs.size(); }
  std::uint32_t node_of(std::uint32_t rank) const {
    return crowd_.one_node ? 0 : static_cast<std::uint32_t>(crowd_.map.node_of[rank]);
  }
  std::uint32_t number_on_node(std::uint32_t rank) const { return number_on_node_[rank]; }
  std::uint32_t nodes() const { return crowd_.one_node ? 1 : static_cast<std::uint32_t>(crowd_.map.nodes); }
  // All notes of all ranks are numbered; those of `rank` from here on.
  std::uint32_t first_note(std::uint32_t rank) const { return first_note_[rank]; }
  std::uint32_t notes() const { return first_note_.back(); }
  std::uint32_t rank_of(std::uint32_t note) const { return owner_[note]; }
  // Of a message sent its receive, and of one received its send.
  std::uint32_t other_half(std::uint32_t note) const { return other_half_[note]; }

 private:
  void match();

  const Crowd& crowd_;
  std::string problem_;
  std::vector<std::uint32_t> number_on_node_;
  std::vector<std::uint32_t> first_note_;
  std::vector<std::uint32_t> other_half_, owner_;  // [note]
};

}  // namespace quadrille::simulate
