// Direct exchanges: spread-out, pairwise, nonblocking and the batched algorithms; spread-out also as an allgather.
// Every block travels once, straight from the sender's send buffer to the receiver's recv buffer. They differ in the
// window alone. And which schedules fit as the exchange of another algorithm.
#include <algorithm>

#include "plan/algorithms.hpp"

namespace quadrille::plan {
namespace {

// The round of P - 1 pairs, with `copied`, the own block, copied before.
Schedule one_round(const Problem& problem, Window window, Span copied, std::optional<Span> one) {
  Builder builder(problem.me);
  builder.begin_round(window);
  builder.copy(copied, {problem.me, problem.me, Buffer::recv});
  add_steps(problem, one, false, builder);
  return builder.take();
}

Schedule batched(const Problem& problem, Window::Wait wait) {
  const auto stride = static_cast<std::uint32_t>(value_of(problem.parameters, "stride", 5));
  return direct_exchange(problem, {wait, stride});
}

// Enough for several rounds of radix 2, and no power of it.
constexpr int few_ranks = 5;

template <class Fits>
bool fits_on_few_ranks(Build exchange, Fits fits) {
  const NodeMap nodes = one_node(few_ranks);
  for (int me = 0; me < few_ranks; ++me) {
    const Problem problem{few_ranks, me, &nodes, {}};
    if (!fits(problem, exchange(problem))) return false;
  }
  return true;
}

}  // namespace

void add_steps(const Problem& problem, std::optional<Span> one, bool between_nodes, Builder& builder) {
  const int ranks = problem.ranks, me = problem.me;
  const auto is_there = [&](int peer) { return !between_nodes || !problem.nodes->share_a_node(peer, me); };
  for (int i = 1; i < ranks; ++i) {
    const int to = cyclic(me + i, ranks);
    const Span sent = one.value_or(Span{me, to, Buffer::send});
    builder.send(to);
    if (is_there(to)) builder.span(sent.buffer, sent.block);
  }
  for (int i = 1; i < ranks; ++i) {
    const int from = cyclic(me - i, ranks);
    builder.receive(from);
    if (is_there(from)) builder.span(Buffer::recv, from);
  }
}

Schedule direct_exchange(const Problem& problem, Window window) {
  return one_round(problem, window, {problem.me, problem.me, Buffer::send}, {});
}

// Spread-out all-to-all.
//
// Idea    All P - 1 messages are posted at once. Rank p begins with rank p + 1 and goes round, so
//         that the ranks do not all send to rank 0 first.
// Source  The baseline of Fan et al., HPDC 2022, section 1 (there after Kang et al., SC 2020).
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy (the own block), no scratch.
//
// Example, P = 4, rank 1:
//   copy  send[1] -> recv[1]
//   send  to 2: send[2]     to 3: send[3]     to 0: send[0]
//   recv  from 0: recv[0]   from 3: recv[3]   from 2: recv[2]
Schedule spread_out(const Problem& problem) { return direct_exchange(problem, {}); }

// Pairwise exchange.
//
// Idea    One message out and one in at a time: in step i rank p sends to p + i and receives from
//         p - i, and goes on when both are done. Least load on the network, most waiting.
// Source  Namugwanya et al., section 2, algorithm 1.
// Cost    P - 1 rounds of one message and one block, 1 local copy (the own block), no scratch.
//
// Example, P = 4, rank 1:
//   copy    send[1] -> recv[1]
//   step 1  send[2] to 2, recv[0] from 0
//   step 2  send[3] to 3, recv[3] from 3
//   step 3  send[0] to 0, recv[2] from 2
Schedule pairwise(const Problem& problem) { return direct_exchange(problem, {Window::Wait::all, 1}); }

// Nonblocking exchange.
//
// Idea    The steps of pairwise exchange, all begun before the first is waited for. Nobody waits
//         for a late peer before the end, but all messages are in the network together.
//         Written as a schedule this is spread-out: two papers give one exchange two names, and
//         both names are known here.
// Source  Namugwanya et al., section 2, algorithm 2.
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy (the own block), no scratch.
//
// Example, P = 3, rank 0:
//   copy  send[0] -> recv[0]
//   send  to 1: send[1]     to 2: send[2]
//   recv  from 2: recv[2]   from 1: recv[1]
Schedule nonblocking(const Problem& problem) { return direct_exchange(problem, {Window::Wait::all, 0}); }

// Batched exchange: waitall-stride, waitany-stride, testany-stride.
//
// Idea    Between pairwise (one pair in flight) and nonblocking (all pairs): `stride` pairs.
//           waitall-stride  a batch is waited for as a whole, then the next is posted
//                           (the paper's multi-pair blocking exchange)
//           waitany-stride  each pair that completes makes room for one more
//                           (multi-pair nonblocking exchange)
//           testany-stride  the same with polling (multi-pair test exchange)
// Source  Namugwanya et al., section 3.1; stride 5 is the paper's choice.
// Cost    ceil((P - 1) / stride) rounds, P - 1 messages, P - 1 blocks, 1 local copy, no scratch.
//
// Example, P = 6, stride 2, rank 0, waitall:
//   copy     send[0] -> recv[0]
//   batch 1  send to 1 and 2, receive from 5 and 4
//   batch 2  send to 3 and 4, receive from 3 and 2
//   batch 3  send to 5,       receive from 1
Schedule waitall_stride(const Problem& problem) { return batched(problem, Window::Wait::all); }
Schedule waitany_stride(const Problem& problem) { return batched(problem, Window::Wait::any); }
Schedule testany_stride(const Problem& problem) { return batched(problem, Window::Wait::test); }

// Spread-out allgather.
//
// Idea    Every rank sends its block straight to every other rank, all messages posted at once,
//         beginning with the rank above.
// Source  The exchange pattern of spread-out all-to-all (Fan et al., HPDC 2022, section 1).
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy, no scratch.
//
// Example, P = 4, rank 1:
//   copy  send[0] -> recv[1]
//   send  recv[1] to 2, 3, 0
//   recv  recv[0] from 0, recv[3] from 3, recv[2] from 2
Schedule allgather_spread_out(const Problem& problem) {
  return one_round(problem, {}, {problem.me, 0, Buffer::send}, Span{problem.me, problem.me, Buffer::recv});
}

// ---- Which schedules fit as exchanges of others ----

std::optional<Window> direct_window(Build exchange, const Parameters& parameters) {
  const bool is_direct = fits_on_few_ranks(exchange, [](const Problem& problem, const Schedule& schedule) {
    return schedule == direct_exchange(problem, schedule.rounds.front().window);
  });
  if (!is_direct) return {};
  const NodeMap nodes = one_node(few_ranks);
  return exchange({few_ranks, 0, &nodes, parameters}).rounds.front().window;
}

bool sets_own_block_apart(Build all_to_all) {
  return fits_on_few_ranks(all_to_all, [](const Problem& problem, const Schedule& schedule) {
    const auto is_own = [&](const Span& span) { return span.buffer != Buffer::scratch && span.block == problem.me; };
    return std::none_of(schedule.spans.begin(), schedule.spans.end(), is_own) &&
           std::all_of(schedule.copies.begin(), schedule.copies.end(),
                       [&](const Copy& copy) { return is_own(copy.from) == is_own(copy.to); });
  });
}

bool gathers_in_place(Build allgather) {
  return fits_on_few_ranks(allgather, [](const Problem& problem, const Schedule& schedule) {
    const Copy own{{problem.me, 0, Buffer::send}, {problem.me, problem.me, Buffer::recv}};
    return schedule.scratch_blocks == 0 &&
           std::all_of(schedule.copies.begin(), schedule.copies.end(), [&](const Copy& copy) { return copy == own; });
  });
}

}  // namespace quadrille::plan
