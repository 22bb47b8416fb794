// Does the MPI take pointers to a device's memory?
#pragma once

#include <string_view>

namespace quadrille {

// What it says of itself. MPI must be initialised. An MPI that says nothing takes none: a device's pointer in the hands of
// one that cannot use it ends the job.
struct DeviceSupport {
  bool takes_devices = false;
  std::string_view said_by;  // "mpi_memory_alloc_kinds", ...; empty: by nothing
};
DeviceSupport device_support();

}  // namespace quadrille
