#include "tools/tune/show_map.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "choose/model.hpp"
#include "choose/tuning.hpp"
#include "plan/closed_forms.hpp"
#include "sys/sys.hpp"
#include "tools/bench/options.hpp"
#include "tools/tune/map_grid.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_ranks = std::size_t{1} << 20;

int refuse(const std::string& what) {
  fmt::print(stderr, "quadrille show --map: {}\n", what);
  return 2;
}

struct Source {
  bool paper = false;    // the formulas of the paper
  bool nearest = false;  // for each P, the model of `table` that is nearest
  choose::Model model;   // else
  choose::TuningTable table;
  std::string name;
};

std::string find_source(const std::string& asked, Source& source) {
  source.model = choose::aries();
  source.paper = asked == "paper";
  source.name = source.paper ? "the paper's formulas" : "our model, constants of a Cray Aries";
  if (asked == "paper" || asked == "aries") return {};
  const std::string path = asked.empty() ? choose::tuning_path(sys::environment) : asked;
  std::string why;
  const choose::FileState state =
      path.empty() ? choose::FileState::absent : choose::read_tuning_file(path, source.table, why);
  if (state == choose::FileState::bad) return fmt::format("'{}': {}", path, why);
  source.nearest = !source.table.models.empty();
  if (source.nearest)
    source.name = fmt::format("our model, fitted on {}", source.table.machine.processor);
  if (source.nearest || asked.empty()) return {};
  return state == choose::FileState::absent
             ? fmt::format("there is no '{}'", path)
             : fmt::format("'{}' has no model; run quadrille tune --model", path);
}

const choose::Model& model_for(const Source& source, int ranks) {
  if (!source.nearest) return source.model;
  // Of both kinds of crowdedness a machine has one, as a rule.
  const auto* entry = choose::nearest_model(source.table, ranks, false);
  return (entry != nullptr ? entry : choose::nearest_model(source.table, ranks, true))->model;
}

MapCell cell_of_paper(int ranks, double largest, const plan::Machine& machine) {
  const double direct = plan::fan_spread_out(ranks, largest, machine);
  MapGrid one;
  put_faster(one, 0, 0, {"spread-out", direct, direct});
  put_faster(one, 0, 0,
             {"two-phase-bruck:radix=2", plan::fan_two_phase_bruck(ranks, largest, machine), 0});
  put_faster(one, 0, 0,
             {"padded-bruck:radix=2", plan::fan_padded_bruck(ranks, largest, machine), 0});
  return one.begin()->second;
}

MapCell cell_of_model(int ranks, double largest, const choose::Model& model) {
  const choose::Load load{largest / 2, largest};
  const choose::Prediction best =
      choose::fastest(choose::Collective::alltoallv, ranks, load, model);
  return {choose::to_string(best.choice), best.seconds, 0};
}

// Up to which of the sizes, without a gap, something other than straight messages wins.
std::string thresholds(const MapGrid& grid, const std::vector<std::size_t>& sizes,
                       const std::vector<std::size_t>& ranks) {
  std::string text = "Bruck is ahead up to N =";
  for (const std::size_t p : ranks) {
    std::size_t last = 0;
    for (const std::size_t n : sizes) {
      const auto cell = grid.find({n, p});
      if (cell == grid.end() || mark_of(cell->second.algorithm) == "S") break;
      last = n;
    }
    text += fmt::format(" {} (P = {}){}", last, p, p == ranks.back() ? "" : ",");
  }
  return text + "\n";
}

}  // namespace

int show_map_command(const MapOptions& options) {
  MapGrid grid;
  if (!options.measured.empty()) {
    for (const std::string& file : options.measured) {
      if (const std::string problem = read_measured(file, grid); !problem.empty())
        return refuse(problem);
    }
    if (grid.empty()) return refuse("the files have no rows");
    fmt::print("Alltoallv, N as measured\n{}", map_text(grid));
    return 0;
  }
  std::vector<std::size_t> sizes, ranks;
  if (const std::string problem = parse_sizes(options.sizes, sizes); !problem.empty())
    return refuse(problem);
  if (const std::string problem = parse_sizes(options.ranks, ranks); !problem.empty())
    return refuse(problem);
  for (const std::size_t p : ranks) {
    if (p < 2 || p > most_ranks)
      return refuse(fmt::format("ranks must be from 2 to {}, not {}", most_ranks, p));
  }
  Source source;
  if (const std::string problem = find_source(options.model, source); !problem.empty())
    return refuse(problem);
  for (const std::size_t p : ranks) {
    for (const std::size_t n : sizes) {
      const auto count = static_cast<int>(p);
      const auto largest = static_cast<double>(n);
      put_faster(grid, n, p,
                 source.paper ? cell_of_paper(count, largest, source.model.quadrille)
                              : cell_of_model(count, largest, model_for(source, count)));
    }
  }
  fmt::print("Alltoallv, sizes uniform in 0..N, by {}\n{}{}", source.name, map_text(grid),
             thresholds(grid, sizes, ranks));
  std::fflush(stdout);
  return 0;
}

}  // namespace quadrille::tools
