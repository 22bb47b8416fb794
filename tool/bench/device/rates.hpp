// What a GPU and its bus can do: the ceilings of all that moves data of a GPU.
#pragma once

#include <memory>

#include "mpi/mpi.hpp"
#include "tool/bench/device/gpu.hpp"

namespace quadrille::tools {

// In 10^9 bytes a second, of the slowest GPU while all are at work; 0: not measured.
struct GpuRates {
  double device_copy = 0;  // from its memory to its memory; what is copied counts once
  double to_device = 0, to_host = 0;
  double both_ways = 0;   // at once, the sum of the two
  std::size_t bytes = 0;  // of one copy

  bool are_measured() const { return device_copy > 0; }
};

// Collective. One rank of each GPU copies, and the others wait; `leads` says whether it is this one.
GpuRates measure_rates(const std::shared_ptr<Gpu>& gpu, bool leads, MpiComm world);

}  // namespace quadrille::tools
