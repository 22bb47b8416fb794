// The proof of plan/verify.hpp, for neighbourhood collectives. All that is proved there is proved
// here, and that recv blocks without a source are never written.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/neighborhood.hpp"
#include "plan/order_edges.hpp"
#include "plan/verify.hpp"

namespace quadrille::plan {

// The schedules of all ranks of a grid.
std::vector<Schedule> build_all(BuildNeighbors build, const Grid& grid, const Neighborhood& neighborhood,
                                const Parameters& parameters);

// Checks the schedules of all ranks of a grid together. In an all-to-all also that blocks number i
// lie in no other places than those that neighborhood.hpp promises them.
Report verify_neighbors(const std::vector<Schedule>& schedules, const Grid& grid, const Neighborhood& neighborhood,
                        Pattern pattern, int orders = 3, std::uint64_t seed = 1);

// Checks the schedules of all ranks of a graph. [rank]: its sources and its destinations.
Report verify_graph(const std::vector<Schedule>& schedules, const std::vector<std::vector<int>>& sources,
                    const std::vector<std::vector<int>>& destinations, Pattern pattern = Pattern::alltoall,
                    int orders = 3, std::uint64_t seed = 1);

// Checks the schedules of all ranks of a node that copy along these edges.
Report verify_edges(const std::vector<Schedule>& schedules, std::span<const EdgeCopy> edges,
                    Pattern pattern = Pattern::alltoall, int orders = 3, std::uint64_t seed = 1);

}  // namespace quadrille::plan
