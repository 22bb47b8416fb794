// `quadrille-lab bench --copy-phase`: the table and the file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>

#include "lab/bench_options.hpp"
#include "lab/copy_phase/copy_phase.hpp"
#include "sys/sys.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/bench/report.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

struct Understood {
  Copied what;
  std::vector<std::size_t> sizes;
  std::vector<plan::Order> orders;
};

// Of a neighbour collective: who the neighbours are.
std::string understand_torus(const LabOptions& options, Copied& what) {
  if (!is_neighbor(what.collective)) {
    const auto& given = options.given;
    const bool has_neighborhood = std::find(given.begin(), given.end(), "--neighborhood") != given.end();
    return why_no_neighbors(what.collective, has_neighborhood, !options.grid.empty());
  }
  if (std::string error = parse_neighborhood(options.neighborhood, what.neighborhood); !error.empty()) return error;
  const int dimensions = what.neighborhood.dimensions;
  what.extents = even_extents(options.ranks, dimensions);
  if (options.grid.empty()) return "";
  plan::Grid grid;
  if (std::string error = parse_grid(options.grid, grid); !error.empty()) return error;
  what.extents = grid.extents;
  if (!grid.is_torus()) return fmt::format("the grid '{}' is no torus; leave each 'm' out", options.grid);
  if (static_cast<int>(grid.extents.size()) == dimensions && grid.ranks() == options.ranks) return "";
  return fmt::format("the grid {} must have {} dimensions and {} ranks", options.grid, dimensions, options.ranks);
}

std::string understand_what(const LabOptions& options, Copied& what) {
  if (!options.collective.empty()) {
    constexpr Collective known[] = {Collective::alltoall, Collective::allgather, Collective::neighbor_alltoall,
                                    Collective::neighbor_allgather};
    const Collective* const found = std::find_if(std::begin(known), std::end(known),
                                                 [&](Collective one) { return name_of(one) == options.collective; });
    if (found == std::end(known)) {
      return fmt::format(
          "--copy-phase has no '{}'; known are alltoall, allgather, neighbor_alltoall, "
          "neighbor_allgather",
          options.collective);
    }
    what.collective = *found;
  }
  if (options.ranks < 1 || options.ranks > 4096) return "--ranks must be 1 to 4096";
  what.ranks = options.ranks;
  what.domains = options.domains;
  if (options.domains < 1 || options.domains > options.ranks) return "--domains must be 1 to the number of ranks";
  return understand_torus(options, what);
}

std::string_view usual_orders(const Copied& what) {
  const bool has_domains = what.domains > 1;
  if (is_neighbor(what.collective)) return has_domains ? "row,morton,row-numa,morton-numa" : "row,morton";
  return has_domains ? "row,morton,row-numa,morton-numa" : "row,column,morton,hilbert";
}

std::string why_impossible(const LabOptions& options, Understood& plan) {
  if (ranks_of_launcher() > 1) {
    return "--copy-phase is one process with threads: start it without a launcher";
  }
  if (std::string error = parse_sizes(options.sizes, plan.sizes); !error.empty()) return error;
  if (std::string error = understand_what(options, plan.what); !error.empty()) return error;
  const std::string_view orders = options.orders.empty() ? usual_orders(plan.what) : std::string_view(options.orders);
  if (std::string error = parse_orders(orders, plan.what.collective, plan.orders); !error.empty()) return error;
  if (options.threads < 0 || options.threads > options.ranks) {
    return fmt::format("--threads must be 0 (one a processor) to {}, the ranks", options.ranks);
  }
  const std::size_t largest = *std::max_element(plan.sizes.begin(), plan.sizes.end());
  const auto ranks = static_cast<std::size_t>(options.ranks);
  const auto blocks = static_cast<std::size_t>(blocks_of(plan.what).recv);
  const std::size_t have = available_memory();
  if (have > 0 && largest > have / 4 / ranks / blocks) {
    return fmt::format(
        "blocks of {} bytes of {} ranks need more memory than is free; take smaller "
        "--sizes",
        largest, options.ranks);
  }
  if (!options.json_file.empty() && !std::ofstream(options.json_file, std::ios::app)) {
    return fmt::format("cannot write '{}'; give a file in a directory that exists", options.json_file);
  }
  return "";
}

std::string described(const Copied& what) {
  std::string text(name_of(what.collective));
  if (!is_neighbor(what.collective)) return text;
  return text + fmt::format(", {} neighbours on a torus of {}", what.neighborhood.size(), fmt::join(what.extents, "x"));
}

// Times of one number of threads, over all sizes.
class Table {
 public:
  Table(const LabOptions& options, const Understood& plan, int threads)
      : options_(options), plan_(plan), threads_(threads) {}

  void print_head() const {
    std::string text = fmt::format(
        "# {} thread{}; microseconds a call, and how many times as fast "
        "as {}\n{:>10}",
        threads_, threads_ == 1 ? "" : "s", name_of(plan_.orders[0]), "bytes");
    for (const plan::Order order : plan_.orders) {
      text += fmt::format(" {:>12} {:>6}", name_of(order), "");
    }
    fmt::print("{} {:>6}\n", text, "errors");
  }

