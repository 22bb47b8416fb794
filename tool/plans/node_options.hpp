// How ranks lie on nodes: options that are the same in all subcommands.
#pragma once

#include <string>

#include "plan/problem.hpp"

namespace CLI {
class App;
}

namespace quadrille::tools {

struct NodeOptions {
  int ranks = 0, nodes = 0, per_node = 0;  // 0: not given
  std::string map;                         // --node-map; empty: not given
  std::string old_map;                     // the same, by --map, or by --nodes
};

// Adds --nodes and --node-map.
void add_node_options(CLI::App& command, NodeOptions& options);
// With these, also --ranks and --per-node: where nothing runs, the options alone say how many ranks there are.
void add_layout_options(CLI::App& command, NodeOptions& options);

// The node map as QUADRILLE_NODES takes it, of --nodes and --node-map; empty if neither is given. Returns an empty
// string, or one line that says what is wrong.
std::string understand_nodes(const NodeOptions& options, std::string& map);

std::string too_few_ranks(int ranks, int nodes);

// The node map of all four options; `text` is how to call it. Same return rule.
std::string understand_layout(const NodeOptions& options, plan::NodeMap& map, std::string& text);

}  // namespace quadrille::tools
