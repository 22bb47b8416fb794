#include "plan/verify_neighbors.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "plan/additive_basis.hpp"
#include "plan/verify_parts.hpp"

namespace quadrille::plan {
namespace {

Report check(const std::vector<Schedule>& schedules, const proof::Wishes& wishes, int orders, std::uint64_t seed,
             bool one_memory = false) {
  if (schedules.empty() || schedules.size() != wishes.recv.size()) {
    return proof::wrong(fmt::format("{} schedules for {} ranks", schedules.size(), wishes.recv.size()));
  }
  const NodeMap nodes = one_node(static_cast<int>(schedules.size()));
  if (!one_memory && !ignores_nodes(schedules)) return proof::wrong("form: a rank reaches into another");
  return proof::check_all(proof::Subject(schedules, nodes, wishes), orders, seed);
}

// [rank] the ends of its edges, in their order.
std::vector<EdgeEnds> in_order(const std::vector<std::vector<int>>& peers) {
  std::vector<EdgeEnds> ends;
  for (const std::vector<int>& of_rank : peers) {
    ends.push_back({of_rank, std::vector<int>(of_rank.size())});
    std::iota(ends.back().blocks.begin(), ends.back().blocks.end(), 0);
  }
  return ends;
}

}  // namespace

std::vector<Schedule> build_all(BuildNeighbors build, const Grid& grid, const Neighborhood& neighborhood,
                                const Parameters& parameters) {
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(grid.ranks()));
  LastBasis last_basis;
  for (int me = 0; me < grid.ranks(); ++me) {
    schedules.push_back(build({&grid, &neighborhood, me, parameters, &last_basis}));
  }
  return schedules;
}

Report verify_neighbors(const std::vector<Schedule>& schedules, const Grid& grid, const Neighborhood& neighborhood,
                        Pattern pattern, int orders, std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  wishes.sized = !one;
  for (int me = 0; me < grid.ranks(); ++me) {
    wishes.send_blocks.push_back(one ? 1 : neighborhood.size());
    auto& recv = wishes.recv.emplace_back();
    for (int i = 0; i < neighborhood.size(); ++i) {
      recv.push_back({rank_at(grid, me, neighborhood.offset(i), -1), one ? 0 : i});
    }
  }
  return check(schedules, wishes, orders, seed);
}

Report verify_graph(const std::vector<Schedule>& schedules, const std::vector<std::vector<int>>& sources,
                    const std::vector<std::vector<int>>& destinations, Pattern pattern, int orders,
                    std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  for (std::size_t me = 0; me < sources.size(); ++me) {
    wishes.send_blocks.push_back(one ? 1 : static_cast<int>(destinations[me].size()));
    wishes.recv.emplace_back(sources[me].size());
  }
  for (const EdgeCopy& edge : join_edges(in_order(destinations), in_order(sources))) {
    auto& recv = wishes.recv[static_cast<std::size_t>(edge.destination)];
    recv[static_cast<std::size_t>(edge.recv_block)] = {edge.source, one ? 0 : edge.send_block};
  }
  for (std::size_t me = 0; me < sources.size(); ++me) {
    for (std::size_t k = 0; k < sources[me].size(); ++k) {
      if (sources[me][k] < 0 || wishes.recv[me][k].rank >= 0) continue;
      return proof::wrong(fmt::format("graph: rank {} names source {}, which has no edge to it", me, sources[me][k]));
    }
  }
  return check(schedules, wishes, orders, seed);
}

Report verify_edges(const std::vector<Schedule>& schedules, std::span<const EdgeCopy> edges, Pattern pattern,
                    int orders, std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  wishes.send_blocks.assign(schedules.size(), one ? 1 : 0);
  wishes.recv.resize(schedules.size());
  for (const EdgeCopy& edge : edges) {
    const int sent = one ? 0 : edge.send_block;
    int& blocks = wishes.send_blocks[static_cast<std::size_t>(edge.source)];
    blocks = std::max(blocks, sent + 1);
    auto& recv = wishes.recv[static_cast<std::size_t>(edge.destination)];
    const auto block = static_cast<std::size_t>(edge.recv_block);
    if (recv.size() <= block) recv.resize(block + 1);
    recv[block] = {edge.source, sent};
  }
  return check(schedules, wishes, orders, seed, true);
}

}  // namespace quadrille::plan
