// `quadrille`: the command line tool. Reads the options of all subcommands; the work is elsewhere.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "quadrille.h"
#include "simulate/command.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/options.hpp"
#include "tools/doctor/doctor.hpp"
#include "tools/explain/explain.hpp"
#include "tools/launch/launcher.hpp"
#include "tools/launch/process.hpp"
#include "tools/launch/run.hpp"
#include "tools/machine/info.hpp"
#include "tools/machine/topology.hpp"
#include "tools/plans/list.hpp"
#include "tools/plans/show.hpp"
#include "tools/plans/verify.hpp"
#include "tools/tune/show_map.hpp"
#include "tools/tune/tune.hpp"

namespace quadrille::tools {
namespace {

constexpr int bad_usage = 2;

// What the subcommands share while the command line is read.
struct Line {
  CLI::App app{"Fast all-to-all collectives on any MPI", "quadrille"};
  std::function<int()> action;  // what the chosen subcommand does
};

CLI::App* add_command(Line& line, const char* name, const char* what, const char* examples) {
  CLI::App* command = line.app.add_subcommand(name, what);
  command->footer(examples);
  command->get_formatter()->column_width(34);
  return command;
}

void add_run(Line& line, RunOptions& options, std::string& abi) {
  CLI::App* command = add_command(
      line, "run", "Start an MPI program with Quadrille's collectives",
      "\nUsage: quadrille run [--mpi auto|openmpi|mpich] [--explain] -- mpirun -n 4 ./app ...\n\n"
      "The command is written as without Quadrille. The program needs no change; its exit status\n"
      "and signals pass through.\n\n"
      "Examples:\n"
      "  quadrille run -- mpirun -n 4 ./app input.txt\n"
      "  quadrille run --explain -- mpirun -n 4 python3 app.py\n"
      "  QUADRILLE_ALGORITHM=alltoall=pairwise quadrille run -- srun -n 64 ./app\n");
  command
      ->add_option("--mpi", abi, "MPI of the program; auto reads it from the program's libraries")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->default_str("auto");
  command->add_flag("--explain", options.explain,
                    "Say once per distinct call what was chosen and why (QUADRILLE_EXPLAIN=1)");
  command->callback([&line, &options, &abi] {
    line.action = [&options, &abi] {
      abi_from_name(abi, options.abi);
      return run_command(options);
    };
  });
}

void add_doctor(Line& line, DoctorOptions& options, std::string& abi) {
  CLI::App* command = add_command(
      line, "doctor", "Say whether a command would be served, what is in the way, and what to do",
      "\nUsage: quadrille doctor [--mpi auto|openmpi|mpich] [--no-trial] [--json] [-- mpirun -n 4 ./app ...]\n\n"
      "Looks at the launcher, the program's MPI, limits, and the ways between ranks, and measures for some\n"
      "seconds with your launcher and its options. Your program is not started. The exit status is 0 if\n"
      "nothing is in the way, else 1.\n\n"
      "Examples:\n"
      "  quadrille doctor\n"
      "  quadrille doctor -- mpirun -n 4 ./app\n"
      "  quadrille doctor --no-trial -- srun -n 64 ./app\n");
  command
      ->add_option("--mpi", abi, "MPI of the program, as in run")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->default_str("auto");
  command->add_flag("--no-trial", options.no_trial, "Start nothing");
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&line, &options, &abi] {
    line.action = [&options, &abi] {
      abi_from_name(abi, options.run.abi);
      return doctor_command(options);
    };
  });
}

void add_bench(Line& line, BenchOptions& options) {
  CLI::App* command = add_command(
      line, "bench", "Measure collectives: the MPI's own and Quadrille's, interleaved in one run",
      "\nBatches of calls of the implementations follow each other, in an order drawn for each round.\n"
      "A time is the maximum over the ranks; the table shows the median over the batches. Results\n"
      "are checked.\n\n"
      "Examples:\n"
      "  mpirun -n 2 quadrille bench alltoall --sizes 8:1M\n"
      "  mpirun -n 4 quadrille bench allgather --sizes 64,1000,4K --algorithms ring,bruck:radix=4\n"
      "  mpirun -n 4 quadrille bench alltoallv --distribution uniform --json out.json\n"
      "  mpirun -n 8 quadrille bench alltoallv --distribution file:traffic.txt --sizes 1K:1M\n"
      "  mpirun -n 4 quadrille bench alltoall --nodes roundrobin:2 --cold\n"
      "  mpirun -n 4 quadrille bench alltoallv --overlap --tests 10 --sizes 4K:1M:x4\n"
      "  mpirun -n 8 quadrille bench --figure hint-6\n"
      "  quadrille bench --copy-phase --ranks 64 --sizes 8:4K\n");
  add_bench_options(*command, options);
  command->callback([&] { line.action = [&] { return bench_command(options); }; });
}

