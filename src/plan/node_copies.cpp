// All-to-all and allgather by copies inside a node, and messages between nodes: sh-naive, sh-co, sh-numa-co, hint-row,
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
//         On several nodes: HINT, section V.F, algorithm 5. There the messages follow the copies (hint_network.cpp);
//         here they may be in flight during the copies (between_nodes.cpp).
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
#include "plan/node_copies.hpp"

#include <vector>

#include "plan/between_nodes.hpp"

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

// Only the Hilbert orders have the parameter.
Rows rows_of(const Problem& problem) { return static_cast<Rows>(value_of(problem.parameters, "rows", 0)); }

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

Schedule copies_in_order(const Problem& problem, Order order, Pattern pattern) {
  constexpr Order squares[] = {Order::square_and_row, Order::square_and_column, Order::square_and_morton};
  const bool is_square = order == squares[0], blocks = pattern == Pattern::alltoall;
  if (is_square) order = squares[static_cast<std::size_t>(value_of(problem.parameters, "rest", 0))];
  Builder builder(problem.me);
  copy_inside_node(problem, order, rows_of(problem), blocks, builder);
  exchange_between_nodes(problem, blocks, builder);
  return builder.take();
}

}  // namespace quadrille::plan
