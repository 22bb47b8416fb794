// `quadrille show --map`: which algorithm is fastest for Alltoallv, by the cost model or by
// measurements (Fan et al., HPDC 2022, figure 9).
#pragma once

#include "tool/plans/map_options.hpp"

namespace quadrille::tools {

// Without MPI. Returns the exit status.
int show_map_command(const MapOptions& options);

}  // namespace quadrille::tools
