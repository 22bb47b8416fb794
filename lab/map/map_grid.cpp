#include "lab/map/map_grid.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

namespace quadrille::tools {
namespace {

struct Kind {
  std::string_view algorithm;
  char letter;
  std::string_view meaning;
};
constexpr Kind kinds[] = {{"two-phase-bruck", 'T', "two-phase Bruck"},
                          {"padded-bruck", 'P', "padded Bruck"},
                          {"sloav", 'L', "SLOAV"},
                          {"padded-alltoall", 'A', "padded alltoall"},
                          {"spread-out", 'S', "each block straight to its place"},
                          {"mpi", 'S', ""}};

const Kind* kind_of(std::string_view algorithm) {
  const std::string_view name = algorithm.substr(0, algorithm.find(':'));
  const auto* found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& kind) { return kind.algorithm == name; });
  return found == std::end(kinds) ? nullptr : found;
}

std::string legend(const MapGrid& grid) {
  std::set<char> used;
  for (const auto& [place, cell] : grid) used.insert(mark_of(cell.algorithm)[0]);
  std::string text;
  for (const Kind& kind : kinds) {
    if (!used.contains(kind.letter) || kind.meaning.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.letter, kind.meaning);
  }
  if (used.contains('?')) text += ", ? another one";
  return text + "; behind it the radix\n";
}

}  // namespace

void put_faster(MapGrid& grid, std::size_t bytes, std::size_t ranks, const MapCell& cell) {
  const auto [place, is_new] = grid.try_emplace({bytes, ranks}, cell);
  if (is_new) return;
  MapCell& known = place->second;
  const double direct = known.direct == 0  ? cell.direct
                        : cell.direct == 0 ? known.direct
                                           : std::min(known.direct, cell.direct);
  if (cell.seconds < known.seconds) known = cell;
  known.direct = direct;
}

std::string mark_of(const std::string& algorithm) {
  const Kind* kind = kind_of(algorithm);
  if (kind == nullptr) return "?";
  std::string mark(1, kind->letter);
  const std::size_t at = algorithm.find("radix=");
  if (at == std::string::npos) {
    return kind->letter == 'T' || kind->letter == 'P' || kind->letter == 'L' ? mark + "2" : mark;
  }
  const std::size_t end = algorithm.find_first_not_of("0123456789", at + 6);
  return mark + algorithm.substr(at + 6, end == std::string::npos ? end : end - at - 6);
}

std::string map_text(const MapGrid& grid) {
  std::set<std::size_t> sizes, ranks;
  for (const auto& [place, cell] : grid) {
    sizes.insert(place.first);
    ranks.insert(place.second);
  }
  std::string text = fmt::format("{:>8}", "N \\ P");
  for (const std::size_t p : ranks) text += fmt::format(" {:>7}", p);
  text += '\n';
  for (const std::size_t n : sizes) {
    text += fmt::format("{:>8}", n);
    for (const std::size_t p : ranks) {
      const auto cell = grid.find({n, p});
      text += fmt::format(" {:>7}", cell == grid.end() ? "" : mark_of(cell->second.algorithm));
    }
    text += '\n';
  }
  return text + legend(grid);
}

std::string read_measured(const std::string& file, Measured& measured) {
  std::ifstream stream(file);
  std::ostringstream text;
  // A folder can be opened, but not read.
  if (!stream || !(text << stream.rdbuf())) return fmt::format("cannot read '{}'", file);
  const nlohmann::json json = nlohmann::json::parse(text.str(), nullptr, false);
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array()) {
    return fmt::format("'{}' is no file of quadrille bench --json", file);
  }
  try {
    for (const nlohmann::json& row : json["rows"]) {
      if (row.at("collective") != "alltoallv") {
        return fmt::format("'{}' is not of alltoallv", file);
      }
      const auto load =
          fmt::format("{}, {}", row.at("distribution").get<std::string>(), row.at("datatype").get<std::string>());
      if (measured.load.empty()) measured.load = load;
      if (measured.load != load) {
        return fmt::format("'{}' has blocks '{}', others have '{}'; one map has one kind", file, load, measured.load);
      }
      const auto bytes = row.at("bytes").get<std::size_t>();
      const auto ranks = row.at("ranks").get<std::size_t>();
      const double own = row.at("mpi_us").get<double>() * 1e-6;
      const double ours = row.at("quadrille_us").get<double>() * 1e-6;
      const auto algorithm = row.at("algorithm").get<std::string>();
      put_faster(measured.grid, bytes, ranks, {"mpi", own, own});
      put_faster(measured.grid, bytes, ranks, {algorithm, ours, algorithm == "spread-out" ? ours : 0});
    }
  } catch (const nlohmann::json::exception&) {
    return fmt::format("'{}' has a row without ranks, bytes, algorithm, kind of blocks or times", file);
  }
  return {};
}

}  // namespace quadrille::tools
