#include "plan/verify.hpp"

#include <utility>

#include "plan/verify_parts.hpp"

namespace quadrille::plan {
namespace proof {

Subject::Subject(const std::vector<Schedule>& all, const NodeMap& node_map, Goal what)
    : schedules(all),
      nodes(node_map),
      goal(what),
      ranks(static_cast<int>(all.size())),
      send_blocks_(all.size(), what.pattern == Pattern::alltoall ? all.size() : 1),
      recv_blocks_(all.size(), all.size()) {
  number_places();
}

Subject::Subject(const std::vector<Schedule>& all, const NodeMap& node_map, const Wishes& of_neighbors)
    : schedules(all),
      nodes(node_map),
      goal({Pattern::alltoall, false}),
      wishes(&of_neighbors),
      ranks(static_cast<int>(all.size())) {
  for (const int blocks : of_neighbors.send_blocks) {
    send_blocks_.push_back(static_cast<std::size_t>(blocks));
  }
  for (const std::vector<Wish>& recv : of_neighbors.recv) recv_blocks_.push_back(recv.size());
  number_places();
}

void Subject::number_places() {
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    first_.push_back(next);
    next += send_blocks_[rank] + recv_blocks_[rank] + schedules[rank].scratch_blocks;
  }
  first_.push_back(next);
}

std::size_t Subject::blocks_in(int rank, Buffer buffer) const {
  const auto r = static_cast<std::size_t>(rank);
  if (buffer == Buffer::send) return send_blocks_[r];
  if (buffer == Buffer::recv) return recv_blocks_[r];
  return schedules[r].scratch_blocks;
}

Report check_all(const Subject& subject, int orders, std::uint64_t seed) {
  Partners partners;
  if (Report r = check_form(subject); !r.ok) return r;
  if (Report r = check_races(subject); !r.ok) return r;
  if (Report r = check_beside(subject); !r.ok) return r;
  if (Report r = check_matching(subject, partners); !r.ok) return r;
  for (int order = 0; order < std::max(orders, 1); ++order) {
    const std::uint64_t mix = seed * 1000003u + static_cast<std::uint64_t>(order);
    if (Report r = check_flow(subject, partners, order > 0, mix); !r.ok) return r;
  }
  return check_order(subject, partners);
}

}  // namespace proof

std::vector<Schedule> build_all(Build build, const NodeMap& nodes, const Parameters& parameters,
                                std::span<const int> domains, int away_steps) {
  std::vector<Schedule> schedules;
  schedules.reserve(nodes.node_of.size());
  for (int me = 0; me < nodes.ranks(); ++me) {
    schedules.push_back(build({nodes.ranks(), me, &nodes, parameters, domains, away_steps}));
  }
  return schedules;
}

Report verify(const std::vector<Schedule>& schedules, const NodeMap& nodes, Goal goal, int orders, std::uint64_t seed) {
  if (schedules.empty() || schedules.size() != nodes.node_of.size()) {
    return proof::wrong(
        fmt::format("{} schedules, but the node map has {} ranks", schedules.size(), nodes.node_of.size()));
  }
  return proof::check_all(proof::Subject(schedules, nodes, goal), orders, seed);
}

bool ignores_nodes(const std::vector<Schedule>& schedules) {
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    const int me = static_cast<int>(rank);
    for (const Copy& copy : schedules[rank].copies) {
      if (copy.from.owner != me || copy.to.owner != me) return false;
    }
    for (const Round& round : schedules[rank].rounds) {
      if (round.node_fence) return false;
    }
  }
  return true;
}

}  // namespace quadrille::plan
