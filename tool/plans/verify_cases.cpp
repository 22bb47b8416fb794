#include "tool/plans/verify_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace quadrille::tools {

plan::Goal goal_of(Collective collective) {
  return {is_allgather(collective) ? plan::Pattern::allgather : plan::Pattern::alltoall, !is_regular(collective)};
}

plan::Goal goal_of(const choose::Algorithm& algorithm, Collective collective) {
  const choose::EngineRow& engine = row_of(algorithm.engine);
  plan::Goal goal = goal_of(engine.unpadded.empty() ? collective : regular_of(collective));
  goal.between_nodes = engine.plans == choose::Plans::between_nodes;
  return goal;
}

bool is_for_neighbors(const choose::Algorithm& algorithm) {
  const choose::Plans plans = row_of(algorithm.engine).plans;
  return plans == choose::Plans::neighbor_messages || plans == choose::Plans::neighbor_copies;
}

bool has_schedule(const choose::Algorithm& algorithm) {
  return algorithm.build != nullptr || is_for_neighbors(algorithm);
}

std::vector<plan::NodeMap> node_maps(int ranks) {
  std::vector<plan::NodeMap> maps = {plan::one_node(ranks)};
  for (const char* text : {"blocked:1", "blocked:3", "roundrobin:3", "ragged:1,3,4", "permuted:1", "permuted:2"}) {
    plan::NodeMap map;
    plan::parse_node_map(text, ranks, map);
    if (std::find(maps.begin(), maps.end(), map) == maps.end()) maps.push_back(std::move(map));
  }
  return maps;
}

std::vector<Placement> placements(int ranks, bool domains) {
  std::vector<Placement> all;
  for (plan::NodeMap& map : node_maps(ranks)) {
    if (domains) all.push_back({plan::one_node(ranks), map.node_of});
    if (!domains || map.nodes > 1) all.push_back({std::move(map), {}});
  }
  if (!domains || ranks < 4) return all;
  // Nodes that have several domains each.
  Placement both{{}, {}};
  plan::parse_node_map("ragged:4,3", ranks, both.nodes);
  for (int r = 0; r < ranks; ++r) both.domains.push_back(r % 2);
  all.push_back(std::move(both));
  return all;
}

namespace {

std::vector<std::int64_t> values_of(const choose::ParameterRange& range, int ranks) {
  std::vector<std::int64_t> values;
  if (!range.names.empty()) {
    for (std::int64_t v = range.least; v <= range.most; ++v) values.push_back(v);
    return values;
  }
  values = {range.least, range.standard};
  for (const std::int64_t value : {3, 4, 5, 8, ranks - 1, ranks, ranks + 1}) {
    values.push_back(std::clamp(value, range.least, range.most));
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

std::vector<plan::Parameters> parameter_cases(const choose::Algorithm& algorithm, int ranks) {
  constexpr std::size_t all_combined = 2;  // the others go through their values meanwhile
  std::vector<plan::Parameters> cases = {{}};
  for (std::size_t p = 0; p < algorithm.parameters.size(); ++p) {
    const choose::ParameterRange& range = algorithm.parameters[p];
    const std::vector<std::int64_t> values = values_of(range, ranks);
    std::vector<plan::Parameters> longer;
    for (const plan::Parameters& parameters : cases) {
      const std::size_t first = p < all_combined ? 0 : (longer.size() * (p + 3)) % values.size();
      const std::size_t end = p < all_combined ? values.size() : first + 1;
      for (std::size_t v = first; v < end; ++v) {
        longer.push_back(parameters);
        longer.back().push_back(choose::parameter_of(range, values[v]));
      }
    }
    cases = std::move(longer);
  }
  return cases;
}

namespace {

// The numbers of messages between nodes that may be in flight at a time.
std::vector<int> away_steps(const choose::Algorithm& algorithm, const plan::NodeMap& nodes) {
  const choose::Plans plans = row_of(algorithm.engine).plans;
  const bool counts = plans == choose::Plans::node_copies || plans == choose::Plans::between_nodes;
  if (!counts || nodes.nodes == 1) return {plan::standard_away_steps};
  return {plan::standard_away_steps, 1, 2};
}

}  // namespace

plan::Report prove(const choose::Algorithm& algorithm, Collective collective, int ranks, int orders, long& cases) {
  if (is_for_neighbors(algorithm)) {
    return prove_neighbors(algorithm, collective, ranks, orders, cases);
  }
  const bool looks = look_at_domains(row_of(algorithm.engine).plans);
  const std::vector<Placement> all = placements(ranks, looks);
  const plan::Goal goal = goal_of(algorithm, collective);
  for (const plan::Parameters& parameters : parameter_cases(algorithm, ranks)) {
    // The last that were proved, and where: that holds for all placements on the same nodes that give the same
    // schedules, and on any nodes if they reach into no other rank.
    std::vector<plan::Schedule> proved;
    plan::NodeMap proved_on;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [nodes, domains] = all[i];
      for (const int steps : away_steps(algorithm, nodes)) {
        std::vector<plan::Schedule> schedules = plan::build_all(algorithm.build, nodes, parameters, domains, steps);
        ++cases;
        const bool same_place = nodes == proved_on || (plan::ignores_nodes(proved) && !goal.between_nodes);
        if (same_place && schedules == proved) continue;
        plan::Report report = plan::verify(schedules, nodes, goal, orders, i + 1);
        if (!report.ok) {
          report.what =
              fmt::format("{} {}, {} ranks, {} [{}]: {}", name_of(collective),
                          choose::to_string({&algorithm, parameters}), ranks, domains.empty() ? "nodes" : "domains",
                          fmt::join(domains.empty() ? nodes.node_of : domains, " "), report.what);
          return report;
        }
        proved = std::move(schedules);
        proved_on = nodes;
      }
    }
  }
  return {};
}

}  // namespace quadrille::tools
