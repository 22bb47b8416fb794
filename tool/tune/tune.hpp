// `quadrille tune`: measures where one way inside a node becomes better than another, or which algorithm is best at
// which block size, or fits the cost model of the network, or measures neighbour collectives over it, and writes that
// to the tuning table of this machine.
#pragma once

#include <string>
#include <vector>

namespace quadrille::tools {

struct TuneOptions {
  std::string file;         // empty: where the library looks for it
  int batches = 15;         // of each way and size
  bool dry = false;         // print only
  bool algorithms = false;  // which is best at which block size instead
  std::string sizes{};      // of these blocks, as in bench; empty: a ladder
  std::string device{};     // likewise with data in the memory of GPUs: "cuda", "hip"; empty: the host's
  bool model = false;       // the cost model instead
  bool neighbors = false;   // neighbour collectives over messages instead
  std::vector<std::string> neighborhoods{};  // of these; none: some common ones
};

// Run by every rank. Returns the exit status.
int tune_command(const TuneOptions& options);

}  // namespace quadrille::tools
