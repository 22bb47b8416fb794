#include "lab/simulate/crowd.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <set>

#include "tool/plans/show_neighbors.hpp"

namespace quadrille::simulate {
namespace {

using EngineKind = choose::Engine;

// Nodes of consecutive ranks, equally many; 0 if they are not.
int ranks_of_each_node(const plan::NodeMap& map) {
  const int per_node = map.ranks_on_fullest_node();
  if (per_node * map.nodes != map.ranks()) return 0;
  for (int r = 0; r < map.ranks(); ++r) {
    if (map.node_of[static_cast<std::size_t>(r)] != r / per_node) return 0;
  }
  return per_node;
}

int ranks_here(const plan::NodeMap& map, int rank, int& first) {
  const auto& nodes = map.node_of;
  const int node = nodes[static_cast<std::size_t>(rank)];
  first = static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
  return static_cast<int>(std::count(nodes.begin() + first, nodes.end(), node));
}

// All ranks learn the largest block: each of log2 P rounds a message, taken for as long as a block.
void agree(Program& program, int ranks, int me) {
  for (int step = 1; step < ranks; step *= 2) {
    Stage stage;
    const auto first = static_cast<std::uint32_t>(program.notes.size());
    stage.sends = {first, 1};
    stage.receives = {first + 1, 1};
    program.notes.push_back({(me + step) % ranks, 1, 0});
    program.notes.push_back({(me - step + ranks) % ranks, 1, 0});
    program.stages.push_back(stage);
  }
}

// Puts what `more` does behind what `program` does.
void append(Program& program, Program more) {
  const auto shift = static_cast<std::uint32_t>(program.notes.size());
  if (!more.scattered.empty()) {
    program.scattered.resize(shift, false);
    program.scattered.insert(program.scattered.end(), more.scattered.begin(), more.scattered.end());
  }
  for (Stage& stage : more.stages) {
    stage.sends.first += shift;
    stage.receives.first += shift;
    program.stages.push_back(stage);
  }
  program.notes.insert(program.notes.end(), more.notes.begin(), more.notes.end());
  program.sizes = more.sizes;
}

int renumbered(int rank, int node, int per_node, int nodes, Alike alike) {
  const int of = rank / per_node;
  const int to = alike == Alike::exclusive_or ? of ^ node : (of - node + nodes) % nodes;
  return to * per_node + rank % per_node;
}

bool does_as(const Program& one, const Program& first, int node, const plan::NodeMap& map, Alike alike) {
  const int per_node = map.ranks_on_fullest_node();
  const auto same_note = [&](const Note& a, const Note& b) {
    return a.blocks == b.blocks && a.told == b.told &&
           (a.blocks == 0 || renumbered(a.peer, node, per_node, map.nodes, alike) == b.peer);
  };
  return one.stages == first.stages && one.scattered == first.scattered && one.sizes == first.sizes &&
         one.fence_ranks == first.fence_ranks && one.piece == first.piece &&
         renumbered(one.fence_first, node, per_node, map.nodes, alike) == first.fence_first &&
         std::equal(one.notes.begin(), one.notes.end(), first.notes.begin(), first.notes.end(), same_note);
}

// The first, the second, the middle and the last of so many.
std::vector<int> some_of(int all) {
  std::set<int> some = {0, std::min(1, all - 1), all / 2, all - 1};
  return {some.begin(), some.end()};
}

}  // namespace

std::string why_not(const choose::Choice& choice, const plan::NodeMap& map) {
  const choose::Algorithm& algorithm = *choice.algorithm;
  if (choose::is_of_the_mpi(algorithm) || algorithm.needs.device_mpi) return "it is the MPI's own";
  if (algorithm.needs.one_node && map.nodes > 1) return "it needs all ranks on one node";
  if (algorithm.engine == EngineKind::inbox) return {};
  if (algorithm.engine == EngineKind::neighbors) return {};
  if (algorithm.engine == EngineKind::neighbor_copies)
    return "its copies between the ranks of a node are not simulated";
  if (algorithm.build == nullptr) return "it has no schedule that is known before the call";
  return {};
}

bool pads(const choose::Choice& choice) { return choice.algorithm->engine == EngineKind::padded; }

Program program_of(const Asked& asked, int rank) {
  const choose::Algorithm& algorithm = *asked.choice.algorithm;
  const plan::Problem problem{asked.map.ranks(), rank, &asked.map, asked.choice.parameters};
  if (choose::row_of(algorithm.engine).plans == choose::Plans::leaders) {
    return reduce(plan::leaders_plan(problem, choose::leaders_kind_of(asked.collective)));
  }
  if (asked.around) {
    return reduce(tools::neighbor_schedule(asked.collective, asked.choice, asked.around->grid,
                                           asked.around->neighborhood, {}, rank),
                  rank);
  }
  Program program;
  const int here = ranks_here(asked.map, rank, program.fence_first);
  program.fence_ranks = here;
  if (algorithm.engine == EngineKind::inbox || algorithm.engine == EngineKind::exchange)
    program.stages = pairs_in_node(here);
  if (pads(asked.choice) || asked.agrees) agree(program, asked.map.ranks(), rank);
  if (pads(asked.choice)) {
    // Each block is written and read once more.
    Stage padding;
    padding.before.own = 2 * static_cast<std::uint64_t>(asked.map.ranks());
    program.stages.push_back(padding);
  }
  if (algorithm.build != nullptr) append(program, reduce(algorithm.build(problem), rank));
  program.with_sizes = static_cast<double>(plan::value_of(asked.choice.parameters, "eager", 0));
  // An MPI looks each block of a derived datatype up, and most copy it into buffers of their own.
  program.scattered_copies = algorithm.needs.derived_types ? 2 : 1;
  return program;
}

Alike alike_at(const std::function<Program(int)>& program_of, const plan::NodeMap& map, const std::vector<int>& nodes,
               const std::vector<int>& numbers) {
  const int per_node = ranks_of_each_node(map);
  if (per_node == 0 || map.nodes == 1) return Alike::not_known;
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(map.nodes));
  bool rotated = true, exclusive_or = power_of_two;
  for (const int number : numbers) {
    const Program first = program_of(number);
    for (const int node : nodes) {
      const Program one = program_of(node * per_node + number);
      rotated = rotated && does_as(one, first, node, map, Alike::rotated);
      exclusive_or = exclusive_or && does_as(one, first, node, map, Alike::exclusive_or);
      if (!rotated && !exclusive_or) return Alike::not_known;
    }
  }
  return rotated ? Alike::rotated : Alike::exclusive_or;
}

