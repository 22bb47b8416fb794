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

#include <optional>
#include <utility>

#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"
#include "plan/exchanges.hpp"

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
  builder.begin_round(window);
  if (away == Away::beside) builder.beside();
  const Span one{problem.me, 0, Buffer::send};
  add_steps(problem, blocks ? std::nullopt : std::optional(one), true, builder);
}

void exchange_between_nodes(const Problem& problem, bool blocks, Builder& builder) {
  const int window = problem.away_steps < problem.ranks - 1 ? problem.away_steps : 0;
  exchange_between_nodes(problem, blocks, {Window::Wait::all, static_cast<std::uint32_t>(window)}, Away::beside,
                         builder);
}

Schedule alltoall_between_nodes(const Problem& problem) { return alone(problem, true); }
Schedule allgather_between_nodes(const Problem& problem) { return alone(problem, false); }

// What is between nodes of an all-to-all or an allgather, by way of other ranks: few rounds of messages with several
// blocks, after a step inside the nodes (hint_network.cpp).
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

}  // namespace quadrille::plan
