#include "tool/line/line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "text/edits.hpp"
#include "tool/bench/options.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/line/progress.hpp"
#include "tool/plans/map_options.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {
namespace {

void add_map(CLI::App* command, MapOptions& map) {
  command->add_option("--map-ranks", map.ranks, "Map: numbers of ranks, as --sizes of bench")
      ->default_str("128:32768:x2");
  command->add_option("--map-sizes", map.sizes, "Map: N of blocks uniform in 0..N")->default_str("16:2048:x2");
  command->add_option("--model", map.model,
                      "Map: 'paper' (its formulas), 'aries' (our model for that network) or a tuning table; by "
                      "default that of this machine, else aries");
  command->add_option("--measured", map.measured,
                      "Map: JSON files of 'quadrille bench alltoallv' instead; all of blocks of one kind");
  command->add_option("--map-json", map.json, "Map: write its cells to this file, too")
      ->excludes(command->get_option("--measured"));
  for (const char* of_model : {"--map-ranks", "--map-sizes", "--model"}) {
    command->get_option("--measured")->excludes(command->get_option(of_model));
  }
}

// "--sise 8": " (did you mean --sizes?)"
std::string guess_option(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const auto shown =
      command.get_options([](const CLI::Option* one) { return !one->get_group().empty() && !one->get_positional(); });
  std::vector<std::string> names;
  for (const CLI::Option* option : shown) names.push_back(option->get_name());
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string_view guess = text::nearest(word.substr(0, word.find('=')), names);
    if (!guess.empty()) return fmt::format(" (did you mean {}?)", guess);
  }
  return "";
}

// CLI11's messages, as one line that also says where to read on.
std::string one_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string where = chosen.empty() ? "quadrille --help" : "quadrille " + chosen.front()->get_name() + " --help";
  std::string text = error.what();
  // CLI11 says "Could not convert: --seed = x".
  if (const std::string before = "Could not convert: "; text.starts_with(before)) {
    const std::size_t equals = text.find(" = ");
    if (equals != std::string::npos) {
      text = fmt::format("'{}' is no value for {}", text.substr(equals + 3),
                         text.substr(before.size(), equals - before.size()));
    }
  }
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  const std::string guess = guess_option(app, app.remaining(true));
  // What is missing may stand there with a slip of the pen.
  const bool is_slip = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !guess.empty();
  if (is_slip || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::string words;
    for (const std::string& word : app.remaining(true)) words += (words.empty() ? "" : " ") + word;
    text = "unknown option or argument: " + words + guess;
  }
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text + "; see '" + where + "'";
}

// Empty if `name` is a subcommand.
std::string why_unknown(CLI::App& app, const std::string& name) {
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_name() == name) return "";
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return fmt::format("unknown subcommand '{}'; known are {}", name, known);
}

}  // namespace

CLI::App* add_command(Line& line, const char* name, const char* what, const char* examples) {
  CLI::App* command = line.app.add_subcommand(name, what);
  command->footer(examples);
  return command;
}

void add_progress(CLI::App& command) {
  command.add_flag_callback("--progress", show_progress_always,
                            "Say every three seconds on stderr what is done, also without a terminal");
}

void add_bench(Line& line, BenchOptions& options, Action action) {
  CLI::App* command =
      add_command(line, "bench", "Measure collectives: the MPI's own and Quadrille's, interleaved in one run",
                  "\nBatches of calls of the implementations follow each other, in an order drawn for each round.\n"
                  "A time is the maximum over the ranks; the table shows the median over the batches. Results\n"
                  "are checked.\n\n"
                  "Examples:\n"
                  "  mpirun -n 2 quadrille bench alltoall --sizes 8:1M\n"
                  "  mpirun -n 4 quadrille bench allgather --sizes 64,1000,4K --algorithms ring,bruck:radix=4\n"
                  "  mpirun -n 4 quadrille bench alltoallv --distribution uniform --json out.json\n"
                  "  mpirun -n 8 quadrille bench alltoallv --distribution file:traffic.txt --sizes 1K:1M\n"
                  "  mpirun -n 4 quadrille bench alltoall --node-map roundrobin:2 --cold\n"
                  "  mpirun -n 4 quadrille bench alltoallv --overlap --tests 10 --sizes 4K:1M:x4\n"
                  "  mpirun -n 8 quadrille bench --figure hint-6\n"
                  "  quadrille bench --copy-phase --ranks 64 --sizes 8:4K\n");
  add_bench_options(*command, options);
  command->callback([&line, action = std::move(action)] { line.action = action; });
}