void add_info(Line& line, InfoOptions& options) {
  CLI::App* command =
      add_command(line, "info", "Show this machine, its MPIs, and what Quadrille can reach on it",
                  "\nExamples:\n  quadrille info\n  quadrille info --json\n");
  command->add_flag("--json", options.json, "Print JSON");
  // For the child processes that `info` starts for each MPI library and driver; an empty group hides it.
  command->add_option("--describe-library", options.describe_library)->group("");
  command->add_option("--describe-support", options.describe_support)->group("");
  command->add_option("--describe-driver", options.describe_driver)->group("");
  command->callback([&] { line.action = [&] { return info_command(options); }; });
}

void add_list(Line& line, bool& json) {
  CLI::App* command = add_command(line, "list", "List the algorithms with their parameters",
                                  "\nExamples:\n  quadrille list\n  quadrille list --json\n");
  command->add_flag("--json", json, "Print JSON");
  command->callback([&] { line.action = [&] { return list_command(json); }; });
}

void add_verify(Line& line, VerifyOptions& options, std::string& ranks) {
  CLI::App* command = add_command(
      line, "verify", "Prove that the schedules of the algorithms are right, without MPI",
      "\nThe exit status is 0 if everything is proved, else 1.\n\n"
      "Examples:\n"
      "  quadrille verify\n"
      "  quadrille verify --ranks 100 --algorithm zero-rotation-bruck\n");
  command->add_option("--ranks", ranks, "Numbers of ranks: LEAST:MOST or one number")
      ->default_str("1:64");
  command->add_option("--algorithm", options.algorithm, "Only this algorithm");
  command->add_option("--collective", options.collective, "Only this collective");
  command->add_option("--threads", options.threads, "Threads; 0 means one a processor")
      ->check(CLI::Range(0, 1024))
      ->default_str("0");
  command->add_option("--orders", options.orders, "Random orders of execution for each case")
      ->check(CLI::Range(1, 1000000))
      ->default_str("3");
  command->add_flag("--quiet", options.quiet, "Print failures only");
  command->callback([&] {
    line.action = [&] {
      const std::string problem = ranks.empty() ? "" : parse_ranks(ranks, options);
      if (problem.empty()) return verify_command(options);
      complain(problem);
      return bad_usage;
    };
  });
}

void add_map(CLI::App* command, MapOptions& map) {
  command->add_option("--map-ranks", map.ranks, "Map: numbers of ranks, as --sizes of bench")
      ->default_str("128:32768:x2");
  command->add_option("--map-sizes", map.sizes, "Map: N of blocks uniform in 0..N")
      ->default_str("16:2048:x2");
  command->add_option(
      "--model", map.model,
      "Map: 'paper' (its formulas), 'aries' (our model for that network) or a tuning table; by "
      "default that of this machine, else aries");
  command->add_option("--measured", map.measured,
                      "Map: JSON files of 'quadrille bench alltoallv' instead; all of blocks of one kind");
  for (const char* of_model : {"--map-ranks", "--map-sizes", "--model"}) {
    command->get_option("--measured")->excludes(command->get_option(of_model));
  }
}

