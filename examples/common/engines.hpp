// The engines of a transform: the memory of its exchanges, the way to exchange it, and the library for the lines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "command_line.hpp"
#include "device.hpp"
#include "lines.hpp"
#include "world.hpp"

namespace examples {

struct EngineOptions {
  std::string device = "host";
  std::string fft = "auto";
  bool staged = false;
  bool direct = false;
};

void add_engine_options(CommandLine& line, EngineOptions& options);

struct Engines {
  std::unique_ptr<Device> device;  // null: exchanges work on the host's memory
  std::unique_ptr<Cufft> cufft;    // null: FFTW transforms lines, on the host
  bool staged = false;             // the program itself copies data to the host around each exchange
  std::string exchanged_by;        // device memory: "quadrille", "mpi", "staged", "direct"; else "host"

  const char* fft() const { return cufft ? "cufft" : "fftw"; }
  std::string device_name() const { return device ? device->name() : "host"; }
};

// Collective. Throws std::runtime_error on all ranks if the driver or a requested cuFFT is missing, or if the MPI does
// not report support for device memory.
Engines open_engines(const EngineOptions& options, const World& world);

// Bytes that a rank will allocate.
struct Room {
  double host = 0;
  double device = 0;
};

// Collective. Throws std::runtime_error on all ranks if a node or device has less memory left. `what` begins the
// message, for example "a mesh of 8 x 8 on 2 ranks".
void check_room(const Room& room, Device* device, const std::string& what, const World& world);

}  // namespace examples