void add_show(Line& line, ShowOptions& options, MapOptions& map, Action of_schedule, Action of_map) {
  CLI::App* command =
      add_command(line, "show", "Show the schedule of an algorithm, or a map of the fastest ones",
                  "\nExamples:\n"
                  "  quadrille show --algorithms zero-rotation-bruck:radix=3 --ranks 8 --rank 0\n"
                  "  quadrille show --collective allgather --algorithms ring --ranks 4\n"
                  "  quadrille show --collective neighbor_alltoall --neighborhood moore:2,1 --grid "
                  "4x3m --rank 0\n"
                  "  QUADRILLE_TOPOLOGY='numa:2 core:4 pu:1' quadrille show --algorithms sh-numa-co\n"
                  "  quadrille show --algorithms two-phase-bruck --collective alltoallv --ranks 8 --svg bruck.svg\n"
                  "  quadrille show --algorithms zero-rotation-bruck --html schedules.html\n"
                  "  quadrille show --map\n"
                  "  quadrille show --map --measured p8.json p16.json\n");
  command->add_option("--collective", options.collective, "Collective")->default_str("alltoall");
  command->add_option("--algorithms,--algorithm", options.algorithm, "One algorithm, with parameters if wanted")
      ->default_str("zero-rotation-bruck; allgather: bruck; neighbour collectives: torus");
  command->add_option("--ranks", options.ranks, "Number of ranks")->check(CLI::Range(1, 1 << 20))->default_str("8");
  command->add_option("--rank", options.me, "Only this rank")->check(CLI::Range(0, 1 << 20));
  add_node_options(*command, options.layout);
  command->add_option("--neighborhood", options.neighborhood, "Neighbour collectives: as in bench")
      ->default_str("moore:2,1");
  command
      ->add_option("--grid", options.grid,
                   "Neighbour collectives: extents, as 4x3; 4mx3: the first dimension is not periodic")
      ->default_str("an even torus of --ranks");
  command->add_option(
      "--svg", options.svg,
      "Draw it into this file: messages between all ranks, the order of copies on the square of blocks, or "
      "the hops of a neighbourhood of one or two dimensions");
  command->add_option(
      "--html", options.html,
      "Write a page into this file on which blocks move step by step, for all algorithms and up to 16 ranks");
  add_map(command, map);
  command->get_option("--html")->excludes(command->get_option("--svg"))->excludes(command->get_option("--rank"));
  command->get_option("--svg")->excludes(command->get_option("--rank"));
  const std::string about_map = "Which algorithm of Alltoallv is fastest at which N and P";
  CLI::Option* as_map = command->add_flag("--map", about_map);
  for (const char* name : {"--map-ranks", "--map-sizes", "--model", "--measured", "--map-json"}) {
    command->get_option(name)->needs(as_map);
  }
  command->callback(
      [&line, command, &options, as_map, of_schedule = std::move(of_schedule), of_map = std::move(of_map)] {
        // Said here, so that the help does not say of each that it excludes the others.
        for (const char* name : {"--collective", "--algorithms", "--ranks", "--rank", "--nodes", "--node-map",
                                 "--neighborhood", "--grid", "--svg", "--html"}) {
          if (as_map->count() > 0 && command->get_option(name)->count() > 0) throw CLI::ExcludesError("--map", name);
        }
        options.layout.ranks = options.ranks;
        if (const std::string problem = understand_nodes(options.layout, options.nodes); !problem.empty()) {
          throw CLI::ParseError(problem, CLI::ExitCodes::ValidationError);
        }
        line.action = as_map->count() > 0 ? of_map : of_schedule;
      });
}

int read_line(Line& line, const std::vector<std::string>& words) {
  if (words.empty()) {
    std::string examples = line.app.get_footer();
    while (examples.ends_with('\n')) examples.pop_back();
    complain_once("a subcommand is required; see 'quadrille --help'" + examples);
    return bad_options;
  }
  if (!words[0].starts_with('-')) {
    if (const std::string problem = why_unknown(line.app, words[0]); !problem.empty()) {
      complain_once(problem);
      return bad_options;
    }
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    line.app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help, --version
    complain_once(one_line(line.app, error));
    return bad_options;
  }
  return line.action();
}

}  // namespace quadrille::tools
