// The figures that are simulated: what they show, and what the paper says of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/figure/bruck_points.hpp"

namespace quadrille::tools {

// Microseconds of a line of a panel at a number of ranks and an N; 0 if it was not simulated.
using TimeOf = std::function<double(std::size_t panel, const std::string& line, int ranks, std::size_t bytes)>;

struct SimulatedClaim {
  std::string text;
  std::string fast, slow;
  std::string paper;
  std::function<double(const TimeOf&)> here;  // below 0: it cannot be told, for the reason
  std::string reason{};                       // begins with one of verdict.hpp
  // Of a crossover, whose line falls behind: how far it is ahead on the near side.
  std::function<double(const TimeOf&)> near{};
};

struct SimulatedFigure {
  std::string name;    // "bruck-6-simulated"
  std::string source;  // the paper, with the number of its figure
  std::string title;   // of the page
  std::string how;     // what is simulated, beside what all pages say
  std::vector<SimulatedPanel> panels;
  std::vector<SimulatedClaim> claims;
  bool has_map = false;  // of who is the fastest, N by P, over all panels
  const char* network = "theta";
  const char* constants = "";  // where its constants come from
};

// Of Fan et al.
std::vector<SimulatedFigure> simulated_bruck_figures();
// Of the cache-oblivious paper, between nodes.
std::vector<SimulatedFigure> simulated_node_figures();

}  // namespace quadrille::tools
