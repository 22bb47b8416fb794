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
  constexpr bruck::Transfer transfer = bruck::Transfer::packed;
  const int ranks = problem.ranks;
  const int me = problem.me;
  const std::int64_t radix = bruck::radix_of(problem);
  const bruck::Totals sum = bruck::totals(ranks, radix);
  Builder builder(me);
  builder.sizes(Sizes::coupled);
  bruck::reserve(builder, sum, transfer, 1, static_cast<std::size_t>(ranks));
  const int slots = ranks > 1 ? ranks : 0;
  builder.scratch(static_cast<std::uint32_t>(slots + bruck::staging_blocks(sum, transfer)));

  const auto slot = [me](const bruck::Moved& moved) { return Span{me, moved.block, Buffer::scratch}; };
  const auto source = [me, ranks, slot](const bruck::Moved& moved) {
    return moved.first ? Span{me, cyclic(me - moved.block, ranks), Buffer::send} : slot(moved);
  };
  bruck::add_rounds(builder, problem, radix, bruck::Direction::down, transfer, slots, source, slot, bruck::Told::all);
  builder.begin_round();
  builder.copy(Buffer::send, me, Buffer::recv, me);
  for (int i = 1; i < ranks; ++i) {
    builder.copy(Buffer::scratch, i, Buffer::recv, cyclic(me + i, ranks));
  }
  return builder.take();
}

}  // namespace quadrille::plan
