#include "lab/draw/show_svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <span>

#include "plan/neighborhood.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/plans/show_neighbors.hpp"

namespace quadrille::tools {
namespace {

// More are not for looking at.
constexpr int most_lanes = 64, most_of_square = 256;

std::string write_file(const std::string& file, const std::string& svg) {
  std::ofstream out(file);
  out << svg;
  out.close();
  return out ? "" : fmt::format("cannot write '{}'", file);
}

std::string why_too_many(int ranks, int most) {
  return ranks <= most ? "" : fmt::format("a picture of {} ranks is not for looking at: at most {}", ranks, most);
}

// The furthest coordinate.
int reach_of(const plan::Neighborhood& around) {
  int reach = 1;
  for (const int coordinate : around.offsets) reach = std::max(reach, std::abs(coordinate));
  return reach;
}

using Point = std::pair<int, int>;

Point point_of(std::span<const int> offset) { return {offset[0], offset.size() > 1 ? offset[1] : 0}; }

// How far a rank is from rank 0, by the shortest way.
Point hop_to(const plan::Grid& grid, int reach, int rank) {
  const bool flat = grid.extents.size() == 1;
  for (int x = -reach; x <= reach; ++x) {
    for (int y = flat ? 0 : -reach; y <= (flat ? 0 : reach); ++y) {
      const int offset[] = {x, y};
      if (plan::rank_at(grid, 0, std::span(offset, grid.extents.size()), 1) == rank) return {x, y};
    }
  }
  return {0, 0};
}

bool has_block(const plan::Schedule& schedule, const plan::Message& message, int block) {
  const auto spans = std::span(schedule.spans).subspan(message.spans.first, message.spans.count);
  return std::any_of(spans.begin(), spans.end(), [&](const plan::Span& span) { return span.block == block; });
}

// All ranks do the same: every rank forwards its blocks in the same rounds as rank 0.
plan::Way way_of(const plan::Schedule& schedule, const plan::Grid& grid, int reach, int block) {
  plan::Way way{block, {{0, 0}}};
  for (const plan::Round& round : schedule.rounds) {
    for (std::uint32_t i = 0; i < round.sends.count; ++i) {
      const plan::Message& message = schedule.messages[round.sends.first + i];
      if (!has_block(schedule, message, block)) continue;
      const Point hop = hop_to(grid, reach, message.peer);
      way.points.emplace_back(way.points.back().first + hop.first, way.points.back().second + hop.second);
    }
  }
  return way;
}

}  // namespace

std::string ways_of(Collective collective, const choose::Choice& choice, const std::string& neighborhood,
                    std::vector<plan::Way>& ways) {
  plan::Neighborhood around;
  if (std::string problem = parse_neighborhood(neighborhood, around); !problem.empty()) return problem;
  if (around.dimensions > 2) {
    return fmt::format("a picture has one or two dimensions; the neighbourhood {} has {}", neighborhood,
                       around.dimensions);
  }
  if (is_allgather(collective))
    return "hops are drawn of an all-to-all: a block of an allgather goes to several neighbours at once";
  const int reach = reach_of(around);
  const plan::Grid grid{std::vector<int>(static_cast<std::size_t>(around.dimensions), 2 * reach + 1),
                        std::vector<bool>(static_cast<std::size_t>(around.dimensions), true)};
  const plan::Schedule schedule = neighbor_schedule(collective, choice, grid, around, {}, 0);
  for (int block = 0; block < around.size(); ++block) {
    ways.push_back(way_of(schedule, grid, reach, block));
    if (ways.back().points.back() != point_of(around.offset(block))) {
      return fmt::format("{} numbers its blocks otherwise than its neighbours; its hops are not drawn",
                         choice.algorithm->name);
    }
  }
  return "";
}

namespace {

std::string write_picture(const Shown& shown, const std::string& file) {
  const auto& [options, collective, choice, placed] = shown;
  const auto& [nodes, domains] = placed;
  const bool is_square = row_of(choice.algorithm->engine).plans == choose::Plans::node_copies && nodes.nodes == 1;
  if (std::string problem = why_too_many(nodes.ranks(), is_square ? most_of_square : most_lanes); !problem.empty()) {
    return problem;
  }
  std::vector<plan::Schedule> schedules;
  for (int me = 0; me < nodes.ranks(); ++me) {
    schedules.push_back(choice.algorithm->build({nodes.ranks(), me, &nodes, choice.parameters, domains}));
  }
  const std::string title =
      fmt::format("{} {}, {} ranks", name_of(collective), choose::to_string(choice), nodes.ranks());
  return write_file(file, is_square ? plan::svg_of_copies(schedules, title) : plan::svg_of_messages(schedules, title));
}

std::string write_picture_of_neighbors(const Shown& shown, const std::string& file) {
  const auto& [options, collective, choice, placed] = shown;
  const std::string title =
      fmt::format("{} {}, {}", name_of(collective), choose::to_string(choice), options.neighborhood);
  if (choice.algorithm->build_edges == nullptr) {
    std::vector<plan::Way> ways;
    if (std::string problem = ways_of(collective, choice, options.neighborhood, ways); !problem.empty()) return problem;
    return write_file(file, plan::svg_of_ways(ways, title));
  }
  plan::Neighborhood around;
  if (std::string problem = parse_neighborhood(options.neighborhood, around); !problem.empty()) return problem;
  plan::Grid grid = even_torus(options.ranks, around.dimensions);
  if (!options.grid.empty()) {
    if (std::string problem = parse_grid(options.grid, grid); !problem.empty()) return problem;
    if (static_cast<int>(grid.extents.size()) != around.dimensions)
      return "grid and neighbourhood differ in dimensions";
  }
  if (std::string problem = why_too_many(grid.ranks(), most_of_square); !problem.empty()) return problem;
  const std::vector<int> domains = domains_in_turn(options.unit_domains, grid.ranks());
  std::vector<plan::Schedule> schedules;
  for (int me = 0; me < grid.ranks(); ++me) {
    schedules.push_back(neighbor_schedule(collective, choice, grid, around, domains, me));
  }
  return write_file(file, plan::svg_of_copies(schedules, fmt::format("{}, {} ranks", title, grid.ranks())));
}

}  // namespace

int show_svg_command(const ShowOptions& options, const std::string& file) {
  Shown shown;
  std::string error = understand_schedule(options, shown);
  if (error.empty() && is_for_neighbors(*shown.choice.algorithm)) {
    error = write_picture_of_neighbors(shown, file);
  } else if (error.empty()) {
    error = place_ranks(shown);
    if (error.empty()) error = write_picture(shown, file);
  }
  if (error.empty()) return 0;
  fmt::print(stderr, "quadrille-lab show: {}\n", error);
  return 2;
}

}  // namespace quadrille::tools
