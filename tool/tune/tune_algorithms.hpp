// `quadrille tune --algorithms`: which algorithm is best at which block size.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "choose/tuning.hpp"
#include "team/team.hpp"
#include "tool/bench/device/gpu.hpp"

namespace quadrille::tools {

struct AlgorithmsOptions {
  int batches = 15;                // of each algorithm and size
  std::vector<std::size_t> sizes;  // none: a ladder
  std::shared_ptr<Gpu> gpu;        // of this rank, in whose memory its data are; null: the host's
};

// Why `sizes`, as bench reads them, cannot be measured. Empty if they can, or if there are none.
std::string why_no_sizes(const std::string& sizes);

// Collective: measures alltoall and allgather over the ranks of `team`; rank 0 prints the times. Nothing if no size can
// be measured.
std::vector<choose::AlgorithmEntry> tune_algorithms(team::Team& team, const AlgorithmsOptions& options);

}  // namespace quadrille::tools
