// HINT on several nodes: a step inside the nodes, then a step between them.
//
// Idea    First the ranks of each node copy what stays inside it, in one of the orders of copies (order.hpp). When all
// of
//         a node are done, a rank exchanges with the ranks of other nodes: in step i it sends to the i-th rank after it
//         and receives from the i-th before, and goes on when both are done. A step whose peer is on the own node has
//         no message that way.
// Source  Ramesh et al., HINT, section V.F, algorithm 5. The step between nodes "or any other inter-node algorithm":
//         all that exchange each block once, straight from its source to its destination, by their windows
//         (direct_exchange.cpp); and those that pass blocks on in few rounds: Bruck, two-phase Bruck, and of allgathers
//         all that there are among ranks (rounds_between_nodes.cpp). Messages may be in flight during the copies
//         (messages=beside), which the paper leaves open, and which the orders of copies themselves do.
//
//         As printed the conditions of algorithm 5 are exchanged: it sends to dst if src is on another node, and
//         receives from src if dst is. Then a rank sends what nobody receives, or what was copied before, and leaves
//         out blocks, unless its i-th neighbours both ways are always on other nodes or both on its own: with one rank
//         a node, or where ranks are dealt out to N nodes in turn and N divides P. tests/plan/hint_network_test.cpp
//         shows both. What is meant is built here: each message depends on the rank that it goes to or comes from.
// Cost    On a node of p of P ranks p copies, two fences, P - p messages of one block, each way. With `pairwise` in as
// many
//         rounds as there are steps with a message: P - 1 less those of which both peers are on the own node. With
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
#include "plan/node_copies.hpp"

namespace quadrille::plan {
namespace {

struct NetworkOrder {
  std::string_view name;
  Order order;
};
constexpr std::array<NetworkOrder, 9> network_orders = {{{"hilbert", Order::hilbert},
                                                         {"row", Order::row},
                                                         {"column", Order::column},
                                                         {"morton", Order::morton},
                                                         {"row-numa", Order::row_numa},
                                                         {"morton-numa", Order::morton_numa},
                                                         {"square-row", Order::square_and_row},
                                                         {"square-column", Order::square_and_column},
                                                         {"square-morton", Order::square_and_morton}}};

// The number of steps in flight at a time; `stride` where it is the parameter.
struct NetworkExchange {
  std::string_view name;
  Window::Wait wait;
  std::uint32_t pairs;
};
constexpr std::uint32_t by_stride = UINT32_MAX;
constexpr std::array<NetworkExchange, 6> network_exchanges = {{{"pairwise", Window::Wait::all, 1},
                                                               {"spread-out", Window::Wait::all, 0},
                                                               {"nonblocking", Window::Wait::all, 0},
                                                               {"waitall-stride", Window::Wait::all, by_stride},
                                                               {"waitany-stride", Window::Wait::any, by_stride},
                                                               {"testany-stride", Window::Wait::test, by_stride}}};

// By way of other ranks, always after the copies, whose blocks an allgather forwards.
struct NetworkRounds {
  std::string_view name;
  void (*add)(const Problem&, Builder&);
};
constexpr std::array<NetworkRounds, 1> network_rounds = {{{"bruck", bruck_between_nodes}}};
constexpr std::array<NetworkRounds, 1> network_uneven = {{{"two-phase-bruck", two_phase_bruck_between_nodes}}};
struct NetworkGather {
  std::string_view name;  // also of the algorithm among all ranks
  Build among_all;
};
constexpr std::array<NetworkGather, 4> network_gathers = {{{"bruck", allgather_bruck},
                                                           {"ring", allgather_ring},
                                                           {"recursive-doubling", allgather_recursive_doubling},
                                                           {"mn-co", allgather_mn_co}}};

constexpr std::array<std::string_view, 2> network_messages = {"after", "beside"};

template <class Row, std::size_t count>
constexpr std::array<std::string_view, count> names_of_rows(const std::array<Row, count>& rows) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) names[i] = rows[i].name;
  return names;
}
template <std::size_t first, std::size_t second>
constexpr auto followed_by(const std::array<std::string_view, first>& some,
                           const std::array<std::string_view, second>& more) {
  std::array<std::string_view, first + second> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i < first ? some[i] : more[i - first];
  return all;
}
constexpr auto network_orders_named = names_of_rows(network_orders);
constexpr auto network_exchanges_named = names_of_rows(network_exchanges);

std::size_t choice_of(const Problem& problem, std::string_view parameter) {
  return static_cast<std::size_t>(value_of(problem.parameters, parameter, 0));
}

Window window_of(const Problem& problem) {
  const NetworkExchange& exchange = network_exchanges[choice_of(problem, "exchange")];
  const auto stride = static_cast<std::uint32_t>(value_of(problem.parameters, "stride", 5));
  return {exchange.wait, exchange.pairs == by_stride ? stride : exchange.pairs};
}

void exchange_directly(const Problem& problem, bool blocks, Builder& builder) {
  const Away away = choice_of(problem, "messages") == 1 ? Away::beside : Away::after;
  exchange_between_nodes(problem, blocks, window_of(problem), away, builder);
}

Builder node_step(const Problem& problem, bool blocks) {
  Builder builder(problem.me);
  copy_inside_node(problem, network_orders[choice_of(problem, "order")].order, blocks, builder);
  return builder;
}

Schedule all_to_all(const Problem& problem, std::span<const NetworkRounds> rounds) {
  Builder builder = node_step(problem, true);
  const std::size_t exchange = choice_of(problem, "exchange");
  if (exchange < network_exchanges.size()) {
    exchange_directly(problem, true, builder);
  } else {
    rounds[exchange - network_exchanges.size()].add(problem, builder);
  }
  return builder.take();
}

}  // namespace

std::span<const std::string_view> network_order_names() { return network_orders_named; }
std::span<const std::string_view> network_exchange_names(NetworkKind kind) {
  static constexpr auto uniform = followed_by(network_exchanges_named, names_of_rows(network_rounds));
  static constexpr auto uneven = followed_by(network_exchanges_named, names_of_rows(network_uneven));
  static constexpr auto gather = followed_by(network_exchanges_named, names_of_rows(network_gathers));
  if (kind == NetworkKind::uneven) return uneven;
  if (kind == NetworkKind::gather) return gather;
  return uniform;
}
std::span<const std::string_view> network_messages_names() { return network_messages; }

Schedule hint_network(const Problem& problem) { return all_to_all(problem, network_rounds); }
Schedule uneven_hint_network(const Problem& problem) { return all_to_all(problem, network_uneven); }

Schedule allgather_hint_network(const Problem& problem) {
  Builder builder = node_step(problem, false);
  const std::size_t exchange = choice_of(problem, "exchange");
  if (exchange < network_exchanges.size()) {
    exchange_directly(problem, false, builder);
  } else {
    gather_between_nodes(problem, network_gathers[exchange - network_exchanges.size()].among_all, builder);
  }
  return builder.take();
}

}  // namespace quadrille::plan
