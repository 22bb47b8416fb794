// HINT on several nodes: a step inside the nodes, then a step between them.
//
// Idea    First the ranks of each node copy what stays inside it, in one of the orders of copies (order.hpp). When all
//         of a node are done, a rank exchanges with the ranks of other nodes: in step i it sends to the i-th rank after
//         it and receives from the i-th before, and goes on when both are done. A step whose peer is on the own node
//         has no message that way.
// Source  Ramesh et al., HINT, section V.F, algorithm 5. The step between nodes "or any other inter-node algorithm":
//         all that exchange each block once, straight from its source to its destination, by their windows
//         (direct_exchange.cpp); and those that pass blocks on in few rounds: Bruck, two-phase Bruck, and of allgathers
//         all that there are among ranks (between_nodes.cpp). Messages may be in flight during the copies
//         (messages=beside), which the paper leaves open, and which the orders of copies themselves do.
//
//         As printed the conditions of algorithm 5 are exchanged: it sends to dst if src is on another node, and
//         receives from src if dst is. Then a rank sends what nobody receives, or what was copied before, and leaves
//         out blocks, unless its i-th neighbours both ways are always on other nodes or both on its own: with one rank
//         a node, or where ranks are dealt out to N nodes in turn and N divides P. tests/plan/hint_network_test.cpp
//         shows both. What is meant is built here: each message depends on the rank that it goes to or comes from.
// Cost    On a node of p of P ranks p copies, two fences, P - p messages of one block, each way. With `pairwise` in as
//         many rounds as there are steps with a message: P - 1 less those of which both peers are on the own node. With
//         `bruck` ceil(log_r P) rounds.
//
// Example, P = 4, ranks 0 and 1 on one node, order row, rank 1:
//   fence
//   copy    send[1] of 0 -> recv[0]    send[1] -> recv[1]
//   fence
//   step 1  send[2] to 2
//   step 2  send[3] to 3               recv[3] from 3
//   step 3                             recv[2] from 2
#include "plan/hint_network.hpp"

#include <array>

#include "plan/algorithms.hpp"
#include "plan/between_nodes.hpp"
#include "plan/exchanges.hpp"
#include "plan/node_copies.hpp"

namespace quadrille::plan {
namespace {

struct NetworkOrder {
  std::string_view name;
  Order order;
  Rows rows = Rows::by_domains;
};
constexpr std::array<NetworkOrder, 11> network_orders = {{{"hilbert", Order::hilbert},
                                                          {"hilbert-send", Order::hilbert, Rows::sources},
                                                          {"hilbert-recv", Order::hilbert, Rows::destinations},
                                                          {"row", Order::row},
                                                          {"column", Order::column},
                                                          {"morton", Order::morton},
                                                          {"row-numa", Order::row_numa},
                                                          {"morton-numa", Order::morton_numa},
                                                          {"square-row", Order::square_and_row},
                                                          {"square-column", Order::square_and_column},
                                                          {"square-morton", Order::square_and_morton}}};

constexpr auto network_orders_named = [] {
  std::array<std::string_view, network_orders.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = network_orders[i].name;
  return names;
}();

std::size_t choice_of(const Problem& problem, std::string_view parameter) {
  return static_cast<std::size_t>(value_of(problem.parameters, parameter, 0));
}

Schedule node_then_network(const Problem& problem, bool blocks) {
  Builder builder(problem.me);
  const NetworkOrder& chosen = network_orders[choice_of(problem, "order")];
  copy_inside_node(problem, chosen.order, chosen.rows, blocks, builder);
  const Build exchange = build_of(problem.parameters, "exchange", pairwise);
  if (const std::optional<Window> window = direct_window(exchange, problem.parameters)) {
    const Away away = choice_of(problem, "messages") == 1 ? Away::beside : Away::after;
    exchange_between_nodes(problem, blocks, *window, away, builder);
  } else if (!blocks) {
    gather_between_nodes(problem, exchange, builder);
  } else {
    for (const RoundsBetweenNodes& rounds : rounds_between_nodes) {
      if (rounds.among_all == exchange) bruck_between_nodes(problem, rounds.sizes, builder);
    }
  }
  return builder.take();
}

}  // namespace

std::span<const std::string_view> network_order_names() { return network_orders_named; }

Schedule hint_network(const Problem& problem) { return node_then_network(problem, true); }
Schedule allgather_hint_network(const Problem& problem) { return node_then_network(problem, false); }

}  // namespace quadrille::plan
