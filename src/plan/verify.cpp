#include "plan/verify.hpp"

#include "plan/verify_parts.hpp"

namespace quadrille::plan {
namespace proof {

Subject::Subject(const std::vector<Schedule>& all, const NodeMap& node_map, const Wishes& what, Goal how)
    : schedules(all), nodes(node_map), wishes(what), goal(how), ranks(static_cast<int>(all.size())) {
  for (int rank = 0; rank < ranks; ++rank) {
    first_.push_back(first_.back() + blocks_in(rank, Buffer::send) + blocks_in(rank, Buffer::recv) +
                     blocks_in(rank, Buffer::scratch));
  }
}

Report check_all(const Subject& subject, int orders, std::uint64_t seed) {
  Partners partners;
  if (Report r = check_form(subject); !r.ok) return r;
  if (Report r = check_races(subject); !r.ok) return r;
  if (Report r = check_beside(subject); !r.ok) return r;
  if (Report r = check_matching(subject, partners); !r.ok) return r;
  const int last = std::max(orders, 1) - 1;
  for (int order = 0; order <= last; ++order) {
    const std::uint64_t mix = seed * 1000003u + static_cast<std::uint64_t>(order);
    if (Report r = check_flow(subject, partners, order > 0, mix, order == last); !r.ok) return r;
  }
  return {};
}

namespace {

Wishes wishes_of(const NodeMap& nodes, Goal goal) {
  const bool gathers = goal.pattern == Pattern::allgather;
  const auto ranks = static_cast<std::size_t>(nodes.ranks());
  Wishes wishes{std::vector<int>(ranks, gathers ? 1 : nodes.ranks()), {ranks, std::vector<Wish>(ranks)}};
  wishes.dense = true;
  for (int me = 0; me < nodes.ranks(); ++me) {
    for (int source = 0; source < nodes.ranks(); ++source) {
      if (goal.between_nodes && nodes.share_a_node(source, me)) continue;
      wishes.recv[static_cast<std::size_t>(me)][static_cast<std::size_t>(source)] = {source, gathers ? 0 : me};
    }
  }
  return wishes;
}

}  // namespace
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
  const proof::Wishes wishes = proof::wishes_of(nodes, goal);
  return proof::check_all(proof::Subject(schedules, nodes, wishes, goal), orders, seed);
}

bool ignores_nodes(const std::vector<Schedule>& schedules) {
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    if (proof::reaches_out(schedules[rank], static_cast<int>(rank))) return false;
    if (std::ranges::any_of(schedules[rank].rounds, &Round::node_fence)) return false;
  }
  return true;
}

}  // namespace quadrille::plan
