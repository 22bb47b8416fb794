// All-to-all and allgather by copies inside the nodes and messages between them: copies in an order, with messages
// beside them; of single-copy the messages; and hint-network, whose messages are those of any exchange.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck.hpp"

namespace quadrille::plan {
namespace {

// The ranks of a rank's node, in order, and what an order needs to know of them.
struct Node {
  std::vector<int> members, domains;
  int me = 0;  // of the members
};

Node node_of(const Problem& problem) {
  const std::vector<int>& nodes = problem.nodes->node_of;
  const int mine = nodes[static_cast<std::size_t>(problem.me)];
  Node node;
  for (int r = 0; r < problem.ranks; ++r) {
    if (nodes[static_cast<std::size_t>(r)] != mine) continue;
    if (r == problem.me) node.me = static_cast<int>(node.members.size());
    node.members.push_back(r);
    if (!problem.domains.empty()) node.domains.push_back(problem.domains[static_cast<std::size_t>(r)]);
  }
  return node;
}

// The value of a parameter that not all of these have.
std::size_t choice_of(const Problem& problem, std::string_view parameter) {
  return static_cast<std::size_t>(value_of(problem.parameters, parameter, 0));
}

// ---- Messages between nodes ----

// When the messages are in flight: during the rounds before theirs, or after these.
enum class Away : std::uint8_t { beside, after };

// The internode part of an all-to-all or an allgather: a message for each block. This is the rest of single-copy, whose
// blocks inside a node go pair by pair (run/node_exchange.cpp).
//
// Idea    Spread-out: in step i a rank sends to the i-th rank after it and receives from the i-th before it. A batch of
//         steps is in flight at a time, and waited for together. A step whose peer is on the own node has no message,
//         but keeps its place: so a batch is the same steps on all ranks, and each message meets its other half in it.
// Cost    On a node of p of P ranks P - p messages of one block, in at most ceil((P - 1) / steps) batches.
// Source  Ramesh et al., HINT, section V.F, algorithm 5. There the messages follow the copies inside the nodes, one
//         step after the other (hint-network); here they may be in flight during the copies.
//
// Example, P = 4, ranks 0 and 2 on one node, rank 2:
//   send  to 3: send[3]     to 1: send[1]
//   recv  from 1: recv[1]   from 3: recv[3]
//
// Ends the schedule with a round of them, if there are any. `blocks` as in copy_inside_node().
void exchange_between_nodes(const Problem& problem, bool blocks, Window window, Away away, Builder& builder) {
  if (problem.nodes->nodes == 1) return;
  builder.begin_round(window);
  if (away == Away::beside) builder.beside();
  const Span one{problem.me, 0, Buffer::send};
  add_steps(problem, blocks ? std::nullopt : std::optional(one), true, builder);
}

// In batches of Problem::away_steps, beside the rounds before.
void exchange_between_nodes(const Problem& problem, bool blocks, Builder& builder) {
  const int window = problem.away_steps < problem.ranks - 1 ? problem.away_steps : 0;
  exchange_between_nodes(problem, blocks, {Window::Wait::all, static_cast<std::uint32_t>(window)}, Away::beside,
                         builder);
}

Schedule alone(const Problem& problem, bool blocks) {
  Builder builder(problem.me);
  exchange_between_nodes(problem, blocks, builder);
  return builder.take();
}

// What is between nodes of an all-to-all or an allgather, by way of other ranks: few rounds of messages with several
// blocks, after a step inside the nodes.
//
// Idea    An algorithm among all ranks, without the blocks that the step inside the nodes brings. On its way a block
//         may pass ranks of any node, so nodes may be of any sizes, and their ranks anywhere. All-to-all: Bruck of
//         radix r. Block i goes i ranks down, in jumps of z w for each digit z of i at weight w. The block i that rank
//         q holds before the round of w began at q + (i mod w), and is for the rank i below that: if these two share a
//         node, there is no such block. Who sends and who receives find the same, so nothing is told. A block that
//         waits lies in scratch, since the recv blocks of the node are full; the first jump is from send, the last one
//         ends in recv. Of blocks of different sizes that is two-phase Bruck: the sizes of its blocks go ahead of each
//         message. Allgather: ring, recursive doubling, Bruck, or mn-co. A block of the receiver's node is left out of
//         the messages: the receiver has it. So each rank has at any time what it would have among all ranks, and can
//         pass it on.
// Source  Ramesh et al., HINT, section V.F: algorithm 5 "or any other inter-node algorithm". The algorithms among all
//         ranks: Fan et al., HPDC 2022, sections 2.1 and 3.2; Thakur, Rabenseifner and Gropp, IJHPCA 2005; Li, Zhang
//         and Hoefler, section 2.5.
// Cost    At most the rounds and messages of the algorithm among all ranks: with Bruck ceil(log_r P) rounds, of at most
//         r - 1 messages; of different sizes as many again, with 4 bytes for each block. A block between nodes is sent
//         once for each digit of its i that is not zero, and copied twice each time. In an allgather each rank receives
//         P - p blocks, where p ranks share its node.
//
// Example, all-to-all, P = 4, r = 2, ranks 0 and 1 on one node, 2 and 3 on another, rank 1. "sd" is the block from rank
// s to rank d. Before this recv = 01 11 -- --
//   round w = 1   i = 1 is 10, and stays in the node; i = 3, send[2] = 12, goes to rank 0
//                 from rank 2 would come i = 1, 21, for recv[2], and i = 3, which is 23 and stays there
//   round w = 2   i = 2, send[3] = 13, goes to rank 3; i = 3 would be 23
//                 from rank 3 comes i = 2, 31, for recv[3]; i = 3 would be 01, which is there
//
// An all-to-all, by Bruck. `sizes`: whether the sizes of blocks travel ahead.
void bruck_between_nodes(const Problem& problem, Sizes sizes, Builder& builder) {
  if (problem.nodes->nodes == 1) return;
  // As much scratch on all ranks, whatever their nodes (run/bound_run.hpp).
  const int slots = bruck::waiting_blocks(problem.ranks, bruck::radix_of(problem));
  bruck::Plan plan(problem, bruck::Transfer::packed, slots, std::move(builder));
  plan.builder.sizes(sizes);
  plan.add_rounds_with_slots([&](int rank, int block, std::int64_t weight) {
    const int from = cyclic(rank + static_cast<int>(block % weight), problem.ranks);
    return !problem.nodes->share_a_node(from, cyclic(from - block, problem.ranks));
  });
  builder = std::move(plan.builder);
}

// An allgather, by what `among_all` does among all ranks.
void gather_between_nodes(const Problem& problem, Build among_all, Builder& builder) {
  if (problem.nodes->nodes == 1) return;
  const Schedule all = among_all(problem);
  const auto add = [&](Range messages, bool sends) {
    for (const Message& message : all.messages_of(messages)) {
      sends ? builder.send(message.peer) : builder.receive(message.peer);
      const int receiver = sends ? message.peer : problem.me;
      for (const Span& span : all.spans_of(message)) {
        const int source = span.buffer == Buffer::send ? problem.me : span.block;
        if (!problem.nodes->share_a_node(source, receiver)) builder.span(span.buffer, span.block);
      }
      builder.drop_empty_message();
    }
  };
  for (const Round& round : all.rounds) {
    builder.begin_round(round.window);
    add(round.sends, true);
    add(round.receives, false);
    builder.drop_empty_round();
  }
}

// ---- Copies, then messages ----

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

void copy_inside_node(const Problem& problem, Order order, Rows rows, bool blocks, Builder& builder) {
  const Node node = node_of(problem);
  const int here = static_cast<int>(node.members.size());
  builder.begin_round();
  builder.node_fence();
  builder.begin_round();
  for (const auto [from, to] : part_of_order(order, here, node.me, node.domains, rows)) {
    const int source = node.members[static_cast<std::size_t>(from)];
    const int destination = node.members[static_cast<std::size_t>(to)];
    builder.copy(Span{source, blocks ? destination : 0, Buffer::send}, Span{destination, source, Buffer::recv});
  }
  builder.node_fence();
}

// Copies in an order, with messages between nodes beside them: sh-naive, sh-co, sh-numa-co, hint-row,
// hint-column, hint-hilbert, hint-hilbert-square. They differ in the order of the copies (order.hpp), and in nothing
// else.
//
// Idea    All send and recv buffers can be reached by load and store, so each block moves once,
//         from the send buffer of its source straight into the recv buffer of its destination. Any
//         rank may do it. Which rank does what, and when, decides how often caches miss.
// Source  sh-naive, sh-co and sh-numa-co: Li, Zhang and Hoefler, sections 2.1 to 2.4 and 4. Who
//         copies what:
//           sh-naive    a rank reads its column of the send blocks and fills its own recv buffer;
//                       as in section 4, it begins with the sources of its own domain
//           sh-co       a rank takes its equal piece of the Z curve, whoever owns the blocks
//           sh-numa-co  a rank takes its piece of the Z curve of its domain in each step, so that
//                       only recv buffers of its own domain are written
//         hint-row, hint-column and hint-hilbert: Ramesh et al., HINT, section V.A to V.C. Who
//         copies what:
//           hint-row      a rank fills its own recv buffer, from source 0 on
//           hint-column   a rank empties its own send buffer, from destination 0 on
//           hint-hilbert  a rank takes a box of about sqrt(P) * sqrt(P) blocks, in the order of the
//                         Hilbert curve; an equal piece of the curve if P is not a power of two
//           hint-hilbert-square  such a box of the largest square that is a power of two, and a part of the rest
//                         (section V.F)
//         The paper has two readings of the rows of its grid; the last two take both (parameter `rows`):
//           send  figure 5 (a), algorithm 2: boxes of consecutive ranks share send buffers
//           recv  algorithm 1, figure 5 (b) and (c): they share recv buffers, which are those of these ranks
//           auto  the reading with more writes inside NUMA domains (order.hpp)
//         HINT is about the all-to-all; its orders serve the allgather too.
//         On several nodes: HINT, section V.F, algorithm 5. There the messages follow the copies (hint-network);
//         here they may be in flight during the copies.
// Cost    On one node no messages, P copies a rank, no scratch, two fences of the node. On a node of p of P ranks p
//         copies and P - p messages of one block.
//
// The first fence: nobody touches the buffers of a rank that has not called yet. The second: nobody
// leaves while its send buffer may still be read or its recv buffer may still be written. Between
// them each block is read and written once, so no two copies meet.
//
// Example, sh-co, P = 4, rank 1:
//   fence
//   copy  send[0] of 2 -> recv[2] of 0      send[0] of 3 -> recv[3] of 0
//         send[1] of 2 -> recv[2]           send[1] of 3 -> recv[3]
//   fence
//
// Example, hint-hilbert with rows=recv, P = 4, rank 1:
//   fence
//   copy  send[1] of 3 -> recv[3]           send[1] of 2 -> recv[2]
//         send[0] of 2 -> recv[2] of 0      send[0] of 3 -> recv[3] of 0
//   fence
//
// Example, sh-naive, P = 4, ranks 0 and 2 on one node, rank 2:
//   fence
//   copy  send[2] of 0 -> recv[0]      send[2] -> recv[2]
//   fence
//   send  to 3: send[3]     to 1: send[1]
//   recv  from 1: recv[1]   from 3: recv[3]
Schedule copies_in_order(const Problem& problem, Order order, Pattern pattern) {
  constexpr Order squares[] = {Order::square_and_row, Order::square_and_column, Order::square_and_morton};
  const bool is_square = order == squares[0], blocks = pattern == Pattern::alltoall;
  if (is_square) order = squares[choice_of(problem, "rest")];
  Builder builder(problem.me);
  copy_inside_node(problem, order, static_cast<Rows>(choice_of(problem, "rows")), blocks, builder);
  exchange_between_nodes(problem, blocks, builder);
  return builder.take();
}

Schedule alltoall_between_nodes(const Problem& problem) { return alone(problem, true); }
Schedule allgather_between_nodes(const Problem& problem) { return alone(problem, false); }

std::span<const std::string_view> network_order_names() { return network_orders_named; }

// HINT on several nodes: a step inside the nodes, then a step between them.
//
// Idea    First the ranks of each node copy what stays inside it, in one of the orders of copies (order.hpp). When all
//         of a node are done, a rank exchanges with the ranks of other nodes: in step i it sends to the i-th rank after
//         it and receives from the i-th before, and goes on when both are done. A step whose peer is on the own node
//         has no message that way.
// Source  Ramesh et al., HINT, section V.F, algorithm 5. The step between nodes "or any other inter-node algorithm":
//         all that exchange each block once, straight from its source to its destination, by their windows
//         (exchanges.cpp); and those that pass blocks on in few rounds: Bruck, two-phase Bruck, and of allgathers
//         all that there are among ranks. Messages may be in flight during the copies
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
Schedule hint_network(const Problem& problem) { return node_then_network(problem, true); }
Schedule allgather_hint_network(const Problem& problem) { return node_then_network(problem, false); }

}  // namespace quadrille::plan
