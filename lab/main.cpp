// `quadrille-lab`: the experiments of the papers, simulated networks, and pictures.
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "abi/abi.hpp"
#include "lab/bench_options.hpp"
#include "lab/copy_phase/copy_phase.hpp"
#include "lab/draw/show_svg.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/stored.hpp"
#include "lab/map/show_map.hpp"
#include "lab/simulate/command.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/process.hpp"
#include "tool/line/line.hpp"
#include "tool/machine/topology.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {
namespace {

void add_bench(Line& line, LabOptions& options) {
  CLI::App* command =
      add_command(line, "bench", "Repeat an experiment of a paper, or measure the copies of a collective alone",
                  "\nExamples:\n"
                  "  mpirun -n 8 quadrille-lab bench --figure hint-6\n"
                  "  quadrille-lab bench --figure bruck-6-simulated\n"
                  "  quadrille-lab bench --copy-phase --ranks 64 --sizes 8:4K\n");
  add_lab_options(*command, options);
  command->callback([&] {
    line.action = [&] { return options.copy_phase ? copy_phase_command(options) : figure_command(options); };
  });
}

struct Drawn {
  ShowOptions schedule;
  std::string svg;
  bool as_map = false;
  MapOptions map;
};

int draw(Drawn& drawn) {
  const std::string problem = read_topology(drawn.schedule.unit_domains);
  if (problem.empty()) return show_svg_command(drawn.schedule, drawn.svg);
  complain(problem);
  return bad_options;
}

void add_map_options(CLI::App& command, MapOptions& map, CLI::Option* as_map) {
  command.add_option("--map-ranks", map.ranks, "Numbers of ranks, as --sizes of bench")->default_str("128:32768:x2");
  command.add_option("--map-sizes", map.sizes, "N of blocks uniform in 0..N")->default_str("16:2048:x2");
  command.add_option(
      "--model", map.model,
      "'paper' (its formulas), 'aries' (our model for that network) or a tuning table; by default that of "
      "this machine, else aries");
  CLI::Option* measured = command.add_option(
      "--measured", map.measured, "JSON files of 'quadrille bench alltoallv' instead; all of blocks of one kind");
  command.add_option("--map-json", map.json, "Write the cells to this file, too")->excludes(measured);
  for (const char* of_model : {"--map-ranks", "--map-sizes", "--model"}) {
    measured->excludes(command.get_option(of_model));
  }
  for (const char* name : {"--map-ranks", "--map-sizes", "--model", "--measured", "--map-json"}) {
    command.get_option(name)->needs(as_map);
  }
}

void add_show(Line& line, Drawn& drawn) {
  CLI::App* command =
      add_command(line, "show", "Draw the schedule of an algorithm, or a map of the fastest ones",
                  "\nExamples:\n"
                  "  quadrille-lab show --algorithms two-phase-bruck --collective alltoallv --ranks 8 --svg bruck.svg\n"
                  "  quadrille-lab show --map\n"
                  "  quadrille-lab show --map --measured p8.json p16.json\n");
  command->add_option("--svg", drawn.svg,
                      "Draw the schedule into this file: messages between all ranks, the order of copies on the "
                      "square of blocks, or the hops of a neighbourhood of one or two dimensions");
  add_schedule_options(*command, drawn.schedule);
  CLI::Option* as_map =
      command->add_flag("--map", drawn.as_map, "Which algorithm of Alltoallv is fastest at which N and P");
  add_map_options(*command, drawn.map, as_map);
  command->callback([&line, &drawn, command] {
    // Said here, so that the help does not say of each that it excludes the others.
    for (const char* name :
         {"--collective", "--algorithms", "--ranks", "--nodes", "--node-map", "--neighborhood", "--grid", "--svg"}) {
      if (drawn.as_map && command->get_option(name)->count() > 0) throw CLI::ExcludesError("--map", name);
    }
    if (!drawn.as_map && drawn.svg.empty()) throw CLI::RequiredError("--svg or --map");
    line.action = [&drawn] { return drawn.as_map ? show_map_command(drawn.map) : draw(drawn); };
  });
}

struct Stored {
  std::vector<std::string> files;
  bool as_json = false;
};

void add_judge(Line& line, Stored& stored) {
  CLI::App* command = add_command(line, "judge", "Compare stored figures with what the papers say",
                                  "\nExamples:\n  quadrille-lab judge docs/results/hint/hint-8.json\n");
  command->add_option("files", stored.files, "Data of figures")->required();
  command->add_flag("--json", stored.as_json, "Print the claims with their verdicts instead of tables of times");
  command->callback([&] { line.action = [&] { return judge_command(stored.files, stored.as_json); }; });
}

int run_lab(std::vector<std::string> words) {
  Line line("The experiments of the papers on all-to-all collectives, repeated with Quadrille", "quadrille-lab");
  line.app.require_subcommand(1);
  line.app.footer(
      "\nExamples:\n"
      "  mpirun -n 8 quadrille-lab bench --figure hint-6             # repeat a figure of a paper\n"
      "  quadrille-lab simulate alltoall --ranks 1024 --per-node 32  # run schedules through a simulated network\n"
      "  quadrille-lab show --map                                    # draw which algorithm is fastest where\n");
  line.app.set_version_flag("--version", "quadrille-lab " + abi::version_text());
  LabOptions bench;
  add_bench(line, bench);
  Drawn drawn;
  add_show(line, drawn);
  simulate::SimulateOptions simulated;
  simulate::add_simulate(line.app, simulated, line.action);
  Stored stored;
  add_judge(line, stored);
  return read_line(line, std::move(words));
}

}  // namespace
}  // namespace quadrille::tools

int main(int argc, char** argv) {
  try {
    return quadrille::tools::run_lab({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    quadrille::tools::complain(error.what());
    return 1;
  }
}
