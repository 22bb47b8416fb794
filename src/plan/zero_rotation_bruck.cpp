// Zero-rotation Bruck all-to-all.
//
// Idea    Modified Bruck without the first rotation either. A block that has not moved yet is taken
//         straight from send[p - i], the place that the rotation index array of the paper names;
//         later it sits at recv[p + i]. Which of the two it is follows from the digits: a block
//         moves for the first time at its lowest digit that is not zero.
// Source  Fan et al., HPDC 2022, section 2.1 (their own variant); there r = 2.
// Cost    Rounds, messages and blocks of basic Bruck. Copies: 1 for the own block, and 2 for each
//         block moved.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d.
//   copy          recv[1] = 11
//   round w = 1   i = 1, 3: send[0] = 10 and send[2] = 12 go to rank 0;
//                 rank 2 sends 21 and 23                      recv = 23 11 21 --
//   round w = 2   i = 2 from send[3] = 13, i = 3 from recv[0] = 23 go to rank 3;
//                 rank 3 sends 31 and 01                      recv = 01 11 21 31
#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {

Schedule zero_rotation_bruck(const Problem& problem) {
  constexpr bruck::Transfer transfer = bruck::Transfer::packed;
  const int ranks = problem.ranks;
  const int me = problem.me;
  const std::int64_t radix = bruck::radix_of(problem);
  const bruck::Totals sum = bruck::totals(ranks, radix);
  Builder builder(me);
  bruck::reserve(builder, sum, transfer, 1, 1);
  builder.scratch(static_cast<std::uint32_t>(bruck::staging_blocks(sum, transfer)));

  builder.begin_round();
  builder.copy(Buffer::send, me, Buffer::recv, me);
  const auto place = [me, ranks](const bruck::Moved& moved) {
    return Span{me, cyclic(me + moved.block, ranks), Buffer::recv};
  };
  const auto source = [me, ranks, place](const bruck::Moved& moved) {
    return moved.first ? Span{me, cyclic(me - moved.block, ranks), Buffer::send} : place(moved);
  };
  bruck::add_rounds(builder, problem, radix, bruck::Direction::down, transfer, 0, source, place);
  return builder.take();
}

}  // namespace quadrille::plan
