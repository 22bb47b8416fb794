// `quadrille tune`: measures where one way inside a node becomes better than another, or fits the
// cost model of the network, and writes that to the tuning table of this machine.
#pragma once

#include <string>

namespace quadrille::tools {

struct TuneOptions {
  std::string file;    // empty: where the library looks for it
  int batches = 15;    // of each way and size
  bool dry = false;    // print only
  bool model = false;  // the cost model instead
};

// Run by every rank. Returns the exit status.
int tune_command(const TuneOptions& options);

}  // namespace quadrille::tools
