// From the driver to GPUs that all ranks of a run use.
#pragma once

#include <memory>
#include <string>

#include "tool/bench/device/facts.hpp"

namespace quadrille::tools {

// What a rank has found by itself.
struct DeviceStart {
  std::shared_ptr<Gpu> gpu;
  std::string problem;  // why there is none
};
// Before MPI starts: some MPIs look then which device is used. A rank without a driver starts MPI all the same, so that
// nobody waits for it.
DeviceStart start_device(DeviceKind kind);

// Collective, after MPI has started. Empty, or one line on all ranks about the first rank that has no GPU. Takes the
// GPU where the launcher did not say which rank of its machine this is, and measures the ceilings if they are wanted.
std::string join_devices(DeviceStart start, bool wants_rates, std::shared_ptr<const DeviceRun>& run);

}  // namespace quadrille::tools
