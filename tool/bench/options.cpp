#include "tool/bench/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "text/text.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/line/progress.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_sizes = 10000;
constexpr int most_tests = 1000000;

std::string wrong_size(std::string_view text) {
  return fmt::format("size {}: expected bytes, for example 64, 4K, 1M or 2G", text);
}

// The parts of `text` between `separator`.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "8:1M", "8:1M:x4", "0:64:+8".
std::string parse_range(std::string_view text, std::vector<std::size_t>& sizes) {
  const std::vector<std::string_view> parts = split(text, ':');
  std::size_t least = 0, most = 0, step = 2;
  if (parts.size() > 3) {
    return fmt::format("sizes {}: expected a range, for example 8:1M, 8:1M:x4 or 0:64:+8", text);
  }
  if (std::string error = parse_size(parts[0], least); !error.empty()) return error;
  if (std::string error = parse_size(parts[1], most); !error.empty()) return error;
  if (least > most) return fmt::format("sizes {}: expected a first size below the last", text);
  bool times = true;
  if (parts.size() == 3) {
    const bool known = parts[2].starts_with('x') || parts[2].starts_with('+');
    times = !parts[2].starts_with('+');
    if (!known || !parse_size(parts[2].substr(1), step).empty() || step < (times ? 2u : 1u)) {
      return fmt::format("step {}: expected a factor or an increment, for example x2 or +8", parts[2]);
    }
  }
  for (std::size_t size = least; size <= most;) {
    sizes.push_back(size);
    if (sizes.size() > most_sizes) {
      return fmt::format("sizes {}: expected at most {}; use a larger step", text, most_sizes);
    }
    const std::size_t limit = std::numeric_limits<std::size_t>::max();
    if (times ? size > limit / step : size > limit - step) break;
    size = times ? (size == 0 ? 1 : size * step) : size + step;
  }
  return "";
}

// Finds `text` among names; the place in the list becomes the value.
template <class Enum, class Names = std::initializer_list<std::string_view>>
std::string parse_name(std::string_view what, std::string_view text, const Names& names, Enum& value) {
  int place = 0;
  for (std::string_view name : names) {
    if (name == text) {
      value = static_cast<Enum>(place);
      return "";
    }
    ++place;
  }
  return fmt::format("--{}={}: expected one of {}", what, text, fmt::join(names, ", "));
}

// The benchmark offers these.
bool is_known(Collective c) { return is_dense(c) || is_neighbor(c); }

// All whose argument list MPI has, too (collective/collective.hpp).
bool has_nonblocking_form(Collective c) { return row_of(c).send != Form::other; }

std::string known_collectives() { return choose::collective_names(is_known); }

std::string understand_algorithms(const BenchOptions& options, BenchPlan& plan) {
  for (const std::string& text : split_algorithms(options.algorithms)) {
    if (text == "all") {
      for (const choose::Algorithm& algorithm : choose::algorithms()) {
        if (choose::serves(algorithm, plan.collective) && !is_of_the_mpi(algorithm) &&
            algorithm.engine != choose::Engine::staged) {
          plan.algorithms.emplace_back(algorithm.name);
        }
      }
      continue;
    }
    choose::Choice choice;
    if (text != "default") {
      std::string error = choose::parse_choice(plan.collective, text, choice);
      if (!error.empty()) return error;
    }
    plan.algorithms.push_back(text);
  }
  return plan.algorithms.empty() ? "--algorithms: expected default, all or names" : "";
}

std::string understand_traffic(const BenchOptions& options, BenchPlan& plan) {
  std::string error = parse_traffic(options.distribution, plan.traffic);
  if (!error.empty() || plan.traffic.kind == Distribution::equal) return error;
  if (is_regular(plan.collective)) {
    return fmt::format("{} has blocks of one size; '--distribution {}' is for the v and w collectives",
                       options.collective, options.distribution);
  }
  const bool gathers = is_allgather(plan.collective);
  if (plan.traffic.kind == Distribution::stencil && (gathers || !is_neighbor(plan.collective))) {
    return "a stencil is for neighbor_alltoallv and neighbor_alltoallw";
  }
  if (plan.traffic.kind != Distribution::file) return "";
  if (gathers) {
    return fmt::format("a rank of {} sends one block to all; a traffic matrix is for alltoallv and alltoallw",
                       options.collective);
  }
  if (!options.sizes_given) plan.sizes.clear();
  return "";
}

