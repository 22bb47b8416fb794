// The internode part of an all-to-all or an allgather: a message for each block. This is the rest of single-copy, whose
// blocks inside a node go pair by pair (run/node_exchange.cpp).
//
// Idea    Spread-out: in step i a rank sends to the i-th rank after it and receives from the i-th before it. A batch of
//         steps is in flight at a time, and waited for together. A step whose peer is on the own node has no message,
//         but keeps its place: so a batch is the same steps on all ranks, and each message meets its other half in it.
// Cost    On a node of p of P ranks P - p messages of one block, in at most ceil((P - 1) / steps) batches.
// Source  Ramesh et al., HINT, section V.F, algorithm 5. There the messages follow the copies inside the nodes, one
//         step after the other (hint_network.cpp); here they may be in flight during the copies.
//
// Example, P = 4, ranks 0 and 2 on one node, rank 2:
//   send  to 3: send[3]     to 1: send[1]
//   recv  from 1: recv[1]   from 3: recv[3]
#include "plan/between_nodes.hpp"

#include "plan/algorithms.hpp"

namespace quadrille::plan {
namespace {

Schedule alone(const Problem& problem, bool blocks) {
  Builder builder(problem.me);
  exchange_between_nodes(problem, blocks, builder);
  return builder.take();
}

}  // namespace

void exchange_between_nodes(const Problem& problem, bool blocks, Window window, Away away, Builder& builder) {
  if (problem.nodes->nodes == 1) return;
  const int steps = problem.ranks - 1;
  builder.begin_round(window);
  if (away == Away::beside) builder.beside();
  for (int step = 1; step <= steps; ++step) {
    const int to = (problem.me + step) % problem.ranks;
    builder.send(to);
    if (!problem.nodes->share_a_node(to, problem.me)) builder.span(Buffer::send, blocks ? to : 0);
  }
  for (int step = 1; step <= steps; ++step) {
    const int from = (problem.me - step + problem.ranks) % problem.ranks;
    builder.receive(from);
    if (!problem.nodes->share_a_node(from, problem.me)) builder.span(Buffer::recv, from);
  }
}

void exchange_between_nodes(const Problem& problem, bool blocks, Builder& builder) {
  const int window = problem.away_steps < problem.ranks - 1 ? problem.away_steps : 0;
  exchange_between_nodes(problem, blocks, {Window::Wait::all, static_cast<std::uint32_t>(window)}, Away::beside,
                         builder);
}

Schedule alltoall_between_nodes(const Problem& problem) { return alone(problem, true); }
Schedule allgather_between_nodes(const Problem& problem) { return alone(problem, false); }

}  // namespace quadrille::plan