  void measure(std::size_t bytes, const std::vector<Event>& events) {
    CopyPhaseCase c;
    c.what = plan_.what;
    c.bytes = bytes;
    c.threads = threads_;
    c.orders = plan_.orders;
    c.staggered = options_.staggered;
    c.events = events;
    // A core's own caches; the last one is common to all.
    if (options_.cold) c.evict_bytes = 2 * std::max(sys::cache_bytes(2), std::size_t{1} << 20);
    const CopyPhaseResult result = measure_copy_phase(c);
    errors_ += result.errors;
    std::string text = fmt::format("{:>10}", bytes), counted;
    for (std::size_t o = 0; o < plan_.orders.size(); ++o) {
      const Summary time = summarize(result.microseconds[o]);
      const double first = summarize(result.microseconds[0]).median;
      const double speedup = time.median > 0 ? first / time.median : 0;
      if (bytes > 0) speedups_[o].push_back(speedup);
      text += fmt::format(" {:>12.2f} {:>6.2f}", time.median, speedup);
      ordered_json row = {{"collective", name_of(plan_.what.collective)},
                          {"ranks", options_.ranks},
                          {"domains", options_.domains},
                          {"threads", threads_},
                          {"bytes", bytes},
                          {"order", name_of(plan_.orders[o])},
                          {"us", time.median},
                          {"min_us", time.least},
                          {"p90_us", time.p90},
                          {"speedup", speedup},
                          {"pair_speedup", median_of_ratios(result.microseconds[0], result.microseconds[o])},
                          {"errors", result.errors},
                          {"batches", result.rounds},
                          {"calls_per_batch", result.calls_per_batch},
                          {"staggered", options_.staggered},
                          {"cold", options_.cold}};
      for (const Count& count : result.events[o]) {
        row[count.name] = count.value ? ordered_json(*count.value) : ordered_json(nullptr);
        if (count.value) {
          counted +=
              fmt::format("#          {} {}: {:.0f} a call\n", name_of(plan_.orders[o]), count.name, *count.value);
        }
      }
      rows_.push_back(row);
    }
    fmt::print("{} {:>6}\n{}", text, result.errors, counted);
    std::fflush(stdout);
  }

  void print_means() {
    std::string text = fmt::format("{:>10}", "mean");
    for (std::size_t o = 0; o < plan_.orders.size(); ++o) {
      const double mean = geometric_mean(speedups_[o]);
      text += fmt::format(" {:>12} {:>6.2f}", "", mean);
      means_.push_back({{"threads", threads_}, {"order", name_of(plan_.orders[o])}, {"geometric_mean_speedup", mean}});
    }
    fmt::print("{}\n", text);
  }

  std::uint64_t errors() const { return errors_; }
  void append_to(ordered_json& rows, ordered_json& means) const {
    for (const ordered_json& row : rows_) rows.push_back(row);
    for (const ordered_json& mean : means_) means.push_back(mean);
  }

 private:
  const LabOptions& options_;
  const Understood& plan_;
  const int threads_;
  std::uint64_t errors_ = 0;
  std::vector<std::vector<double>> speedups_{plan_.orders.size()};
  std::vector<ordered_json> rows_, means_;
};

}  // namespace

int copy_phase_command(const LabOptions& options) {
  Understood plan;
  if (std::string problem = why_impossible(options, plan); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  ordered_json json;
  std::vector<Event> events;
  const std::string domains = options.domains > 1 ? fmt::format(" in {} domains", options.domains) : "";
  fmt::print("# copy phase of {}, {} ranks{} in one process, buffers on {}{}, {}\n", described(plan.what),
             options.ranks, domains, options.staggered ? "different lines of their pages" : "pages",
             options.cold ? ", cold caches" : "", processor_name());
  json["header"] = {{"cpu", processor_name()}, {"what", "copy phase"}};
  if (options.counters) {
    events = memory_events();
    Counters counters(events);
    counters.start();
    counters.stop();
    if (const std::string why = why_no_events(counters.read()); !why.empty()) {
      fmt::print("# {}\n", why);
      json["header"]["no_counters"] = why;
    }
  }
  std::vector<int> crews = {options.threads};
  if (options.threads == 0) {
    crews = {std::min(sys::count(sys::allowed_processors()), options.ranks)};
    if (crews[0] != 1) crews.push_back(1);
  }
  json["rows"] = json["means"] = ordered_json::array();
  std::uint64_t errors = 0;
  for (const int threads : crews) {
    Table table(options, plan, threads);
    table.print_head();
    try {
      for (const std::size_t bytes : plan.sizes) table.measure(bytes, events);
    } catch (const std::bad_alloc&) {
      complain("the system gives no memory for the buffers of all ranks (ulimit -v?)");
      return wrong_result;
    }
    table.print_means();
    table.append_to(json["rows"], json["means"]);
    errors += table.errors();
  }
  if (!options.json_file.empty()) {
    std::ofstream out(options.json_file);
    out << json.dump(2) << '\n';
    out.close();
    if (!out) {
      complain("cannot write '" + options.json_file + "'");
      return wrong_result;
    }
  }
  if (errors == 0) return 0;
  complain(fmt::format("{} wrong bytes were copied", errors));
  return wrong_result;
}

}  // namespace quadrille::tools
