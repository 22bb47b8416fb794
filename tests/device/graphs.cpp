// Graphs: copies with an order among them, made once and put into streams many times. Those that have no order are made
// in any: the last ones first where streams are lazy, or as it is drawn.
#include <algorithm>
#include <memory>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

struct Node {
  Address to = 0, from = 0;
  std::size_t bytes = 0;
  std::vector<std::size_t> after;  // numbers of others
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // a node's address is its handle
};
// What was made of a graph, which may change or go afterwards.
struct Ready {
  std::vector<Node> nodes;
  Context* context = nullptr;
};
std::map<Handle, std::unique_ptr<Graph>> graphs;
std::map<Handle, std::unique_ptr<Ready>> ready_graphs;

// One order that keeps to what each node comes after.
std::vector<std::size_t> an_order(const std::vector<Node>& nodes) {
  std::vector<std::size_t> order;
  std::vector<bool> done(nodes.size(), false);
  while (order.size() < nodes.size()) {
    std::vector<std::size_t> may;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto& after = nodes[n].after;
      if (!done[n] && std::all_of(after.begin(), after.end(), [&](std::size_t before) { return done[before]; }))
        may.push_back(n);
    }
    const Settings& settings = driver().settings;
    std::size_t next = may.back();
    if (settings.mode == Mode::eager) next = may.front();
    if (settings.mode == Mode::random) next = may[driver().settings.random() % may.size()];
    done[next] = true;
    order.push_back(next);
  }
  return order;
}

}  // namespace

int create_graph(Handle* graph) {
  if (graph == nullptr) return invalid_value;
  auto made = std::make_unique<Graph>();
  *graph = made.get();
  graphs[*graph] = std::move(made);
  return success;
}

Handle graph_of_capture() {
  Handle graph = nullptr;
  create_graph(&graph);
  return graph;
}

int add_copy(Handle* node, Handle handle, const Handle* after, std::size_t count, Address to, Address from,
             std::size_t bytes, const Context& context) {
  const auto graph = graphs.find(handle);
  if (node == nullptr || graph == graphs.end() || (after == nullptr && count != 0) || bytes == 0) return invalid_value;
  auto made = std::make_unique<Node>(Node{to, from, bytes, {}});
  auto& nodes = graph->second->nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.get() == after[i]; });
    if (found == nodes.end()) return invalid_value;
    made->after.push_back(static_cast<std::size_t>(found - nodes.begin()));
  }
  const int error = check_copy(context, to, from, bytes);
  if (error != success) return error;
  *node = made.get();
  nodes.push_back(std::move(made));
  return success;
}

int make_ready(Handle* ready, Handle handle) {
  const auto graph = graphs.find(handle);
  if (ready == nullptr || graph == graphs.end()) return invalid_value;
  auto made = std::make_unique<Ready>();
  for (const auto& node : graph->second->nodes) made->nodes.push_back(*node);
  const int error = current(made->context);
  if (error != success) return error;
  *ready = made.get();
  ready_graphs[*ready] = std::move(made);
  return success;
}

// It is one piece of work of the stream.
int launch_graph(Stream& stream, Handle handle) {
  const auto ready = ready_graphs.find(handle);
  if (ready == ready_graphs.end() || ready->second->context->destroyed) return invalid_handle;
  submit(stream, [nodes = ready->second->nodes] {
    for (const std::size_t n : an_order(nodes)) {
      const int error = move_now(nodes[n].to, nodes[n].from, nodes[n].bytes);
      if (error != success) return error;
    }
    return static_cast<int>(success);
  });
  return success;
}

int destroy_ready(Handle handle) { return ready_graphs.erase(handle) == 0 ? invalid_value : success; }

int destroy_graph(Handle handle) { return graphs.erase(handle) == 0 ? invalid_value : success; }

}  // namespace quadrille::standin
