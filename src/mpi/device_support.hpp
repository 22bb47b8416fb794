// Does the MPI take pointers to a device's memory?
#pragma once

#include <cstdint>
#include <string_view>

namespace quadrille {

// In what an MPI takes pointers to a device's memory. Some send and receive it, but touch it with the processor in
// their collectives: Open MPI 5 with UCX, built without CUDA.
enum class DeviceUse : std::uint8_t { none, messages, all };

// What it says of itself. MPI must be initialised. An MPI that says nothing takes none: a device's pointer in the hands
// of one that cannot use it ends the job.
struct DeviceSupport {
  bool takes_devices = false;
  std::string_view said_by;  // "mpi_memory_alloc_kinds", ...; empty: by nothing
};
DeviceSupport device_support();

// Does a list of kinds as MPI 4.1 has it, "system,mpi,cuda:device,...", name a device's memory?
bool names_devices(std::string_view kinds);

}  // namespace quadrille
