// The options of `quadrille-lab simulate`.
#include <CLI/CLI.hpp>

#include "lab/simulate/command.hpp"

namespace quadrille::simulate {

void add_simulate(CLI::App& app, SimulateOptions& options, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Run the schedules of all ranks through a simulated network of many nodes");
  command->footer(
      "\nMessage by message: LogGOPS with nodes, whose ranks share an adapter and memory. Beside the algorithms\n"
      "stand the rivals: what Open MPI and MPICH choose by themselves, as schedules of ours.\n\n"
      "Examples:\n"
      "  quadrille-lab simulate alltoall --ranks 1024 --per-node 32\n"
      "  quadrille-lab simulate alltoall --ranks 32768 --per-node 128 --sizes 8:1K:x2 --algorithms "
      "leaders:leaders=128\n"
      "  quadrille-lab simulate allgather --ranks 4096 --per-node 64 --algorithms bruck,ring --network hdr:slow\n"
      "  quadrille-lab simulate alltoallv --ranks 512 --distribution uniform --network file.json --json out.json\n"
      "  quadrille-lab simulate neighbor_alltoall --ranks 512 --per-node 8 --neighborhood moore:3,1 --grid 8x8x8\n"
      "  quadrille-lab simulate --list-networks\n");
  command->add_option("collective", options.collective, "Collective, as in bench, also between neighbours")
      ->default_str("alltoall");
  tools::add_layout_options(*command, options.layout);
  command->add_option("--sizes", options.sizes, "Bytes of a block, as in bench; the largest of a --distribution")
      ->default_str("8:1K:x2");
  command
      ->add_option("--distribution", options.distribution,
                   "Of uneven blocks: equal, or uniform, all taken for half as large as the largest")
      ->check(CLI::IsMember({"equal", "uniform"}))
      ->default_str("equal");
  command
      ->add_option("--neighborhood", options.neighborhood,
                   "For neighbour collectives, as in bench: moore:D,R, von-neumann:D, offsets:...")
      ->default_str(default_neighborhood);
  command->add_option("--grid", options.grid,
                      "For neighbour collectives, extents as 4x2; 4x2m is no ring in the second. Else an even torus");
  command
      ->add_option("--algorithms,--algorithm", options.algorithms,
                   "These, with parameters if wanted, as in bench; or all")
      ->default_str("all");
  command
      ->add_option("--network", options.network,
                   "One of --list-networks, with :fast, :slow, :copying or :sending for the ends of its ranges, or a "
                   "file of JSON")
      ->default_str("slingshot");
  command->add_flag("--no-rivals", options.no_rivals, "Without Open MPI and MPICH");
  command->add_flag("--every-rank", options.every_rank,
                    "Simulate every rank, even if those of one node could stand for all");
  command->add_flag("--agree", options.agree,
                    "All ranks learn the largest block first, also where no schedule of ours needs it");
  command->add_option("--memory", options.gigabytes, "At most so many GB")
      ->check(CLI::Range(0.1, 1e6))
      ->default_str("6");
  command->add_option("--json", options.json, "Write all results to this file");
  command->add_flag("--list-networks", options.list_networks, "Name the networks and where their constants come from");
  command->callback([&] { action = [&options] { return simulate_command(options); }; });
}

}  // namespace quadrille::simulate
