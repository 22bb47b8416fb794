// Modified Bruck all-to-all: modified-bruck (packed), modified-bruck-dt (derived datatypes).
//
// Idea    Basic Bruck without the last rotation. Blocks travel downwards, and the first rotation
//         reverses their order: recv[p + i] = send[p - i] must travel i ranks down. Wherever block
//         i is, it sits at recv[i + rank]; when it has moved i ranks, that index is its source.
// Source  Fan et al., HPDC 2022, section 2.1 (after Traeff et al., ICS 2014); there r = 2.
// Cost    Rounds, messages and blocks of basic Bruck. Copies: P for the rotation, and for each
//         block moved 2 (packed) or 1 (dt).
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d; i = 0 is at recv[1].
//   rotate        recv = 12 11 10 13
//   round w = 1   i = 1, 3 (recv[2], recv[0]) go to rank 0; those of rank 2 come:
//                 recv = 23 11 21 13
//   round w = 2   i = 2, 3 (recv[3], recv[0]) go to rank 3; those of rank 3 come:
//                 recv = 01 11 21 31
#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {
namespace {

Schedule build(const Problem& problem, bruck::Transfer transfer) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  bruck::Plan plan(problem, transfer, 0, 1, static_cast<std::size_t>(ranks));
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    plan.builder.copy(Buffer::send, cyclic(me - i, ranks), Buffer::recv, cyclic(me + i, ranks));
  }
  const auto place = [&](const bruck::Moved& moved) { return plan.in_recv(moved); };
  plan.add_rounds(bruck::Direction::down, place, place);
  return plan.builder.take();
}

}  // namespace

Schedule modified_bruck(const Problem& problem) { return build(problem, bruck::Transfer::packed); }
Schedule modified_bruck_dt(const Problem& problem) { return build(problem, bruck::Transfer::typed); }

}  // namespace quadrille::plan
