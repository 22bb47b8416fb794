// Neighbour collectives inside a node by copies alone: sh-naive, sh-co, sh-numa-co. They differ in the order of the
// copies (order_edges.hpp), and in nothing else.
//
// Idea    As node_copies.cpp, for the edges of a graph: each block moves once, from the send buffer of its source
//         straight into the recv buffer of its destination, and any rank may do it.
// Source  Li, Zhang and Hoefler, section 3.
// Cost    No messages, E / P copies a rank (sh-naive: one for each source), no scratch, two fences of the node.
//
// Between the fences each block is read and written once, so no two copies meet. Which block of a buffer an edge has
// is part of the graph, so any order of neighbours is served. Their "ordered buffers" are those of a distributed
// graph whose neighbours were given in the order of their ranks: then neighbouring places of the curve are
// neighbours in memory, too.
//
// Example, sh-co on a ring of 4, rank 1 (each rank sends block 0 down, 1 up; recv block 0 comes from below):
//   fence
//   copy  send[1] of 3 -> recv[0] of 0      send[0] of 2 -> recv[1]
//   fence
#include "plan/neighbor_copies.hpp"

namespace quadrille::plan {
namespace {

Schedule copies(const EdgeProblem& problem, Order order) {
  const std::vector<EdgeCopy> part = part_of_edges(order, problem.ranks, problem.me, problem.edges, problem.domains);
  Builder builder(problem.me);
  builder.reserve(2, 0, 0, part.size());
  builder.begin_round();
  builder.node_fence();
  builder.begin_round();
  for (const EdgeCopy& edge : part) {
    builder.copy(Span{edge.source, edge.send_block, Buffer::send},
                 Span{edge.destination, edge.recv_block, Buffer::recv});
  }
  builder.node_fence();
  return builder.take();
}

}  // namespace

Schedule neighbor_sh_naive(const EdgeProblem& problem) { return copies(problem, Order::row_numa); }
Schedule neighbor_sh_co(const EdgeProblem& problem) { return copies(problem, Order::morton); }
Schedule neighbor_sh_numa_co(const EdgeProblem& problem) { return copies(problem, Order::morton_numa); }

}  // namespace quadrille::plan
