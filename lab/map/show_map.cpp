#include "lab/map/show_map.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "choose/model.hpp"
#include "choose/tuning.hpp"
#include "lab/figure/results.hpp"
#include "lab/map/closed_model.hpp"
#include "lab/map/map_grid.hpp"
#include "sys/sys.hpp"
#include "tool/bench/options.hpp"
#include "tool/explain/assumed.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_ranks = std::size_t{1} << 20;

int refuse(const std::string& what) {
  fmt::print(stderr, "quadrille-lab show --map: {}\n", what);
  return 2;
}

struct Source {
  bool paper = false;    // the formulas of the paper
  bool nearest = false;  // for each P, the model of `table` that is nearest
  choose::Model model;   // else
  choose::TuningTable table;
  std::string name;
};

// A table may have models of ranks that share nodes and of others, crowded and not. A map shows one
// kind: with as few ranks on a node and as many processors as there are.
void keep_one_kind(std::vector<choose::ModelEntry>& models) {
  const auto kind = [](const choose::ModelEntry& e) { return std::tuple(e.ranks_on_node, e.crowded); };
  const auto least = [&](const auto& a, const auto& b) { return kind(a) < kind(b); };
  if (models.empty()) return;
  const auto kept = kind(*std::min_element(models.begin(), models.end(), least));
  std::erase_if(models, [&](const choose::ModelEntry& e) { return kind(e) != kept; });
}

std::string fitted_ranks(const choose::TuningTable& table) {
  std::set<int> ranks;
  for (const choose::ModelEntry& e : table.models) ranks.insert(e.ranks);
  return fmt::format("{} ranks", fmt::join(ranks, ", "));
}

std::string find_source(const std::string& asked, Source& source) {
  source.model = aries();
  source.paper = asked == "paper";
  source.name = source.paper ? "the paper's formulas" : "our model, constants assumed for a Cray Aries";
  if (asked == "paper" || asked == "aries") return {};
  const std::string path = asked.empty() ? choose::tuning_path(sys::environment) : asked;
  std::string why;
  const choose::FileState state =
      path.empty() ? choose::FileState::absent : choose::read_tuning_file(path, source.table, why);
  if (state == choose::FileState::bad) return fmt::format("'{}': {}", path, why);
  keep_one_kind(source.table.models);
  source.nearest = !source.table.models.empty();
  if (source.nearest)
    source.name =
        fmt::format("our model, fitted on {} with {}", source.table.machine.processor, fitted_ranks(source.table));
  if (source.nearest || asked.empty()) return {};
  return state == choose::FileState::absent
             ? fmt::format("there is no '{}'; --model takes 'paper', 'aries' or a tuning table", path)
             : fmt::format("'{}' has no model; run quadrille tune --model", path);
}

const choose::Model& model_for(const Source& source, int ranks) {
  if (!source.nearest) return source.model;
  const choose::ModelEntry& kind = source.table.models.front();
  return choose::nearest(source.table.models, {ranks, kind.ranks_on_node, kind.crowded, {}})->model;
}

// Empty, or what to keep in mind: a model is only measured at its own numbers of ranks.
std::string reservation(const Source& source, const std::vector<std::size_t>& ranks) {
  if (!source.nearest) return {};
  const auto most = static_cast<std::size_t>(
      std::max_element(source.table.models.begin(), source.table.models.end(), [](const auto& a, const auto& b) {
        return a.ranks < b.ranks;
      })->ranks);
  if (*std::max_element(ranks.begin(), ranks.end()) <= most) return {};
  return fmt::format("Above P = {} the model is extended beyond what was measured.\n", most);
}

MapCell cell_of_paper(int ranks, double largest, const plan::Machine& machine) {
  const double direct = lab::fan_spread_out(ranks, largest, machine);
  MapGrid one;
  put_faster(one, 0, 0, {"spread-out", direct, direct});
  put_faster(one, 0, 0, {"two-phase-bruck:radix=2", lab::fan_two_phase_bruck(ranks, largest, machine), 0});
  put_faster(one, 0, 0, {"padded-bruck:radix=2", lab::fan_padded_bruck(ranks, largest, machine), 0});
  return one.begin()->second;
}

