// `quadrille-lab`: what the command leaves to the laboratory. It is started by `quadrille`, with the same words: so
// users and their scripts know one command. A subcommand that only the laboratory has (main.cpp of the tool lists them)
// declares its options here.
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lab/copy_phase/copy_phase.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/stored.hpp"
#include "lab/map/show_map.hpp"
#include "lab/simulate/command.hpp"
#include "tool/bench/options.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"
#include "tool/line/line.hpp"
#include "tool/plans/map_options.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {
namespace {

int not_ours(const char* command) {
  complain_once(std::string("quadrille-lab repeats the experiments of the papers; start it as '") + command + "'");
  return bad_options;
}

int bench_of_lab(const BenchOptions& options) {
  if (options.copy_phase) return copy_phase_command(options);
  if (!options.figure.empty()) return figure_command(options);
  return not_ours("quadrille bench --figure hint-6");
}

struct Pages {
  std::vector<std::string> files;
  bool check = false;
};

void add_pages(Line& line, Pages& pages) {
  CLI::App* command = add_command(line, "pages", "Write the pages of figures anew from their data",
                                  "\nExamples:\n  quadrille-lab pages docs/results/*.json\n");
  command->add_option("files", pages.files, "Data of figures; a page is written beside them")->required();
  command->add_flag("--check", pages.check, "Write nothing: say which pages are not what their data say");
  command->callback([&] { line.action = [&] { return pages_command(pages.files, pages.check); }; });
}

int run_lab(const std::vector<std::string>& words) {
  Line line;
  line.app.require_subcommand(1);
  BenchOptions bench;
  add_bench(line, bench, [&] { return bench_of_lab(bench); });
  ShowOptions show;
  MapOptions map;
  add_show(
      line, show, map, [] { return not_ours("quadrille show --map"); }, [&] { return show_map_command(map); });
  simulate::SimulateOptions simulated;
  simulate::add_simulate(line.app, simulated,
                         [&line](std::function<int()> action) { line.action = std::move(action); });
  Pages pages;
  add_pages(line, pages);
  return read_line(line, words);
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