void add_show(Line& line, ShowOptions& options, MapOptions& map) {
  CLI::App* command =
      add_command(line, "show", "Show the schedule of an algorithm, or a map of the fastest ones",
                  "\nExamples:\n"
                  "  quadrille show --algorithm zero-rotation-bruck:radix=3 --ranks 8 --rank 0\n"
                  "  quadrille show --collective allgather --algorithm ring --ranks 4\n"
                  "  quadrille show --collective neighbor_alltoall --neighborhood moore:2,1 --grid "
                  "4x3m --rank 0\n"
                  "  QUADRILLE_TOPOLOGY='numa:2 core:4 pu:1' quadrille show --algorithm sh-numa-co\n"
                  "  quadrille show --map\n"
                  "  quadrille show --map --measured p8.json p16.json\n");
  command->add_option("--collective", options.collective, "Collective")->default_str("alltoall");
  command->add_option("--algorithm", options.algorithm, "Algorithm, with parameters if wanted")
      ->default_str("zero-rotation-bruck; allgather: bruck; neighbour collectives: torus");
  command->add_option("--ranks", options.ranks, "Number of ranks")
      ->check(CLI::Range(1, 1 << 20))
      ->default_str("8");
  command->add_option("--rank", options.me, "Only this rank")->check(CLI::Range(0, 1 << 20));
  command->add_option("--nodes", options.nodes, "Node map, as in QUADRILLE_NODES");
  command->add_option("--neighborhood", options.neighborhood, "Neighbour collectives: as in bench")
      ->default_str("moore:2,1");
  command
      ->add_option(
          "--grid", options.grid,
          "Neighbour collectives: extents, as 4x3; 4mx3: the first dimension is not periodic")
      ->default_str("an even torus of --ranks");
  add_map(command, map);
  const std::string about_map = "Which algorithm of Alltoallv is fastest at which N and P";
  CLI::Option* as_map = command->add_flag("--map", about_map);
  for (const char* name : {"--map-ranks", "--map-sizes", "--model", "--measured"}) {
    command->get_option(name)->needs(as_map);
  }
  command->callback([&, as_map] {
    line.action = [&, is_map = as_map->count() > 0] {
      if (is_map) return show_map_command(map);
      const std::string problem = read_topology(options.unit_domains);
      if (problem.empty()) return show_command(options);
      complain(problem);
      return bad_usage;
    };
  });
}

void add_explain(Line& line, ExplainOptions& options, std::string& algorithms) {
  CLI::App* command =
      add_command(line, "explain", "Say how long each algorithm would take on many nodes, by the cost model, and why",
                  "\nThe fastest comes first, each with its best parameters. Without --model the table of this machine\n"
                  "counts if it has a model ('quadrille tune --model'), else assumed constants.\n\n"
                  "Examples:\n"
                  "  quadrille explain alltoall --nodes 256 --per-node 128 --size 64\n"
                  "  quadrille explain alltoallv --nodes 16 --per-node 48 --size 1K --distribution uniform\n"
                  "  quadrille explain allgather --nodes 8 --per-node 4 --size 8 --map round-robin --json\n"
                  "  quadrille explain alltoall --map 0,0,0,1,1,2 --size 4K --algorithms leaders,single-copy\n");
  command->add_option("collective", options.collective, "Collective, as in bench")->required();
  command->add_option("--nodes", options.nodes, "Number of nodes")->check(CLI::Range(1, 1 << 20));
  command->add_option("--per-node", options.per_node, "Ranks on each node")->check(CLI::Range(1, 1 << 20));
  command->add_option("--size", options.size, "Bytes of a block; the largest of a --distribution")->default_str("64");
  command
      ->add_option("--map", options.map,
                   "Which rank lives where: blocked, round-robin, a node map as in QUADRILLE_NODES, or the node of each "
                   "rank, as 0,0,1,1")
      ->default_str("blocked");
  command->add_option("--model", options.model, "'aries', 'aries-nodes' or a tuning table; by default that of this machine");
  CLI::Option* distribution =
      command->add_option("--distribution", options.distribution, "Sizes of uneven blocks, as in bench")->default_str("equal");
  command->add_option("--skew", options.skew, "The busiest rank's blocks are so many times as large as the mean, --size")
      ->default_str("1")
      ->excludes(distribution);
  command->add_option("--processors", options.processors, "Of a node; by default as in the model, else one a rank")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--no-load-store", options.no_load_store,
                    "Ranks of a node do not reach each other's buffers by load and store");
  command->add_option("--algorithms", algorithms, "Only these, with the parameters given, as in bench");
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&] {
    line.action = [&] {
      if (!algorithms.empty()) options.algorithms = split_algorithms(algorithms);
      return explain_command(options);
    };
  });
}

