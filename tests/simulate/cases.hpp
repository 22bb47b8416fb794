// What the tests of the simulation share.
#pragma once

#include <fmt/core.h>

#include <string>

#include "lab/simulate/crowd.hpp"

namespace quadrille::simulate {

// Round numbers, in nanoseconds, so that times can be worked out by hand.
inline Network plain_network() {
  Network network;
  network.name = "plain";
  network.latency = 1000;
  network.overhead = 100;
  network.gap = 10;
  network.gap_byte = 1;
  network.eager = 500;
  network.near_latency = 50;
  network.near_overhead = 20;
  network.near_byte = 0.5;
  network.near_eager = 500;
  return network;
}

inline plan::NodeMap map_of(int ranks, const std::string& text) {
  plan::NodeMap map;
  const std::string wrong = plan::parse_node_map(text, ranks, map);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return map;
}

inline Asked asked_for(Collective collective, const std::string& algorithm, plan::NodeMap map, bool every_rank = true) {
  Asked asked;
  asked.collective = collective;
  const std::string wrong = choose::parse_choice(collective, algorithm, asked.choice);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  asked.map = std::move(map);
  asked.every_rank = every_rank;
  return asked;
}

inline Outcome outcome_of(const Asked& asked, const Network& network, double bytes) {
  Crowd crowd;
  Outcome outcome;
  outcome.problem = gather(asked, crowd);
  if (!outcome.problem.empty()) return outcome;
  return Engine(crowd).run(network, {bytes, bytes});
}

inline double nanoseconds(const Outcome& outcome) { return outcome.seconds * 1e9; }

}  // namespace quadrille::simulate
