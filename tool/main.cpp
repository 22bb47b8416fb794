// `quadrille`: the command line tool. Reads the options of all subcommands; the work is elsewhere.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "abi/abi.hpp"
#include "report/report.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/options.hpp"
#include "tool/doctor/doctor.hpp"
#include "tool/explain/explain.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/run.hpp"
#include "tool/line/line.hpp"
#include "tool/machine/info.hpp"
#include "tool/machine/topology.hpp"
#include "tool/plans/list.hpp"
#include "tool/plans/show.hpp"
#include "tool/plans/verify.hpp"
#include "tool/tune/tune.hpp"

namespace quadrille::tools {
namespace {

constexpr int bad_usage = 2;

void add_mpi_option(CLI::App& command, std::string& abi, const char* what) {
  command.add_option("--mpi", abi, what)
      ->check(CLI::IsMember({"auto", "openmpi", "mpich", "standard"}))
      ->default_str("auto");
}

void add_run(Line& line, RunOptions& options, std::string& abi) {
  CLI::App* command =
      add_command(line, "run", "Start an MPI program with Quadrille's collectives",
                  "\nUsage: quadrille run [--mpi auto|openmpi|mpich|standard] [--explain] -- mpirun -n 4 ./app ...\n\n"
                  "The command is the one without Quadrille. The program needs no change.\n\n"
                  "The exit status and all signals are those of the launcher.\n\n"
                  "Examples:\n"
                  "  quadrille run -- mpirun -n 4 ./app input.txt\n"
                  "  quadrille run --explain -- mpirun -n 4 python3 app.py\n"
                  "  QUADRILLE_ALGORITHM=alltoall=pairwise quadrille run -- srun -n 64 ./app\n");
  add_mpi_option(*command, abi, "MPI of the program; auto reads it from the program's libraries");
  command->add_flag("--explain", options.explain,
                    "Print once per distinct call what was chosen and why (QUADRILLE_EXPLAIN=1)");
  command->callback([&line, &options, &abi] {
    line.action = [&options, &abi] {
      abi_from_name(abi, options.abi);
      return run_command(options);
    };
  });
}

void add_report(Line& line, ReportOptions& options, std::string& abi) {
  CLI::App* command = add_command(
      line, "report", "Run an MPI program once and write a page about its collectives: times, traffic, faster choices",
      "\nUsage: quadrille report [--output FILE] [--data FILE] [--no-replay] [--replay-seconds S] [--progress] [--mpi "
      "auto|openmpi|mpich|standard] -- mpirun -n 8 ./app ...\n"
      "       quadrille report --data FILE [--output FILE]\n\n"
      "The program runs as under 'quadrille run', and its calls of the all-to-all family are recorded. Then the\n"
      "calls that took most of the time are replayed, by the MPI and by Quadrille's algorithms in turns. The page\n"
      "needs no network. Without a command the page is made from the file of --data.\n\n"
      "The exit status is the program's; if that is 0, it is 1 if nothing was recorded or the page could not be\n"
      "written.\n\n"
      "Examples:\n"
      "  quadrille report -- mpirun -n 8 ./app input.txt\n"
      "  quadrille report --output fft.html --data fft.json -- srun -n 64 ./fft\n"
      "  quadrille report --data fft.json --output again.html\n"
      "  QUADRILLE=off quadrille report --no-replay -- mpirun -n 8 ./app\n");
  command->add_option("--output", options.output, "The page")->default_str(options.output);
  command->add_option("--data", options.data,
                      "JSON of what was recorded and measured: written, or read if there is no command");
  command->add_flag("--no-replay", options.no_replay, "Do not replay the calls");
  command->add_option("--replay-seconds", options.replay_seconds, "Time limit of the replay, in seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->default_str(fmt::format("{}", usual_seconds_of_replay));
  add_progress(*command);
  add_mpi_option(*command, abi, "MPI of the program, as in run");
  // For the ranks that `report` starts to make the calls again; an empty group hides it.
  command->add_option("--replay-cases", options.replay_cases)->group("");
  command->add_option("--replay-times", options.replay_times)->group("");
  command->add_option("--replay-program", options.replay_program)->group("");
  command->callback([&line, &options, &abi] {
    line.action = [&options, &abi] {
      abi_from_name(abi, options.run.abi);
      return report_command(options);
    };
  });
}

void add_doctor(Line& line, DoctorOptions& options, std::string& abi) {
  CLI::App* command = add_command(
      line, "doctor", "Check whether a command would be served; report what is wrong and how to fix it",
      "\nUsage: quadrille doctor [--mpi auto|openmpi|mpich|standard] [--no-trial] [--progress] [--json] [-- mpirun -n "
      "4 ./app "
      "...]\n\n"
      "Checks the launcher, the program's MPI, interposed tools, limits, and the memory access between ranks, and\n"
      "measures for some seconds with your launcher, its options and the MPI library of the program. Your program\n"
      "is not started.\n\n"
      "The exit status is 0 if no problem was found, else 1.\n\n"
      "Examples:\n"
      "  quadrille doctor\n"
      "  quadrille doctor -- mpirun -n 4 ./app\n"
      "  quadrille doctor --no-trial -- srun -n 64 ./app\n");
  add_mpi_option(*command, abi, "MPI of the program, as in run");
  command->add_flag("--no-trial", options.no_trial, "Start nothing");
  add_progress(*command);
  command->add_flag("--json", options.json, "Print JSON");
  // For the ranks that `doctor` starts in the place of a program; an empty group hides it.
  command->add_option("--measure-for", options.measure_for)->group("");
  command->callback([&line, &options, &abi] {
    line.action = [&options, &abi] {
      abi_from_name(abi, options.run.abi);
      return doctor_command(options);
    };
  });
}

void add_info(Line& line, InfoOptions& options) {
  CLI::App* command = add_command(line, "info", "Show this machine, its MPIs, and what Quadrille can use on it",
                                  "\nExamples:\n  quadrille info\n  quadrille info --json\n");
  command->add_flag("--json", options.json, "Print JSON");
  // For the child processes that `info` starts for each MPI library and driver; an empty group hides it.
  command->add_option("--describe-library", options.describe_library)->group("");
  command->add_option("--describe-support", options.describe_support)->group("");
  command->add_option("--describe-driver", options.describe_driver)->group("");
  command->callback([&] { line.action = [&] { return info_command(options); }; });
}

struct ListOptions {
  bool settings = false;
  bool json = false;
};

void add_list(Line& line, ListOptions& options) {
  CLI::App* command = add_command(line, "list", "List the algorithms with their parameters, or the settings",
                                  "\nExamples:\n  quadrille list\n  quadrille list --settings --json\n");
  command->add_flag("--settings", options.settings, "List the settings: environment variables");
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&] {
    line.action = [&] { return options.settings ? list_settings(options.json) : list_command(options.json); };
  });
}

void add_verify(Line& line, VerifyOptions& options, std::string& ranks) {
  CLI::App* command = add_command(line, "verify", "Prove that the schedules of the algorithms are right, without MPI",
                                  "\nThe exit status is 0 if everything is proved, else 1.\n\n"
                                  "Examples:\n"
                                  "  quadrille verify\n"
                                  "  quadrille verify --ranks 100 --algorithms zero-rotation-bruck\n");
  command->add_option("--ranks", ranks, "Numbers of ranks: LEAST:MOST or one number")->default_str("1:64");
  command->add_option("--algorithms,--algorithm", options.algorithms, "Only these algorithms");
  command->add_option("--collective", options.collective, "Only this collective");
  command->add_option("--threads", options.threads, "Threads; 0: one per processor")
      ->check(CLI::Range(0, 1024))
      ->default_str("0");
  command->add_option("--orders", options.orders, "Random orders of execution for each case")
      ->check(CLI::Range(1, 1000000))
      ->default_str("3");
  command->add_flag("--quiet", options.quiet, "Print failures only");
  add_progress(*command);
  command->callback([&] {
    line.action = [&] {
      const std::string problem = ranks.empty() ? "" : parse_ranks(ranks, options);
      if (problem.empty()) return verify_command(options);
      complain(problem);
      return bad_usage;
    };
  });
}

void add_explain(Line& line, ExplainOptions& options, std::string& algorithms) {
  CLI::App* command = add_command(
      line, "explain", "Estimate the time of each algorithm on many nodes by the cost model, and explain it",
      "\nThe fastest comes first, each with its best parameters. Without --model, the model in this machine's table\n"
      "applies ('quadrille tune --model'), else assumed constants.\n\n"
      "Examples:\n"
      "  quadrille explain alltoall --nodes 256 --per-node 128 --sizes 64\n"
      "  quadrille explain alltoallv --nodes 16 --per-node 48 --sizes 1K --distribution uniform\n"
      "  quadrille explain allgather --nodes 8 --per-node 4 --sizes 8 --node-map round-robin --json\n"
      "  quadrille explain alltoall --node-map 0,0,0,1,1,2 --sizes 4K --algorithms leaders,single-copy\n");
  command->add_option("collective", options.collective, "Collective, as in bench")->required();
  add_layout_options(*command, options.layout);
  command
      ->add_option("--sizes,--size", options.sizes,
                   "Bytes of a block, as in bench; the largest of a --distribution. Each size is explained by itself")
      ->default_str("64");
  command->add_option("--model", options.model,
                      "'aries', 'aries-nodes' or a tuning table; by default that of this machine");
  CLI::Option* distribution =
      command->add_option("--distribution", options.distribution, "Sizes of uneven blocks, as in bench")
          ->default_str("equal");
  command->add_option("--skew", options.skew, "Block size of the busiest rank, as a multiple of the mean, --sizes")
      ->default_str("1")
      ->excludes(distribution);
  command
      ->add_option("--processors", options.processors,
                   "Processors of a node; default: as in the model, else one per rank")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--no-load-store", options.no_load_store,
                    "Assume that ranks of a node cannot access each other's buffers by load and store");
  command->add_option("--algorithms,--algorithm", algorithms, "Only these, with the parameters given, as in bench");
  add_progress(*command);
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
      add_command(line, "tune", "Measure this machine and save the results, by which algorithms are chosen",
                  "\nTakes some seconds. The table is used by programs with about as many ranks on this "
                  "machine.\n\n"
                  "Examples:\n"
                  "  mpirun -n 2 quadrille tune\n"
                  "  mpirun -n 8 quadrille tune --file table.json   (then QUADRILLE_TUNING=table.json)\n"
                  "  mpirun -n 8 quadrille tune --algorithms --sizes 64:1M:x4\n"
                  "  mpirun -n 8 quadrille tune --algorithms --device cuda\n"
                  "  mpirun -n 64 quadrille tune --model            (one rank per node; see 'quadrille-lab "
                  "show --map')\n"
                  "  mpirun -n 64 quadrille tune --neighbors --neighborhood moore:3,1\n");
  command->add_option("--file", options.file, "Tuning table; by default where the library looks for it");
  command->add_option("--batches", options.batches, "Batches of calls per method and size")
      ->check(CLI::Range(1, 1000))
      ->default_str("15");
  CLI::Option* algorithms =
      command->add_flag("--algorithms", options.algorithms,
                        "Measure instead the best algorithm of Alltoall and Allgather for each block size");
  command->add_option("--sizes", options.sizes, "With --algorithms: bytes of a block, as in bench")
      ->default_str("from 8 to 1M")
      ->needs(algorithms);
  command->add_flag("--model", options.model, "Fit the cost model of messages between nodes instead");
  command->add_option("--device", options.device, "With --algorithms or --model: data in GPU memory; cuda or hip")
      ->default_str("host memory");
  CLI::Option* neighbors =
      command->add_flag("--neighbors", options.neighbors,
                        "Measure neighbour collectives instead: up to which block size combining messages between "
                        "nodes pays, and the order of copies inside a node");
  neighbors->excludes(command->get_option("--model"));
  algorithms->excludes(command->get_option("--model"))->excludes(neighbors);
  command
      ->add_option("--neighborhood", options.neighborhoods, "With --neighbors: as in bench; may be given several times")
      ->default_str("moore:2,1, and moore:3,1 from 8 ranks on")
      ->needs(neighbors);
  command->add_flag("--dry", options.dry, "Measure and print, write nothing");
  add_progress(*command);
  command->callback([&] { line.action = [&] { return tune_command(options); }; });
}

