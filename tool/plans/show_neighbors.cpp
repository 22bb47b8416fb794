#include "tool/plans/show_neighbors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "plan/cost.hpp"
#include "plan/neighborhood.hpp"
#include "plan/order.hpp"
#include "plan/schedule.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {
namespace {

plan::EdgeEnds ends_of(const plan::Grid& grid, const plan::Neighborhood& around, int me, int sign) {
  plan::EdgeEnds ends;
  for (int i = 0; i < around.size(); ++i) {
    ends.peers.push_back(plan::rank_at(grid, me, around.offset(i), sign));
    ends.blocks.push_back(i);
  }
  return ends;
}

plan::Schedule build_copies(plan::BuildEdges build, bool gather, const plan::Grid& grid,
                            const plan::Neighborhood& around, std::span<const int> domains, int me) {
  std::vector<plan::EdgeEnds> sources, destinations;
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    sources.push_back(ends_of(grid, around, rank, -1));
    destinations.push_back(ends_of(grid, around, rank, 1));
  }
  std::vector<plan::EdgeCopy> edges = plan::join_edges(destinations, sources);
  for (plan::EdgeCopy& edge : edges) edge.send_block = gather ? 0 : edge.send_block;
  return build({grid.ranks(), me, edges, domains});
}

void print_offsets(const plan::Neighborhood& around) {
  fmt::print("offsets");
  for (int i = 0; i < around.size(); ++i) {
    fmt::print(" {}:({})", i, fmt::join(around.offset(i), ","));
  }
  fmt::print("\n");
}

}  // namespace

plan::Schedule neighbor_schedule(Collective collective, const choose::Choice& choice, const plan::Grid& grid,
                                 const plan::Neighborhood& around, std::span<const int> domains, int me) {
  const choose::Algorithm& algorithm = *choice.algorithm;
  const bool gather = is_allgather(collective);
  if (algorithm.build_neighbors != nullptr) {
    return algorithm.build_neighbors({&grid, &around, me, choice.parameters});
  }
  if (algorithm.build_edges != nullptr) return build_copies(algorithm.build_edges, gather, grid, around, domains, me);
  return plan::neighbor_direct(me, ends_of(grid, around, me, -1).peers, ends_of(grid, around, me, 1).peers,
                               gather ? plan::Pattern::allgather : plan::Pattern::alltoall);
}

std::string show_neighbors(Collective collective, const choose::Choice& choice, const ShowOptions& options) {
  const std::string &neighborhood = options.neighborhood, &grid_text = options.grid;
  const int me = options.me;
  plan::Neighborhood around;
  if (std::string problem = parse_neighborhood(neighborhood, around); !problem.empty()) return problem;
  plan::Grid grid = even_torus(options.ranks, around.dimensions);
  if (!grid_text.empty()) {
    if (std::string problem = parse_grid(grid_text, grid); !problem.empty()) return problem;
    if (static_cast<int>(grid.extents.size()) != around.dimensions) {
      return fmt::format("the grid {} has {} dimensions, the neighbourhood {} has {}", grid_text, grid.extents.size(),
                         neighborhood, around.dimensions);
    }
  }
  if (me >= grid.ranks()) {
    return fmt::format("rank {} is not one of the {} ranks, 0 to {}", me, grid.ranks(), grid.ranks() - 1);
  }
  fmt::print("{} {}, grid {}, {} neighbours\n", name_of(collective), choose::to_string(choice), to_text(grid),
             around.size());
  print_offsets(around);
  std::vector<int> domains;  // they serve the orders of copies alone
  if (choice.algorithm->build_edges != nullptr) domains = domains_in_turn(options.unit_domains, grid.ranks());
  const int first = me < 0 ? 0 : me, last = me < 0 ? grid.ranks() - 1 : me;
  for (int rank = first; rank <= last; ++rank) {
    const plan::Schedule schedule = neighbor_schedule(collective, choice, grid, around, domains, rank);
    const plan::Counts counts = plan::count(schedule);
    fmt::print("\nrank {} of {}{}\nrounds {}, messages {}, blocks sent {}, blocks copied {}\n{}", rank, grid.ranks(),
               domain_text(domains, rank), counts.rounds, counts.messages, counts.blocks_sent, counts.blocks_copied,
               plan::draw(schedule, rank));
  }
  return {};
}

}  // namespace quadrille::tools
