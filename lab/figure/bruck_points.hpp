// What figures of the papers are simulated at: panels, lines, and the points on them, in the engine of `quadrille
// simulate`.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "collective/collective.hpp"

namespace quadrille::tools {

// A line: one of our schedules, or what MPICH chooses by itself, which stands for an MPI that descends from it.
struct SimulatedLine {
  std::string label;
  std::string
      algorithm;  // as Quadrille_Set_algorithm takes it; empty: MPICH's choice, if `padded` for an all-to-all of N
  Collective collective = Collective::alltoallv;
  bool padded = false;             // all blocks are as large as the largest
  bool without_rotations = false;  // what is no part of a round with messages is left out
  bool agrees = false;             // all ranks learn the largest block first, as a padded one's do anyway
};

// How large the blocks of a call are: of all blocks the mean, N being the largest.
using MeanOf = std::function<double(double largest, int ranks)>;
MeanOf uniform_mean();               // in 0..N
MeanOf window_mean(double percent);  // in (100 - percent) percent of N .. N
MeanOf power_mean(double base);      // a rank's blocks are N, N b, N b^2, ..., whole bytes
MeanOf equal_mean();

struct SimulatedPanel {
  std::string title;
  bool over_ranks = false;  // x is the number of ranks, else N
  std::vector<int> ranks;
  std::vector<std::size_t> sizes;  // N
  MeanOf mean = uniform_mean();
  std::vector<SimulatedLine> lines;
  int per_node = 64;  // ranks of a node, as far as there are so many
};

// The ends of a network's ranges (network.hpp): all constants at their least, all at their most, copies dear and
// messages cheap, messages dear and copies cheap. The last two bound which of two ways is the faster, the first two how
// long they take.
inline constexpr std::array<const char*, 4> network_ends = {"fast", "slow", "copying", "sending"};

struct SimulatedPoint {
  std::size_t panel = 0, line = 0;
  int ranks = 0;
  std::size_t bytes = 0;  // N
  double mean = 0;        // of a block, as it is sent
  std::string algorithm;  // what was simulated
  double microseconds = 0;
  std::array<double, network_ends.size()> at_ends{};  // the same at the ends of the network's ranges
  bool one_node = false;                              // one node stood for all
  std::string why_not{};                              // it could not be
  // Lines before it at the same place whose ranks do the same, or send the same messages in other windows.
  std::string identical_to{}, same_messages_as{};
};

// All points of the panels; each schedule is built once, and goes through the network and its ends.
std::vector<SimulatedPoint> simulate_points(const std::vector<SimulatedPanel>& panels, const std::string& network);

}  // namespace quadrille::tools