MapCell cell_of_model(int ranks, double largest, const choose::Model& model) {
  const choose::Load load{largest / 2, largest};
  const lab::Prediction best = lab::fastest(Collective::alltoallv, ranks, load, model);
  choose::Choice direct;
  choose::parse_choice(Collective::alltoallv, "spread-out", direct);
  return {choose::to_string(best.choice), best.seconds, lab::predict(direct, ranks, load, model)};
}

// Up to which of the sizes, without a gap, something other than straight messages wins.
std::string thresholds(const MapGrid& grid, const std::vector<std::size_t>& sizes,
                       const std::vector<std::size_t>& ranks) {
  std::string text = "From the smallest N on Bruck is ahead";
  for (const std::size_t p : ranks) {
    std::size_t last = 0;
    for (const std::size_t n : sizes) {
      const auto cell = grid.find({n, p});
      if (cell == grid.end() || mark_of(cell->second.algorithm) == "S") break;
      last = n;
    }
    text += last == 0 ? fmt::format(" nowhere (P = {})", p) : fmt::format(" up to {} (P = {})", last, p);
    if (p != ranks.back()) text += ",";
  }
  return text + "\n";
}

bool write_cells(const std::string& file, const std::string& name, const MapGrid& grid) {
  nlohmann::ordered_json json = {{"map", name}, {"cells", nlohmann::ordered_json::array()}};
  for (const auto& [place, cell] : grid) {
    json["cells"].push_back({{"bytes", place.first},
                             {"ranks", place.second},
                             {"algorithm", cell.algorithm},
                             {"mark", mark_of(cell.algorithm)},
                             {"us", cell.seconds * 1e6},
                             {"direct_us", cell.direct * 1e6}});
  }
  std::ofstream out(file);
  out << compact_text(json) << '\n';
  out.close();
  return static_cast<bool>(out);
}

int show_measured(const std::vector<std::string>& files) {
  Measured measured;
  for (const std::string& file : files) {
    if (const std::string problem = read_measured(file, measured); !problem.empty()) return refuse(problem);
  }
  if (measured.grid.empty()) return refuse("the files have no rows");
  fmt::print("Alltoallv, blocks '{}' of N bytes, as measured\n{}", measured.load, map_text(measured.grid));
  return 0;
}

}  // namespace

int show_map_command(const MapOptions& options) {
  if (!options.measured.empty()) return show_measured(options.measured);
  MapGrid grid;
  std::vector<std::size_t> sizes, ranks;
  if (const std::string problem = parse_sizes(options.sizes, sizes); !problem.empty())
    return refuse("--map-sizes: " + problem);
  if (!parse_sizes(options.ranks, ranks).empty() || ranks.empty())
    return refuse(fmt::format("--map-ranks: '{}' is no list of numbers; write 8,16 or 128:32768:x2", options.ranks));
  for (const std::size_t p : ranks) {
    if (p < 2 || p > most_ranks) return refuse(fmt::format("ranks must be from 2 to {}, not {}", most_ranks, p));
  }
  Source source;
  if (const std::string problem = find_source(options.model, source); !problem.empty()) return refuse(problem);
  for (const std::size_t p : ranks) {
    for (const std::size_t n : sizes) {
      const auto count = static_cast<int>(p);
      const auto largest = static_cast<double>(n);
      put_faster(grid, n, p,
                 source.paper ? cell_of_paper(count, largest, source.model.quadrille)
                              : cell_of_model(count, largest, model_for(source, count)));
    }
  }
  fmt::print("Alltoallv, sizes uniform in 0..N, by {}\n{}{}{}", source.name, map_text(grid),
             thresholds(grid, sizes, ranks), reservation(source, ranks));
  std::fflush(stdout);
  if (options.json.empty() || write_cells(options.json, source.name, grid)) return 0;
  return refuse(fmt::format("cannot write '{}'", options.json));
}

}  // namespace quadrille::tools
