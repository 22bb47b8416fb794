#include "tool/plans/show.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "plan/cost.hpp"
#include "plan/schedule.hpp"
#include "team/numa.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/bench/options.hpp"
#include "tool/plans/show_html.hpp"
#include "tool/plans/show_neighbors.hpp"

namespace quadrille::tools {
namespace {

// A schedule for more ranks than this is not for reading.
constexpr int kMostRanks = 1 << 20;
constexpr const char* usual_neighborhood = "moore:2,1";

int refuse(const std::string& what) {
  fmt::print(stderr, "quadrille show: {}\n", what);
  return 2;
}

std::string standard_algorithm(Collective collective) {
  if (is_neighbor(collective)) return "torus";
  return is_allgather(collective) ? "bruck" : "zero-rotation-bruck";
}

// Of options that would do nothing.
std::string why_useless(Collective collective, const ShowOptions& options) {
  // The page also shows other collectives, on these nodes.
  if (is_neighbor(collective) && !options.nodes.empty() && options.html.empty()) {
    return fmt::format("--nodes and --node-map are for collectives of all ranks, not for {}", name_of(collective));
  }
  return why_no_neighbors(collective, !options.neighborhood.empty(), !options.grid.empty());
}

void show_rank(const choose::Choice& choice, const Placement& placed, int me) {
  const auto& [nodes, domains] = placed;
  const plan::Schedule schedule = choice.algorithm->build({nodes.ranks(), me, &nodes, choice.parameters, domains});
  const plan::Counts counts = plan::count(schedule);
  fmt::print("rank {} of {}, node {}{}\n", me, nodes.ranks(), nodes.node_of[static_cast<std::size_t>(me)],
             domain_text(domains, me));
  fmt::print(
      "rounds {}, messages {}, blocks sent {}, blocks copied {}, messages with derived "
      "datatypes {}\n",
      counts.rounds, counts.messages, counts.blocks_sent, counts.blocks_copied, counts.derived_messages);
  fmt::print("{}", plan::draw(schedule, me));
}

}  // namespace

std::vector<int> domains_in_turn(const std::vector<int>& unit_domains, int ranks) {
  std::vector<int> domains;
  if (unit_domains.empty()) return domains;
  for (int rank = 0; rank < ranks; ++rank) {
    domains.push_back(unit_domains[static_cast<std::size_t>(rank) % unit_domains.size()]);
  }
  return domains;
}

std::string domain_text(const std::vector<int>& domains, int rank) {
  if (domains.empty()) return "";
  const int label = domains[static_cast<std::size_t>(rank)];
  if (label >= team::first_cache_label) return fmt::format(", L3 cache {}", label - team::first_cache_label);
  return fmt::format(", NUMA domain {}", label);
}

std::string understand_schedule(const ShowOptions& given, Shown& shown) {
  auto& [options, collective, choice, placed] = shown;
  options = given;
  if (!choose::collective_from_name(options.collective, collective)) {
    return fmt::format("unknown collective \"{}\"; known: {}", options.collective, choose::collective_names());
  }
  if (std::string error = why_useless(collective, options); !error.empty()) return error;
  if (options.neighborhood.empty()) options.neighborhood = usual_neighborhood;
  if (const auto several = split_algorithms(options.algorithm); several.size() > 1) {
    return fmt::format("one algorithm is shown, not {}", several.size());
  }
  const std::string name = options.algorithm.empty() ? standard_algorithm(collective) : options.algorithm;
  if (std::string error = choose::parse_choice(collective, name, choice); !error.empty()) return error;
  if (!has_schedule(*choice.algorithm)) return fmt::format("{} has no schedule to show", choice.algorithm->name);
  if (options.ranks >= 1 && options.ranks <= kMostRanks) return "";
  return fmt::format("ranks must be from 1 to {}, not {}", kMostRanks, options.ranks);
}

std::string place_ranks(Shown& shown) {
  const auto& [options, collective, choice, placed] = shown;
  plan::NodeMap nodes = plan::one_node(options.ranks);
  if (!options.nodes.empty()) {
    if (std::string error = plan::parse_node_map(options.nodes, options.ranks, nodes); !error.empty()) return error;
  }
  if (choice.algorithm->needs.one_node && nodes.nodes != 1) {
    return fmt::format("{} needs all ranks on one node", choice.algorithm->name);
  }
  // Domains serve the orders of copies alone.
  std::vector<int> domains;
  if (look_at_domains(row_of(choice.algorithm->engine).plans)) {
    domains = domains_in_turn(options.unit_domains, options.ranks);
  }
  shown.placed = {std::move(nodes), std::move(domains)};
  return "";
}

int show_command(const ShowOptions& given) {
  Shown shown;
  std::string error = understand_schedule(given, shown);
  if (!error.empty()) return refuse(error);
  const auto& [options, collective, choice, placed] = shown;
  if (!options.html.empty()) {
    error = write_page(collective, choice, options);
    return error.empty() ? 0 : refuse(error);
  }
  if (is_for_neighbors(*choice.algorithm)) {
    error = show_neighbors(collective, choice, options);
    std::fflush(stdout);
    return error.empty() ? 0 : refuse(error);
  }
  if (options.me >= options.ranks) {
    return refuse(
        fmt::format("rank {} is not one of the {} ranks, 0 to {}", options.me, options.ranks, options.ranks - 1));
  }
  if (error = place_ranks(shown); !error.empty()) return refuse(error);
  fmt::print("{} {}\n", name_of(collective), choose::to_string(choice));
  if (row_of(choice.algorithm->engine).plans == choose::Plans::between_nodes) {
    fmt::print("messages between nodes alone; inside a node each pair of ranks takes its best way\n");
  }
  const int first = options.me < 0 ? 0 : options.me;
  const int last = options.me < 0 ? options.ranks - 1 : options.me;
  for (int me = first; me <= last; ++me) {
    fmt::print("\n");
    show_rank(choice, placed, me);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace quadrille::tools
