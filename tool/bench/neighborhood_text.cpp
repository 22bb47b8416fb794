#include "tool/bench/neighborhood_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tool/bench/named_neighborhoods.hpp"
#include "tool/bench/own_offsets.hpp"

namespace quadrille::tools {
namespace {

constexpr int most_radius = 9;
constexpr int most_grid_ranks = 1 << 20;

// A number from 1 to `most` at the beginning of `text`, which is cut off.
bool take_number(std::string_view& text, int most, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 1 || number > most) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string parse_neighborhood(std::string_view text, plan::Neighborhood& neighborhood) {
  std::string_view rest = text;
  if (take(rest, "offsets:")) return parse_offsets(rest, neighborhood);
  if (take(rest, "file:")) return read_offsets(std::string(rest), neighborhood);
  int dimensions = 0, radius = 0;
  if (take(rest, "von-neumann:") && take_number(rest, most_dimensions, dimensions) && rest.empty()) {
    neighborhood = plan::von_neumann(dimensions);
    return "";
  }
  rest = text;
  const bool positive = take(rest, "positive-moore:");
  const bool shales = !positive && take(rest, "shales:");
  int far = 0;
  if ((positive || shales || take(rest, "moore:")) && take_number(rest, most_dimensions, dimensions) &&
      take(rest, ",") && take_number(rest, most_radius, radius) &&
      (!shales || (take(rest, ",") && take_number(rest, most_radius, far))) && rest.empty()) {
    double around = 1;  // those of the whole cube, of which a part is taken
    for (int d = 0; d < dimensions; ++d) around *= 2 * std::max(radius, far) + 1;
    if (around > most_neighbors) {
      return fmt::format("the neighbourhood '{}' is part of {:.0f} processes; {} are the most", text, around,
                         most_neighbors);
    }
    neighborhood = positive ? plan::positive_moore(dimensions, radius)
                   : shales ? plan::shales(dimensions, radius, far)
                            : plan::moore(dimensions, radius);
    return "";
  }
  return fmt::format(
      "--neighborhood={}: expected moore:D,R, positive-moore:D,R, shales:D,R1,R2, "
      "von-neumann:D with D up to {} and R up to {}, offsets:1,0/0,1 or file:PATH",
      text, most_dimensions, most_radius);
}

std::string parse_grid(std::string_view text, plan::Grid& grid) {
  std::string_view rest = text;
  plan::Grid read;
  double ranks = 1;
  bool whole = true;
  do {
    int extent = 0;
    whole = take_number(rest, most_grid_ranks, extent);
    if (!whole) break;
    read.extents.push_back(extent);
    read.periodic.push_back(!take(rest, "m"));
    ranks *= extent;
  } while (take(rest, "x"));
  if (!whole || !rest.empty() || static_cast<int>(read.extents.size()) > most_dimensions || ranks > most_grid_ranks) {
    return fmt::format(
        "--grid={}: expected extents, for example 4x3, or 4mx3m for dimensions that are not periodic; up to {} "
        "dimensions and {} ranks",
        text, most_dimensions, most_grid_ranks);
  }
  grid = std::move(read);
  return "";
}

std::string to_text(const plan::Grid& grid) {
  std::string text;
  for (std::size_t d = 0; d < grid.extents.size(); ++d) {
    text += fmt::format("{}{}{}", d == 0 ? "" : "x", grid.extents[d], grid.periodic[d] ? "" : "m");
  }
  return text;
}

std::string parse_grid_of(std::string_view text, const plan::Neighborhood& neighborhood,
                          std::string_view neighborhood_text, plan::Grid& grid) {
  if (std::string wrong = parse_grid(text, grid); !wrong.empty()) return wrong;
  if (static_cast<int>(grid.extents.size()) == neighborhood.dimensions) return "";
  return fmt::format("the grid {} has {} dimensions, the neighbourhood {} has {}", text, grid.extents.size(),
                     neighborhood_text, neighborhood.dimensions);
}

std::string why_no_neighbors(Collective collective, bool has_neighborhood, bool has_grid) {
  if (is_neighbor(collective) || !(has_neighborhood || has_grid)) return "";
  const char* options = !has_grid           ? "--neighborhood is"
                        : !has_neighborhood ? "--grid is"
                                            : "--neighborhood and --grid are";
  return fmt::format("{} for neighbour collectives, not for {}", options, name_of(collective));
}

plan::Grid even_torus(int ranks, int dimensions) {
  plan::Grid grid{{}, std::vector<bool>(static_cast<std::size_t>(dimensions), true)};
  for (int left = dimensions; left > 0; --left) {
    // The largest divisor that leaves the other dimensions no less.
    int extent = 1;
    for (int divisor = 2; divisor <= ranks; ++divisor) {
      if (ranks % divisor == 0 && std::pow(divisor, left) <= ranks * (1 + 1e-9)) extent = divisor;
    }
    grid.extents.insert(grid.extents.begin(), left == 1 ? ranks : extent);
    ranks /= grid.extents.front();
  }
  std::sort(grid.extents.rbegin(), grid.extents.rend());
  return grid;
}

}  // namespace quadrille::tools
