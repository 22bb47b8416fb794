// Basic Bruck all-to-all, packed (basic-bruck) and with derived datatypes (basic-bruck-dt).
//
// Idea    Three phases. (1) Rotate: W[i] = send[p + i], so that W[i] must travel i ranks upwards.
//         (2) For each base-r digit of i, blocks with digit z move z * r^k ranks together, so that
//         log_r P rounds are enough. (3) Rotate back: W[i] now holds the block from rank p - i.
//         W is P scratch blocks, because the last rotation cannot be done in place.
// Source  Fan et al., HPDC 2022, section 2.1 (after Bruck et al., 1997); there r = 2.
// Cost    ceil(log_r P) rounds; one message for each digit value that occurs, in all about
//         (r - 1) log_r P; each position moves the blocks whose digit is not zero, about
//         P (r - 1) / r. Copies: 2 P for the rotations, and for each block moved 2 (packed)
//         or 1 (dt).
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d.
//   rotate        W = 11 12 13 10
//   round w = 1   W[1], W[3] go to rank 2; those of rank 0 come     W = 11 01 13 03
//   round w = 2   W[2], W[3] go to rank 3; those of rank 3 come     W = 11 01 31 21
//   rotate back   recv[1] = W[0], recv[0] = W[1], recv[3] = W[2], recv[2] = W[3]
#include "plan/algorithms.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {
namespace {

Schedule build(const Problem& problem, bruck::Transfer transfer) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  if (ranks == 1) return spread_out(problem);  // copies the own block
  bruck::Plan plan(problem, transfer, ranks, 2, 2 * static_cast<std::size_t>(ranks));
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    plan.builder.copy(Buffer::send, cyclic(me + i, ranks), Buffer::scratch, i);
  }
  const auto place = [me](const bruck::Moved& moved) { return Span{me, moved.block, Buffer::scratch}; };
  plan.add_rounds(bruck::Direction::up, place, place);
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    plan.builder.copy(Buffer::scratch, i, Buffer::recv, cyclic(me - i, ranks));
  }
  return plan.builder.take();
}

}  // namespace

Schedule basic_bruck(const Problem& problem) { return build(problem, bruck::Transfer::packed); }
Schedule basic_bruck_dt(const Problem& problem) { return build(problem, bruck::Transfer::typed); }

}  // namespace quadrille::plan