bool has(const BenchOptions& options, std::string_view option) {
  return std::find(options.given.begin(), options.given.end(), option) != options.given.end();
}

std::string understand_neighborhood(const BenchOptions& options, BenchPlan& plan) {
  std::string error = why_no_neighbors(plan.collective, has(options, "--neighborhood"), !options.grid.empty());
  if (error.empty()) error = parse_neighborhood(options.neighborhood, plan.neighborhood);
  if (!error.empty() || options.grid.empty()) return error;
  plan::Grid grid;
  if (error = parse_grid_of(options.grid, plan.neighborhood, options.neighborhood, grid); !error.empty()) return error;
  if (std::find(grid.periodic.begin(), grid.periodic.end(), false) != grid.periodic.end()) {
    return fmt::format("--grid={}: expected a torus; remove each 'm'", options.grid);
  }
  plan.extents = grid.extents;
  return "";
}

// Nothing of these is in the measurement of an overlap.
constexpr std::string_view not_for_overlap[] = {"--cold",      "--no-ceiling", "--late", "--device",
                                                "--stage-mpi", "--counters",   "--touch"};

std::string why_without_effect(const BenchOptions& options) {
  if (!options.overlap) return "";
  std::vector<std::string_view> idle;
  std::copy_if(std::begin(not_for_overlap), std::end(not_for_overlap), std::back_inserter(idle),
               [&](std::string_view option) { return has(options, option); });
  if (idle.empty()) return "";
  return fmt::format("{} {} no effect with --overlap: leave {} out", fmt::join(idle, ", "),
                     idle.size() == 1 ? "has" : "have", idle.size() == 1 ? "it" : "them");
}

}  // namespace

std::string parse_device(const std::string& text, DeviceKind& kind) {
  return parse_name("device", text, {"cuda", "hip"}, kind);
}

namespace {

std::string understand_device(const BenchOptions& options, BenchPlan& plan) {
  if (options.device.empty()) return options.stage_mpi ? "--stage-mpi is for --device" : "";
  DeviceKind kind = DeviceKind::cuda;
  if (std::string error = parse_device(options.device, kind); !error.empty()) return error;
  plan.device = kind;
  plan.stages_mpi = options.stage_mpi;
  plan.checks_timed_calls = true;
  for (const std::string_view host : {"--memory", "--cold", "--touch"}) {
    if (has(options, host)) return fmt::format("{} is about memory of the host; leave it out with --device", host);
  }
  return "";
}

}  // namespace

std::string parse_size(std::string_view text, std::size_t& bytes) {
  std::size_t read = 0;
  if (!text::read_bytes(text, read)) return wrong_size(text);
  if (read > std::size_t{1} << 46) return fmt::format("size {}: too large", text);
  bytes = read;
  return "";
}

std::string parse_sizes(std::string_view text, std::vector<std::size_t>& sizes) {
  sizes.clear();
  for (std::string_view part : split(text, ',')) {
    if (part.find(':') != std::string_view::npos) {
      if (std::string error = parse_range(part, sizes); !error.empty()) return error;
      continue;
    }
    std::size_t size = 0;
    if (std::string error = parse_size(part, size); !error.empty()) return error;
    sizes.push_back(size);
  }
  return "";
}

std::vector<std::string> split_algorithms(std::string_view text) {
  std::vector<std::string> algorithms;
  for (std::string_view part : split(text, ',')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const bool parameter = equals != std::string_view::npos && part.find(':') > equals;
    if (parameter && !algorithms.empty()) {
      algorithms.back() += "," + std::string(part);
    } else {
      algorithms.emplace_back(part);
    }
  }
  return algorithms;
}

