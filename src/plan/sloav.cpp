// SLOAV: all-to-all of blocks of different sizes in log P rounds, sizes and blocks in one message.
//
// Idea    Bruck rounds without a first rotation. In each round a rank puts the sizes of the blocks and the
//         blocks into one combined buffer, sends its length, then the buffer. All that comes waits in
//         temporary memory, found through an array of sizes and one of pointers. After the last round a scan
//         copies every block to its place in the receive buffer.
// Source  Fan et al., HPDC 2022, section 6.1, after Xu et al. (SLOAV); there r = 2.
// Cost    Rounds and blocks of basic Bruck. Two messages for each digit value of a round: one of 8 bytes, one
//         of sizes (4 bytes a block) and data. Copies: 2 for each block moved, and P for the scan.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d.
//   round w = 1   i = 1, 3: the length of (sizes of 10 and 12, 10, 12), then all that, goes to rank 0; from
//                 rank 2 come 21 and 23, into slots 1 and 3
//   round w = 2   i = 2, 3: 13 and slot 3 = 23 go to rank 3; 31 and 01 come into slots 2 and 3
//   scan          recv = slot 3, the own block 11, slot 1, slot 2
#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {

Schedule sloav(const Problem& problem) {
  const int ranks = problem.ranks;
  bruck::Plan plan(problem, bruck::Transfer::packed, ranks > 1 ? ranks : 0, 1, static_cast<std::size_t>(ranks));
  plan.builder.sizes(Sizes::coupled);
  const auto slot = [&](const bruck::Moved& moved) { return Span{plan.me, moved.block, Buffer::scratch}; };
  const auto source = [&](const bruck::Moved& moved) { return moved.first ? plan.in_send(moved) : slot(moved); };
  plan.add_rounds(bruck::Direction::down, source, slot);
  plan.builder.begin_round();
  plan.builder.copy(Buffer::send, plan.me, Buffer::recv, plan.me);
  for (int i = 1; i < ranks; ++i) {
    plan.builder.copy(Buffer::scratch, i, Buffer::recv, cyclic(plan.me + i, ranks));
  }
  return plan.builder.take();
}

}  // namespace quadrille::plan