Alike alike_of(const Asked& asked) {
  const int per_node = ranks_of_each_node(asked.map);
  // Rows of a grid end in the middle of nodes, or nodes in the middle of rows.
  if (per_node == 0 || asked.around) return Alike::not_known;
  return alike_at([&](int rank) { return program_of(asked, rank); }, asked.map, some_of(asked.map.nodes),
                  some_of(per_node));
}

std::string gather(const Asked& asked, Crowd& crowd, const Building& watch) {
  if (std::string reason = why_not(asked.choice, asked.map); !reason.empty()) return reason;
  crowd = {};
  crowd.map = asked.map;
  crowd.alike = alike_of(asked);
  crowd.one_node = crowd.alike != Alike::not_known && !asked.every_rank;
  const int ranks = crowd.one_node ? asked.map.ranks_on_fullest_node() : asked.map.ranks();
  double bytes = 0, messages = 0;
  for (int r = 0; r < ranks; ++r) {
    crowd.programs.push_back(program_of(asked, r));
    const Program& program = crowd.programs.back();
    // And what the engine keeps of each message.
    bytes += static_cast<double>(memory_bytes(program)) + 16.0 * static_cast<double>(program.notes.size()) + 200;
    messages += static_cast<double>(program.notes.size()) / 2;
    // Seen early: the first node's ranks tell about the others.
    const double share = static_cast<double>(ranks) / (r + 1);
    if (r + 1 >= std::min(ranks, asked.map.ranks_on_fullest_node()) && bytes * share > asked.most_bytes) {
      return fmt::format("it would need {:.1f} GiB for {:.0f} million messages", bytes * share / (1 << 30),
                         messages * share / 1e6);
    }
    if (watch && !watch(r + 1, ranks)) return "stopped";
  }
  return {};
}

}  // namespace quadrille::simulate
