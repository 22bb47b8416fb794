// `quadrille-lab simulate`: how long collectives take on machines that nobody here has, by running their schedules
// through a simulated network. Without MPI.
#pragma once

namespace CLI {
class App;
}

#include <functional>
#include <string>
#include <vector>

#include "tool/plans/node_options.hpp"

namespace quadrille::simulate {

inline constexpr const char* default_neighborhood = "moore:2,1";

struct SimulateOptions {
  // As on the command line.
  std::string collective = "alltoall";
  tools::NodeOptions layout;
  std::string sizes = "8:1K:x2";
  std::string distribution = "equal";
  // Of neighbour collectives, as in show; empty: default_neighborhood, and an even torus.
  std::string neighborhood, grid;
  std::vector<std::string> algorithms = {"all"};
  std::string network = "slingshot";
  bool no_rivals = false;
  bool every_rank = false;
  bool agree = false;  // ours: all ranks learn the largest block first
  double gigabytes = 6;
  std::string json;  // a file
  bool list_networks = false;
};

// Adds the subcommand, which sets `action` to what it does.
void add_simulate(CLI::App& app, SimulateOptions& options, std::function<int()>& action);

// Returns the exit status.
int simulate_command(const SimulateOptions& options);

}  // namespace quadrille::simulate
