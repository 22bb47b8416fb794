// Two-phase Bruck: all-to-all of blocks of different sizes in log P rounds.
//
// Idea    Zero-rotation Bruck, each round in two phases: first the sizes of the blocks, then the blocks. A block
//         that arrives for good goes to its place in the receive buffer; one that moves on waits in a slot of a
//         working buffer. Only blocks that move more than once have a slot, so there are P - 1 - m of them, where
//         m is the number of messages.
// Source  Fan et al., HPDC 2022, section 3.2, algorithm 1; there r = 2, and all P blocks have slots. Any radix,
//         and a buffer without the blocks that arrive by their first message: Fan, Domke, Ba and Kumar, HPDC 2025
//         (TuNA), which sends the messages of a digit position one by one.
// Cost    Rounds and blocks of basic Bruck. Two messages for each digit value of a round: one of sizes (4 bytes a
//         block) and one of data. Copies: 1 for the own block, 2 for each block moved. m is about
//         (r - 1) log_r P. Working memory: see run/carried.hpp.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d.
//   copy          recv[1] = 11
//   round w = 1   i = 1, 3: send[0] = 10, for rank 0 itself, and send[2] = 12. Phase 1: the sizes of 10 and 12 go
//                 to rank 0, those of 21 and 23 come from rank 2. Phase 2: 10 and 12 go; 21 comes into recv[2],
//                 23 into the only slot: of the blocks that travel 1, 2 and 3 ranks the third moves twice
//   round w = 2   i = 2, 3: the sizes, then send[3] = 13 and the slot, 23, go to rank 3; 31 and 01 come into
//                 recv[3] and recv[0]
#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {

Schedule two_phase_bruck(const Problem& problem) {
  const int slots = bruck::waiting_blocks(problem.ranks, bruck::radix_of(problem));
  bruck::Plan plan(problem, bruck::Transfer::packed, slots, 1, 1);
  plan.builder.sizes(Sizes::carried);
  plan.builder.begin_round();
  plan.builder.copy(Buffer::send, plan.me, Buffer::recv, plan.me);
  plan.add_rounds_with_slots();
  return plan.builder.take();
}

}  // namespace quadrille::plan
