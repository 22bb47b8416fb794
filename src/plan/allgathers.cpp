// Allgathers in rounds: ring, recursive doubling, and Bruck.
#include <algorithm>

#include "plan/algorithms.hpp"
#include "plan/bruck.hpp"

namespace quadrille::plan {
namespace {

// The core of recursive doubling.
struct Core {
  int size;    // C
  int folded;  // E

  // First rank of core number `number`; for number == size it is P.
  int rank(int number) const { return number < folded ? 2 * number : number + folded; }
  bool is_folded(int rank) const { return rank < 2 * folded && rank % 2 == 1; }
  int number(int rank) const { return rank < 2 * folded ? rank / 2 : rank - folded; }
};

Core core_of(int ranks) {
  int size = 1;
  while (size <= ranks / 2) size *= 2;
  return {size, ranks - size};
}

void add_run(Builder& builder, int first, int end) {
  for (int block = first; block < end; ++block) builder.span(Buffer::recv, block);
}

void add_all_but(Builder& builder, int ranks, int block) {
  add_run(builder, 0, block);
  add_run(builder, block + 1, ranks);
}

void add_doubling(Builder& builder, const Core& core, int number) {
  for (int width = 1; width < core.size; width *= 2) {
    const int mine = number / width * width;
    const int partner = number ^ width;
    const int theirs = mine ^ width;
    builder.begin_round();
    builder.send(core.rank(partner));
    add_run(builder, core.rank(mine), core.rank(mine + width));
    builder.receive(core.rank(partner));
    add_run(builder, core.rank(theirs), core.rank(theirs + width));
  }
}

void add_cyclic_run(Builder& builder, int ranks, int first, int count) {
  for (int i = 0; i < count; ++i) builder.span(Buffer::recv, cyclic(first + i, ranks));
}

}  // namespace

// Ring allgather.
//
// Idea    In each round a rank passes the block that it received last to the rank above. Neighbours
//         talk only to neighbours; the bandwidth is the best possible.
// Source  Thakur, Rabenseifner and Gropp, IJHPCA 2005.
// Cost    P - 1 rounds of one message and one block, 1 local copy, no scratch.
//
// Example, P = 4, rank 1:
//   copy     send[0] -> recv[1]
//   round 1  recv[1] to 2, recv[0] from 0
//   round 2  recv[0] to 2, recv[3] from 0
//   round 3  recv[3] to 2, recv[2] from 0
Schedule allgather_ring(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  Builder builder(me);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  for (int step = 1; step < ranks; ++step) {
    builder.begin_round();
    builder.send(cyclic(me + 1, ranks), Buffer::recv, cyclic(me - step + 1, ranks));
    builder.receive(cyclic(me - 1, ranks), Buffer::recv, cyclic(me - step, ranks));
  }
  return builder.take();
}

// Recursive doubling allgather, for any number of ranks.
//
// Idea    A core of C = 2^m ranks, the largest power of two that is at most P, doubles what it
//         has in every round: core number c exchanges everything with core number c xor 2^k. The
//         E = P - C ranks too many fold onto the core first: rank 2 j + 1, j < E, gives its block
//         to rank 2 j, and gets the result at the end. Neighbours fold together, so that what a
//         core rank has is always one run of consecutive blocks.
// Source  Thakur, Rabenseifner and Gropp, IJHPCA 2005.
// Cost    log2 C rounds, and 2 more if P is not a power of two. A core rank sends about
//         P / C blocks times 1, 2, 4, ...: P - 1 blocks if P = C; and P - 1 more to its folded
//         rank, if it has one. 1 local copy, no scratch.
//
// Example, P = 6: C = 4, E = 2; core numbers 0 1 2 3 are ranks 0 2 4 5; ranks 1 and 3 are folded.
//   fold      1 gives recv[1] to 0           3 gives recv[3] to 2
//   k = 0     0 <-> 2: recv[0..1], recv[2..3]    4 <-> 5: recv[4], recv[5]
//   k = 1     0 <-> 4, 2 <-> 5: recv[0..3], recv[4..5]
//   unfold    0 gives recv[0], recv[2..5] to 1   2 gives recv[0..2], recv[4..5] to 3
Schedule allgather_recursive_doubling(const Problem& problem) {
  const int me = problem.me;
  const Core core = core_of(problem.ranks);
  const int number = core.number(me);
  const bool folded = core.is_folded(me), has_folded = !folded && number < core.folded;
  Builder builder(me);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  if (folded) builder.send(me - 1, Buffer::recv, me);
  if (has_folded) builder.receive(me + 1, Buffer::recv, me + 1);
  if (!folded) add_doubling(builder, core, number);
  if (!folded && !has_folded) return builder.take();
  builder.begin_round();
  folded ? builder.receive(me - 1) : builder.send(me + 1);
  add_all_but(builder, problem.ranks, folded ? me : me + 1);
  return builder.take();
}

// Bruck allgather of radix r, for any number of ranks.
//
// Idea    A rank that has the w blocks p, p + 1, ..., p + w - 1 (cyclic) sends them to the ranks
//         p - w, p - 2 w, ..., p - (r - 1) w and so has r w blocks after the round. The last round
//         sends only what is missing. Blocks go straight to their place in recv: there is no
//         rotation.
// Source  Bruck et al., 1997, in the form of Thakur, Rabenseifner and Gropp, IJHPCA 2005;
//         there r = 2 and the blocks are rotated at the end.
// Cost    ceil(log_r P) rounds, P - 1 blocks, 1 local copy, no scratch. A message that passes
//         the end of recv has two runs of blocks.
//
// Example, P = 6, r = 2, rank 4:
//   copy         send[0] -> recv[4]
//   round w = 1  recv[4] to 3                 recv[5] from 5
//   round w = 2  recv[4], recv[5] to 2        recv[0], recv[1] from 0
//   round w = 4  recv[4], recv[5] to 0        recv[2], recv[3] from 2
Schedule allgather_bruck(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  const std::int64_t radix = bruck::radix_of(problem);
  Builder builder(me);
  builder.begin_round();
  builder.copy(Buffer::send, 0, Buffer::recv, me);
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    const int width = static_cast<int>(weight);
    const int digits = bruck::largest_digit(ranks, radix, weight);
    const auto blocks = [&](int digit) { return std::min(width, ranks - digit * width); };
    builder.begin_round();
    for (int digit = 1; digit <= digits; ++digit) {
      builder.send(cyclic(me - digit * width, ranks));
      add_cyclic_run(builder, ranks, me, blocks(digit));
    }
    for (int digit = 1; digit <= digits; ++digit) {
      const int from = cyclic(me + digit * width, ranks);
      builder.receive(from);
      add_cyclic_run(builder, ranks, from, blocks(digit));
    }
  }
  return builder.take();
}

}  // namespace quadrille::plan