void add_bench(Line& line, BenchOptions& options) {
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
                  "  mpirun -n 4 quadrille bench alltoallv --overlap --tests 10 --sizes 4K:1M:x4\n");
  add_bench_options(*command, options);
  show_first(*command,
             {"--sizes", "--algorithms", "--distribution", "--memory", "--touch", "--device", "--overlap", "--json"});
  command->callback([&] { line.action = [&] { return bench_command(options); }; });
}

void add_show(Line& line, ShowOptions& options) {
  CLI::App* command = add_command(line, "show", "Show the schedule of an algorithm",
                                  "\nExamples:\n"
                                  "  quadrille show --algorithms zero-rotation-bruck:radix=3 --ranks 8 --rank 0\n"
                                  "  quadrille show --collective allgather --algorithms ring --ranks 4\n"
                                  "  quadrille show --collective neighbor_alltoall --neighborhood moore:2,1 --grid "
                                  "4x3m --rank 0\n"
                                  "  QUADRILLE_TOPOLOGY='numa:2 core:4 pu:1' quadrille show --algorithms sh-numa-co\n"
                                  "  quadrille show --algorithms zero-rotation-bruck --html schedules.html\n");
  add_schedule_options(*command, options);
  CLI::Option* rank = command->add_option("--rank", options.me, "Only this rank")->check(CLI::Range(0, 1 << 20));
  command
      ->add_option(
          "--html", options.html,
          "Write a page into this file on which blocks move step by step, for all algorithms and up to 16 ranks")
      ->excludes(rank);
  command->callback([&] {
    line.action = [&] {
      const std::string problem = read_topology(options.unit_domains);
      if (problem.empty()) return show_command(options);
      complain(problem);
      return bad_usage;
    };
  });
}

