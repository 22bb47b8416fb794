// `quadrille-lab show --map`: which algorithm is fastest for Alltoallv, by the cost model or by
// measurements (Fan et al., HPDC 2022, figure 9).
#pragma once

#include <string>
#include <vector>

namespace quadrille::tools {

struct MapOptions {
  std::string ranks = "128:32768:x2";  // P, as bench's --sizes
  std::string sizes = "16:2048:x2";    // N: block sizes are uniform in 0..N
  // "paper": the paper's formulas; "aries": our model with the constants of aries(); else a tuning
  // table; empty: this machine's table.
  std::string model;
  std::vector<std::string> measured;  // JSON files of quadrille bench alltoallv: draw these instead
  std::string json;                   // file to write the cells to
};

// Without MPI. Returns the exit status.
int show_map_command(const MapOptions& options);

}  // namespace quadrille::tools
