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
  bruck::Plan plan(problem, bruck::Transfer::packed, 0, 1, 1);
  plan.builder.begin_round();
  plan.builder.copy(Buffer::send, plan.me, Buffer::recv, plan.me);
  const auto place = [&](const bruck::Moved& moved) { return plan.in_recv(moved); };
  const auto source = [&](const bruck::Moved& moved) { return moved.first ? plan.in_send(moved) : place(moved); };
  plan.add_rounds(bruck::Direction::down, source, place);
  return plan.builder.take();
}

}  // namespace quadrille::plan
