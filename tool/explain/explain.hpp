// `quadrille explain`: how long each algorithm would take on a machine of many nodes, by the cost model, and what its
// time is made of. Without MPI.
#pragma once

#include <string>
#include <vector>

#include "tool/plans/node_options.hpp"

namespace quadrille::tools {

struct ExplainOptions {
  // As on the command line.
  std::string collective = "alltoall";
  NodeOptions layout;
  std::string sizes = "64";  // bytes of a block, as bench's --sizes; of uneven ones the largest
  std::string model;         // "aries", "aries-nodes" or a tuning table; empty: this machine's, else aries-nodes
  std::string distribution = "equal";
  double skew = 1;                      // the busiest rank's blocks are so many times as large as the mean, of --sizes
  int processors = 0;                   // of a node; 0: as the model has it, else as many as ranks
  bool no_load_store = false;           // ranks of a node do not reach each other's buffers
  std::vector<std::string> algorithms;  // only these, as written; empty: all, with their best parameters
  bool json = false;
};

// Returns the exit status.
int explain_command(const ExplainOptions& options);

}  // namespace quadrille::tools