std::string understand(const BenchOptions& options, BenchPlan& plan) {
  plan = BenchPlan{};
  if (options.collective.empty()) {
    return fmt::format("a collective is required; known are {}", known_collectives());
  }
  const bool exists = choose::collective_from_name(options.collective, plan.collective);
  if (exists && options.overlap && !has_nonblocking_form(plan.collective)) {
    return fmt::format("{} has no nonblocking form, so nothing of it can hide; --overlap is for {}", options.collective,
                       known_collectives());
  }
  if (!exists || !is_known(plan.collective)) {
    return fmt::format("unknown collective '{}'; known are {}", options.collective, known_collectives());
  }
  if (std::string error = why_without_effect(options); !error.empty()) return error;
  if (std::string error = parse_sizes(options.sizes, plan.sizes); !error.empty()) return error;
  if (std::string error = understand_algorithms(options, plan); !error.empty()) return error;
  if (options.iterations != "auto") {
    const char* first = options.iterations.data();
    const char* last = first + options.iterations.size();
    const auto [end, error] = std::from_chars(first, last, plan.iterations);
    if (error != std::errc{} || end != last || plan.iterations < 1) {
      return fmt::format("--iterations={}: expected auto or a number from 1", options.iterations);
    }
  }
  if (std::string error = parse_name("datatype", options.datatype, {"byte", "double", "strided"}, plan.element);
      !error.empty()) {
    return error;
  }
  if (std::string error = understand_traffic(options, plan); !error.empty()) return error;
  if (std::string error = understand_neighborhood(options, plan); !error.empty()) return error;
  if (is_neighbor(plan.collective) && options.in_place) {
    return fmt::format("{} has no in-place form", options.collective);
  }
  const std::string memory = options.memory == "shared" ? "heap" : options.memory;  // an older name
  if (std::string error = parse_name("memory", memory, memory_names, plan.memory); !error.empty()) return error;
  if (std::string error = understand_device(options, plan); !error.empty()) return error;
  if (std::string error = parse_late(options.late, plan.late); !error.empty()) return error;
  if (plan.late && options.counters) {
    return "--counters counts what ranks do between two looks at the clock, and with --late one of them waits there; "
           "leave one of the two out";
  }
  if (options.touch && (plan.late || options.counters)) {
    return "--touch measures whole steps of ranks that start together; leave --late and --counters out";
  }
  if (options.warmup < 0 || options.warmup > 1000000) {
    return "--warmup: expected 0 to 1000000";
  }
  if (options.tests < 0 || options.tests > most_tests) {
    return fmt::format("--tests: expected 0 to {}", most_tests);
  }
  if (options.no_node && !options.nodes.empty()) {
    return "--no-node contradicts --nodes and --node-map; remove it";
  }
  return "";
}

std::string not_empty(const std::string& value) { return value.empty() ? "a name is needed" : ""; }

std::vector<std::string> given_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) given.push_back(option->get_name());
  }
  return given;
}

void add_block_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--sizes", options.sizes, "Bytes of a block: 8:1M doubles, 8:1M:x4 and 0:64:+8 step, 8,64,100 lists")
      ->each([&options](const std::string&) { options.sizes_given = true; })
      ->default_str("8:64K");
  command.add_flag("--cold", options.cold,
                   "Flush the caches before each timed call, then load this rank's own buffers");
  command.add_flag("--counters", options.counters,
                   "Count cache misses and store-buffer stalls of the timed calls, if the machine has counters");
  command
      .add_option(
          "--neighborhood", options.neighborhood,
          "For neighbour collectives, on a torus of all ranks: moore:D,R (all around in D dimensions, R deep), "
          "positive-moore:D,R (no negative coordinate), shales:D,R1,R2 (at two distances), von-neumann:D (two in "
          "each dimension), offsets:1,0/0,1/-1,-1 (custom) or file:PATH (an offset a line, '#' comments)")
      ->default_str("moore:3,1");
  command.add_option("--grid", options.grid, "For neighbour collectives: extents of the torus, for example 4x2x1")
      ->default_str("as even as MPI_Dims_create makes it");
  command.add_option("--json", options.json_file, "Write the rows to this file as JSON")->check(not_empty);
}