void add_tune(Line& line, TuneOptions& options) {
  CLI::App* command =
      add_command(line, "tune", "Measure this machine, and keep what serves to choose",
                  "\nTakes some seconds. The table is used by programs with about as many ranks on this "
                  "machine.\n\n"
                  "Examples:\n"
                  "  mpirun -n 2 quadrille tune\n"
                  "  mpirun -n 8 quadrille tune --file table.json   (then QUADRILLE_TUNING=table.json)\n"
                  "  mpirun -n 8 quadrille tune --algorithms --sizes 64:1M:x4\n"
                  "  mpirun -n 64 quadrille tune --model            (a rank a node; see 'quadrille show "
                  "--map')\n"
                  "  mpirun -n 64 quadrille tune --neighbors --neighborhood moore:3,1\n");
  command->add_option("--file", options.file,
                      "Tuning table; by default where the library looks for it");
  command->add_option("--batches", options.batches, "Batches of calls of each way and size")
      ->check(CLI::Range(1, 1000))
      ->default_str("15");
  CLI::Option* algorithms = command->add_flag(
      "--algorithms", options.algorithms,
      "Measure instead which algorithm of Alltoall and Allgather is best at which block size");
  command->add_option("--sizes", options.sizes, "With --algorithms: bytes of a block, as in bench")
      ->default_str("from 8 to 1M")
      ->needs(algorithms);
  command->add_flag("--model", options.model,
                    "Fit the cost model of messages between nodes instead");
  CLI::Option* neighbors =
      command->add_flag("--neighbors", options.neighbors,
                        "Measure how neighbours are served best instead: up to which block messages between nodes "
                        "are better combined, and in which order a node's ranks copy");
  neighbors->excludes(command->get_option("--model"));
  algorithms->excludes(command->get_option("--model"))->excludes(neighbors);
  command
      ->add_option("--neighborhood", options.neighborhoods, "With --neighbors: as in bench; may be given several times")
      ->default_str("moore:2,1, and moore:3,1 from 8 ranks on")
      ->needs(neighbors);
  command->add_flag("--dry", options.dry, "Measure and print, write nothing");
  command->callback([&] { line.action = [&] { return tune_command(options); }; });
}

// CLI11's messages, as one line that also says where to read on.
std::string one_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string where =
      chosen.empty() ? "quadrille --help" : "quadrille " + chosen.front()->get_name() + " --help";
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
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::string words;
    for (const std::string& word : app.remaining(true)) words += (words.empty() ? "" : " ") + word;
    text = "unknown option or argument: " + words;
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

int run_tool(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  Line line;
  RunOptions run;
  BenchOptions bench;
  VerifyOptions verify;
  ShowOptions show;
  std::string abi = "auto", ranks;
  bool list_json = false;
  InfoOptions info;
  line.app.require_subcommand(1);
  line.app.set_version_flag(
      "--version",
      fmt::format("quadrille {}.{}.{} for {}", QUADRILLE_VERSION_MAJOR, QUADRILLE_VERSION_MINOR,
                  QUADRILLE_VERSION_PATCH, title_of(own_abi())));
  add_run(line, run, abi);
  DoctorOptions doctor;
  add_doctor(line, doctor, abi);
  add_bench(line, bench);
  add_info(line, info);
  add_list(line, list_json);
  add_verify(line, verify, ranks);
  MapOptions map;
  add_show(line, show, map);
  ExplainOptions explain;
  std::string explained;
  add_explain(line, explain, explained);
  TuneOptions tune;
  add_tune(line, tune);
  simulate::SimulateOptions simulated;
  simulate::add_simulate(line.app, simulated, [&line](std::function<int()> action) { line.action = std::move(action); });
  if (!words.empty() && !words[0].starts_with('-')) {
    if (const std::string problem = why_unknown(line.app, words[0]); !problem.empty()) {
      complain_once(problem);
      return bad_usage;
    }
  }
  if (!words.empty() && (words[0] == "run" || words[0] == "doctor")) {
    // The command that is run has options of its own: they are not for us.
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    words.resize(1);
    split_run_words(rest, words, words[0] == "run" ? run.command : doctor.run.command);
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    line.app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help, --version
    complain_once(one_line(line.app, error));
    return bad_usage;
  }
  return line.action();
}

}  // namespace
}  // namespace quadrille::tools

int main(int argc, char** argv) {
  try {
    return quadrille::tools::run_tool(argc, argv);
  } catch (const std::exception& error) {
    quadrille::tools::complain(error.what());
    return 1;
  }
}
