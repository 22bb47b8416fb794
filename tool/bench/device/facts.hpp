// What a reader must know of the GPUs of a measurement.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mpi/device_support.hpp"
#include "tool/bench/device/gpu.hpp"
#include "tool/bench/device/rates.hpp"
#include "tool/bench/world.hpp"

namespace quadrille::tools {

struct DeviceFacts {
  DeviceKind kind = DeviceKind::cuda;
  std::string name, driver_version;        // of rank 0
  int devices = 0;                         // of rank 0's machine, that it may see
  int gpus = 0;                            // that these ranks use
  int ranks_a_gpu = 0;                     // on the GPU that most ranks share
  bool standin = false;                    // a stand-in of a driver
  DeviceUse mpi_device = DeviceUse::none;  // in what all ranks' MPIs take pointers to a device's memory
  std::string said_by;                     // by what that is known; empty: the MPI does not say so
  bool stages_mpi = false;  // so the MPI's calls get memory of the host, and the benchmark brings the data
  GpuRates rates{};
};

// Collective, when each rank uses its GPU. `rates` are those that were measured, or none.
DeviceFacts find_facts(const Gpu& gpu, bool stages_mpi, const GpuRates& rates, const World& world);

// The part of a bus or a GPU that each of these ranks has, as if it were alone: which rank of its GPU is this, of how
// many?
struct Sharing {
  int place = 0, ranks = 1, gpus = 1;
  int most = 1;  // ranks of a GPU
};
// Collective.
Sharing find_sharing(const Gpu& gpu, const World& world);

// Two lines, which begin with '#'.
std::string facts_text(const DeviceFacts& facts);
nlohmann::ordered_json to_json(const DeviceFacts& facts);

// The benchmark's use of the GPUs of a run, from the start of MPI to its end.
struct DeviceRun {
  std::shared_ptr<Gpu> gpu;
  GpuRates rates{};
};

}  // namespace quadrille::tools
