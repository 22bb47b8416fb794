// The cases for which an algorithm of the neighbour collectives is proved: all tori of so many
// ranks in up to three dimensions, with and without borders, and neighbourhoods of all kinds; for
// the direct exchange and for copies random graphs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "plan/order.hpp"
#include "plan/recognize.hpp"
#include "plan/verify.hpp"
#include "tool/bench/named_neighborhoods.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {
namespace {

constexpr int most_proved_dimensions = 3;
constexpr std::size_t most_grids = 1000;
constexpr int graphs = 8;

// Offsets that repeat, are zero, and are larger than most extents.
plan::Neighborhood random_offsets(int dimensions, std::uint32_t seed) {
  std::mt19937 random(seed);
  plan::Neighborhood around{dimensions, {}};
  for (int i = 0; i < 9 * dimensions; ++i) around.offsets.push_back(static_cast<int>(random() % 11) - 5);
  const std::vector<int> first(around.offsets.begin(), around.offsets.begin() + dimensions);
  around.offsets.insert(around.offsets.end(), first.begin(), first.end());
  around.offsets.insert(around.offsets.end(), static_cast<std::size_t>(dimensions), 0);
  return around;
}

std::vector<plan::Neighborhood> neighborhoods(int dimensions, std::uint32_t seed) {
  return {plan::von_neumann(dimensions), plan::moore(dimensions, dimensions == 1 ? 2 : 1),
          plan::positive_moore(dimensions, 2), random_offsets(dimensions, seed)};
}

// The grids of so many ranks, one rank included, each with a dimension more in which all are at the
// same place.
std::vector<plan::Grid> grids(int ranks) {
  std::vector<plan::Grid> all = plan::tori(ranks, most_proved_dimensions, most_grids);
  if (all.empty()) all.push_back({{1}, {true}});
  plan::Grid flat = all.front();
  flat.extents.push_back(1), flat.periodic.push_back(true);
  all.push_back(flat);
  return all;
}

// [rank] the ends of its edges, out and in.
struct Graph {
  std::vector<plan::EdgeEnds> destinations, sources;
};

void add(plan::EdgeEnds& ends, std::size_t peer) {
  ends.blocks.push_back(static_cast<int>(ends.peers.size()));
  ends.peers.push_back(static_cast<int>(peer));
}

Graph random_graph(int ranks, std::uint32_t seed) {
  const auto count = static_cast<std::size_t>(ranks);
  std::mt19937 random(seed);
  Graph graph{std::vector<plan::EdgeEnds>(count), std::vector<plan::EdgeEnds>(count)};
  const auto edges = static_cast<unsigned>(random() % (3 * static_cast<unsigned>(ranks) + 1));
  for (unsigned edge = 0; edge < edges; ++edge) {
    const auto from = random() % count, to = random() % count;
    add(graph.destinations[from], to);
    add(graph.sources[to], from);
  }
  return graph;
}

plan::Report prove_messages(const Graph& graph, plan::Pattern pattern, int orders, std::uint32_t seed) {
  std::vector<plan::Schedule> schedules;
  std::vector<std::vector<int>> sources, destinations;
  for (std::size_t me = 0; me < graph.sources.size(); ++me) {
    sources.push_back(graph.sources[me].peers);
    destinations.push_back(graph.destinations[me].peers);
    schedules.push_back(plan::neighbor_direct(static_cast<int>(me), sources.back(), destinations.back(), pattern));
  }
  return plan::verify_graph(schedules, sources, destinations, pattern, orders, seed + 1);
}

plan::Report prove_copies(plan::BuildEdges build, const Graph& graph, std::span<const int> domains,
                          plan::Pattern pattern, int orders, std::uint32_t seed) {
  std::vector<plan::EdgeCopy> edges = plan::join_edges(graph.destinations, graph.sources);
  if (pattern == plan::Pattern::allgather) {
    for (plan::EdgeCopy& edge : edges) edge.send_block = 0;
  }
  const int ranks = static_cast<int>(graph.sources.size());
  std::vector<plan::Schedule> schedules;
  schedules.reserve(graph.sources.size());
  for (int me = 0; me < ranks; ++me) schedules.push_back(build({ranks, me, edges, domains}));
  return plan::verify_edges(schedules, edges, pattern, orders, seed + 1);
}

// Random graphs; of algorithms that copy, on domains of all kinds.
plan::Report prove_graphs(const choose::Algorithm& algorithm, Collective collective, int ranks, int orders,
                          long& cases) {
  const plan::Pattern pattern = is_allgather(collective) ? plan::Pattern::allgather : plan::Pattern::alltoall;
  const std::vector<Placement> all = placements(ranks, true);
  for (std::uint32_t seed = 0; seed < graphs; ++seed) {
    const Graph graph = random_graph(ranks, seed);
    const std::vector<int>& domains = all[seed % all.size()].domains;
    ++cases;
    plan::Report report = algorithm.build_edges == nullptr
                              ? prove_messages(graph, pattern, orders, seed)
                              : prove_copies(algorithm.build_edges, graph, domains, pattern, orders, seed);
    if (report.ok) continue;
    report.what = fmt::format("{} {}, {} ranks, random graph {}, domains [{}]: {}", name_of(collective), algorithm.name,
                              ranks, seed, fmt::join(domains, " "), report.what);
    return report;
  }
  return {};
}

// Few ports, and each value of what is on or off.
plan::Parameters parameters_of(const choose::Algorithm& algorithm, unsigned turn) {
  plan::Parameters parameters;
  for (const choose::ParameterRange& p : algorithm.parameters) {
    if (p.name == "ports") parameters.push_back({"ports", static_cast<std::int64_t>(turn * 7 / 5 % 3)});
    if (p.name == "share") parameters.push_back({"share", static_cast<std::int64_t>(turn % 2)});
  }
  return parameters;
}

}  // namespace

plan::Report prove_neighbors(const choose::Algorithm& algorithm, Collective collective, int ranks, int orders,
                             long& cases) {
  if (algorithm.build_neighbors == nullptr) return prove_graphs(algorithm, collective, ranks, orders, cases);
  const plan::Pattern pattern = is_allgather(collective) ? plan::Pattern::allgather : plan::Pattern::alltoall;
  // Each grid and neighbourhood once, with borders and parameters that change from case to case, and
  // otherwise for each collective.
  auto turn = static_cast<unsigned>(ranks) + static_cast<unsigned>(collective);
  for (plan::Grid grid : grids(ranks)) {
    const auto dimensions = static_cast<int>(grid.extents.size());
    for (const plan::Neighborhood& around : neighborhoods(dimensions, turn)) {
      ++turn;
      const unsigned periodic = turn % 3 == 0 ? ~0U : turn / 3;
      for (std::size_t d = 0; d < grid.periodic.size(); ++d) grid.periodic[d] = (periodic >> d & 1) != 0;
      const plan::Parameters parameters = parameters_of(algorithm, turn);
      const std::vector<plan::Schedule> schedules =
          plan::build_all(algorithm.build_neighbors, grid, around, parameters);
      ++cases;
      plan::Report report = plan::verify_neighbors(schedules, grid, around, pattern, orders, turn);
      if (report.ok) continue;
      report.what = fmt::format("{} {}, grid {}, {} offsets ({}): {}", name_of(collective),
                                choose::to_string({&algorithm, parameters}), to_text(grid), around.size(),
                                fmt::join(around.offsets, " "), report.what);
      return report;
    }
  }
  return {};
}

}  // namespace quadrille::tools
