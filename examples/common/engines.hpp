// What a transform is done with: which memory its exchanges work on, who takes that, and who transforms lines.
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
  bool staged = false;             // the program itself brings data to the host around each exchange
  std::string exchanged_by;        // of a device's memory: "quadrille", "mpi", "staged", "direct"; else "host"

  const char* fft() const { return cufft ? "cufft" : "fftw"; }
  std::string device_name() const { return device ? device->name() : "host"; }
};

// Collective. Throws std::runtime_error on all ranks alike: no driver, no cuFFT where it is asked for, or nobody who
// takes a device's memory in an exchange.
Engines open_engines(const EngineOptions& options, const World& world);

// Bytes that a rank is going to take.
struct Room {
  double host = 0;
  double device = 0;
};

// Collective. Throws std::runtime_error on all ranks alike if that is more than the nodes and devices of the ranks have
// left. `what` begins the message: "a mesh of 8 x 8 on 2 ranks".
void check_room(const Room& room, Device* device, const std::string& what, const World& world);

}  // namespace examples
