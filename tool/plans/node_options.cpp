#include "tool/plans/node_options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <vector>

#include "sys/sys.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr int most_ranks_of_layout = 1 << 20;
constexpr const char *blocked = "blocked", *round_robin = "round-robin";

bool read_count(const std::string& text, int& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

// One that is given to an option of another name.
bool looks_like_a_map(const std::string& text) {
  return text == blocked || text == round_robin || text.find_first_of(":,") != std::string::npos;
}

void take_map(const char* option, const std::string& text, NodeOptions& options) {
  if (!options.old_map.empty()) throw CLI::ValidationError(option, "a node map is given twice");
  options.old_map = text;
  if (!sys::launched_as_first()) return;
  complain(fmt::format("{} {} is read as --node-map {}: use that option", option, text, text));
}

void take_nodes(const std::string& text, NodeOptions& options) {
  int number = 0;
  if (looks_like_a_map(text)) return take_map("--nodes", text, options);
  if (!read_count(text, number) || number < 1 || number > most_ranks_of_layout) {
    throw CLI::ValidationError("--nodes", fmt::format("--nodes={}: expected 1 to {}; a node map is given by --node-map",
                                                      text, most_ranks_of_layout));
  }
  options.nodes = number;
}

// With the node map in its own place, whichever option named it.
std::string join_names(const NodeOptions& given, NodeOptions& options) {
  options = given;
  if (given.old_map.empty()) return "";
  if (!given.map.empty()) return fmt::format("a node map is given twice, {} and {}", given.old_map, given.map);
  options.map = given.old_map;
  return "";
}

// "0,0,1,1": the node of each rank.
bool read_labels(const std::string& text, std::vector<int>& labels) {
  if (text.empty() || text.find_first_not_of("0123456789,") != std::string::npos) return false;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end == at || end - at > 6) return false;
    labels.push_back(std::stoi(text.substr(at, end - at)));
    at = end + 1;
  }
  return true;
}

std::string understand_ranks(const NodeOptions& options, int& ranks) {
  const std::int64_t per_node = options.per_node > 0 ? options.per_node : 1;
  if (options.ranks == 0 && options.nodes == 0) return "--ranks is missing, or --nodes and --per-node";
  const std::int64_t all = options.ranks > 0 ? options.ranks : options.nodes * per_node;
  if (all > most_ranks_of_layout) return fmt::format("at most {} ranks", most_ranks_of_layout);
  if (options.ranks > 0 && options.nodes > options.ranks) return too_few_ranks(options.ranks, options.nodes);
  if (options.ranks > 0 && options.nodes > 0 && options.per_node > 0 && options.nodes * per_node != all) {
    return fmt::format("--ranks {} is not --nodes {} times --per-node {}", options.ranks, options.nodes,
                       options.per_node);
  }
  ranks = static_cast<int>(all);
  return "";
}

// What parse_node_map() takes.
std::string text_for(const NodeOptions& options, int ranks) {
  const int per_node = options.per_node > 0 ? options.per_node : 1;
  const int nodes = options.nodes > 0 ? options.nodes : (ranks + per_node - 1) / per_node;
  if (options.map == round_robin) return fmt::format("roundrobin:{}", nodes);
  if (!options.map.empty() && options.map != blocked) return options.map;
  const bool even = options.nodes > 0 && options.per_node == 0 && options.ranks > 0;
  return even ? fmt::format("even:{}", nodes) : fmt::format("blocked:{}", per_node);
}

}  // namespace

void add_node_options(CLI::App& command, NodeOptions& options) {
  command
      .add_option_function<std::string>(
          "--nodes", [&options](const std::string& text) { take_nodes(text, options); }, "Number of nodes")
      ->type_name("INT");
  command.add_option(
      "--node-map", options.map,
      "Which rank is on which node: blocked or round-robin, on --nodes, or a node map as in QUADRILLE_NODES: "
      "blocked:2, roundrobin:3, ragged:1,3,4, even:2, permuted:SEED");
}

void add_layout_options(CLI::App& command, NodeOptions& options) {
  command.add_option("--ranks", options.ranks, "Number of ranks; by default --nodes times --per-node")
      ->check(CLI::Range(1, most_ranks_of_layout));
  add_node_options(command, options);
  command.get_option("--node-map")
      ->description(command.get_option("--node-map")->get_description() + "; or the node of each rank, as 0,0,1,1");
  command.add_option("--per-node", options.per_node, "Ranks on each node; by default --ranks over --nodes, else 1")
      ->check(CLI::Range(1, most_ranks_of_layout));
  // Its older name; an empty group hides it.
  command
      .add_option_function<std::string>("--map",
                                        [&options](const std::string& text) { take_map("--map", text, options); })
      ->group("");
}

std::string too_few_ranks(int ranks, int nodes) {
  return fmt::format("{} rank{} cannot be on --nodes {}", ranks, ranks == 1 ? "" : "s", nodes);
}

std::string understand_nodes(const NodeOptions& given, std::string& map) {
  NodeOptions options;
  if (std::string problem = join_names(given, options); !problem.empty()) return problem;
  const bool is_word = options.map == blocked || options.map == round_robin;
  if (is_word && options.nodes == 0) return fmt::format("--node-map {} needs --nodes", options.map);
  if (!is_word && !options.map.empty() && options.nodes > 0) {
    return fmt::format("--node-map {} says how many nodes there are; leave out --nodes", options.map);
  }
  if (options.ranks > 0 && options.nodes > options.ranks) return too_few_ranks(options.ranks, options.nodes);
  map = options.map == round_robin ? fmt::format("roundrobin:{}", options.nodes)
        : options.nodes > 0        ? fmt::format("even:{}", options.nodes)
                                   : options.map;
  return "";
}

std::string understand_layout(const NodeOptions& given, plan::NodeMap& map, std::string& text) {
  NodeOptions options;
  if (std::string problem = join_names(given, options); !problem.empty()) return problem;
  std::vector<int> labels;
  text = options.map;
  if (read_labels(options.map, labels)) {
    if (options.nodes != 0 || options.per_node != 0)
      return "--nodes and --per-node are for other node maps than one by rank";
    if (options.ranks != 0 && static_cast<std::size_t>(options.ranks) != labels.size()) {
      return fmt::format("--node-map names the nodes of {} ranks, and --ranks says {}", labels.size(), options.ranks);
    }
    map = plan::node_map_from_labels(labels);
    return "";
  }
  int ranks = 0;
  if (std::string problem = understand_ranks(options, ranks); !problem.empty()) return problem;
  const std::string known = text_for(options, ranks);
  if (text.empty()) text = known;
  if (std::string problem = plan::parse_node_map(known, ranks, map); !problem.empty()) {
    return fmt::format("--node-map takes blocked, round-robin, the node of each rank as 0,0,1,1, or a node map: {}",
                       problem);
  }
  return "";
}

}  // namespace quadrille::tools