void add_call_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--iterations", options.iterations, "Timed calls of each implementation; auto fills half a second")
      ->default_str("auto");
  command.add_option("--warmup", options.warmup, "Untimed calls before")->default_str("10");
  command
      .add_option("--device", options.device,
                  "Buffers in GPU memory, cuda or hip; rank i of a machine uses GPU i modulo the number of GPUs")
      ->check(not_empty);
  command.add_flag("--stage-mpi", options.stage_mpi,
                   "With --device: give the MPI host buffers and copy to and from them, whatever it supports");
  command
      .add_option(
          "--late", options.late,
          "Microseconds that one rank enters each timed call after the others: 500 (a random rank each round) or "
          "500:3 (always rank 3)")
      ->check(not_empty);
  command
      .add_option("--memory", options.memory,
                  "heap, private, stack or mmap: the shared heap (malloc under 'quadrille run'), other malloc, the "
                  "main thread's stack, anonymous mmap")
      ->default_str("heap");
  command.add_flag("--in-place", options.in_place, "Send from the receive buffer (MPI_IN_PLACE)");
  command.add_option("--datatype", options.datatype, "byte, double or strided (8 bytes of every 16)")
      ->default_str("byte");
  command.add_option("--seed", options.seed, "Seed of data and sizes")->default_str("1");
  command.add_flag_callback("--progress", show_progress_always,
                            "Print progress to stderr every three seconds, also without a terminal");
}

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command.add_option("collective", options.collective, known_collectives());
  add_block_options(command, options);
  command
      .add_option("--algorithms", options.algorithms,
                  "Algorithms of 'quadrille list', for example pairwise,bruck:radix=4; 'default' is "
                  "Quadrille's choice, 'all' is every one")
      ->default_str("default");
  command.add_flag("--no-node", options.no_node, "Treat each rank as its own node: no shared memory");
  add_node_options(command, options.layout);
  command.get_option("--nodes")->description("Pretend that the ranks are on this number of nodes");
  CLI::Option* const node_map = command.get_option("--node-map");
  node_map->description("Pretend a node map. " + node_map->get_description());
  add_call_options(command, options);
  command.add_flag("--touch", options.touch,
                   "Write the buffers before each call, read them after it; measures call and step");
  command.add_flag("--no-ceiling", options.no_ceiling, "Skip the ceiling: the time of plain copies or cache lines");
  command
      .add_option("--distribution", options.distribution,
                  "Sizes of v and w blocks, N being the size of --sizes:\n"
                  "equal: N\n"
                  "uniform: uniform in 0..N\n"
                  "window:R: uniform in (100-R)% of N..N\n"
                  "normal: around N/2, from -3 sigma at 0 to +3 sigma at N\n"
                  "power:B: a rank's blocks are N, N*B, N*B^2, ... in a drawn order; such as 0.99\n"
                  "sparse[:D]: N to D other ranks, nothing to the rest; D is 2\n"
                  "one-heavy[:F]: one rank sends and receives N, the others N/F; F is 64\n"
                  "file:PATH: a line for each rank with its bytes to each rank, '#' comments; "
                  "scaled so that the largest is N if --sizes is given, else taken as it is\n"
                  "stencil: neighbor_alltoallv and w; ghost cells of a cube: faces N, edges, corners less")
      ->default_str("equal");
  CLI::Option* overlap =
      command.add_flag("--overlap", options.overlap,
                       "Measure how much of a nonblocking call a computation of the MPI's own duration hides");
  command
      .add_option(
          "--tests", options.tests,
          "With --overlap: calls of Test during the computation; with 0, only hardware or a progress thread makes "
          "progress")
      ->needs(overlap)
      ->default_str("0");
  command.add_option("--csv", options.csv_file, "Write the rows to this file as CSV")->check(not_empty);
  command.parse_complete_callback([&command, &options] {
    if (const std::string problem = understand_nodes(options.layout, options.nodes); !problem.empty()) {
      throw CLI::ParseError(problem, CLI::ExitCodes::ValidationError);
    }
    options.given = given_options(command);
  });
}

}  // namespace quadrille::tools
