// `quadrille show`: a schedule as text, without MPI.
#pragma once

#include <string>

namespace quadrille::tools {

struct ShowOptions {
  std::string collective = "alltoall";
  std::string algorithm;  // with parameters: "bruck:radix=4"; empty: zero-rotation-bruck, or torus
  int ranks = 8;
  int me = -1;                             // -1: all ranks
  std::string neighborhood = "moore:2,1";  // neighbour collectives; see neighborhood_text.hpp
  std::string grid;                        // of their ranks; empty: an even torus of `ranks`
  std::string nodes;                       // a node map as in QUADRILLE_NODES; empty: one node
};

// Prints the schedule. Returns 0, or 2 if the options are wrong (one line on stderr).
int show_command(const ShowOptions& options);

}  // namespace quadrille::tools