int run_tool(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  Line line("Fast all-to-all collectives on any MPI", "quadrille");
  RunOptions run;
  BenchOptions bench;
  VerifyOptions verify;
  ShowOptions show;
  std::string abi = "auto", ranks;
  ListOptions list;
  InfoOptions info;
  line.app.require_subcommand(1);
  line.app.footer(
      "\nExamples:\n"
      "  quadrille run -- mpirun -n 4 ./app        # run a program with Quadrille\n"
      "  quadrille doctor -- mpirun -n 4 ./app     # find out what is wrong and how to fix it\n"
      "  mpirun -n 2 quadrille bench alltoall      # measure a collective, the MPI's own and Quadrille's\n"
      "  quadrille bench --help                    # the options of a subcommand\n"
      "  quadrille list --settings                 # the environment variables that Quadrille reads\n");
  line.app.set_version_flag("--version", "quadrille " + abi::version_text());
  add_run(line, run, abi);
  DoctorOptions doctor;
  add_doctor(line, doctor, abi);
  ReportOptions report;
  add_report(line, report, abi);
  add_bench(line, bench);
  add_info(line, info);
  add_list(line, list);
  add_verify(line, verify, ranks);
  add_show(line, show);
  ExplainOptions explain;
  std::string explained;
  add_explain(line, explain, explained);
  TuneOptions tune;
  add_tune(line, tune);
  const std::map<std::string, RunOptions*> with_command = {
      {"run", &run}, {"doctor", &doctor.run}, {"report", &report.run}};
  if (const auto found = words.empty() ? with_command.end() : with_command.find(words[0]);
      found != with_command.end()) {
    // The command that is run has options of its own: they are not for us.
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    words.resize(1);
    split_run_words(rest, words, found->second->command);
  }
  return read_line(line, words);
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
