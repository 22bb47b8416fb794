// All-to-alls by Bruck: of blocks of one size basic, modified, zero-copy and zero-rotation Bruck, of others two-phase
// Bruck and SLOAV. They differ in where blocks lie and in copies of a rank (bruck.hpp).
#include "plan/bruck.hpp"

#include <vector>

#include "plan/algorithms.hpp"

namespace quadrille::plan {
namespace {

Schedule with_two_rotations(const Problem& problem, bruck::Transfer transfer) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  if (ranks == 1) return spread_out(problem);  // copies the own block
  bruck::Plan plan(problem, transfer, ranks);
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

Schedule with_one_rotation(const Problem& problem, bruck::Transfer transfer) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  bruck::Plan plan(problem, transfer, 0);
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    plan.builder.copy(Buffer::send, cyclic(me - i, ranks), Buffer::recv, cyclic(me + i, ranks));
  }
  const auto place = [&](const bruck::Moved& moved) { return plan.in_recv(moved); };
  plan.add_rounds(bruck::Direction::down, place, place);
  return plan.builder.take();
}

// For each number below `ranks`: whether an odd number of its base-r digits is not zero.
std::vector<bool> odd_moves(int ranks, std::int64_t radix) {
  std::vector<bool> odd(static_cast<std::size_t>(ranks), false);
  for (int i = 1; i < ranks; ++i) {
    const auto rest = static_cast<std::size_t>(i / radix);
    odd[static_cast<std::size_t>(i)] = odd[rest] != (i % radix != 0);
  }
  return odd;
}

}  // namespace

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
Schedule basic_bruck(const Problem& problem) { return with_two_rotations(problem, bruck::Transfer::packed); }
Schedule basic_bruck_dt(const Problem& problem) { return with_two_rotations(problem, bruck::Transfer::typed); }

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
Schedule modified_bruck(const Problem& problem) { return with_one_rotation(problem, bruck::Transfer::packed); }
Schedule modified_bruck_dt(const Problem& problem) { return with_one_rotation(problem, bruck::Transfer::typed); }

// Zero-copy Bruck all-to-all with derived datatypes (zero-copy-bruck-dt).
//
// Idea    Modified Bruck without copies in the rounds. Beside recv there is a second buffer T of P
//         scratch blocks. A block that is sent from one of them is replaced in the other, so
//         nothing that is still being sent is overwritten. A block must end in recv: if it has b
//         moves left (its digits, from this position upwards, that are not zero), it is sent from T
//         and received into recv for odd b, and the other way round for even b. The first rotation
//         puts it where its first move starts.
// Source  Fan et al., HPDC 2022, section 2.1 (after Traeff et al., ICS 2014); there r = 2. The
//         paper prints the two cases of b the other way round, which would leave all blocks in T.
// Cost    Rounds, messages and blocks of basic Bruck. Copies: P for the rotation, none in the
//         rounds. Messages need derived datatypes on both sides. Scratch: P blocks.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d; block i has
// index i + 1 mod 4.
//   rotate        i = 0: recv[1] = 11   i = 1: T[2] = 10   i = 2: T[3] = 13   i = 3: recv[0] = 12
//   round w = 1   i = 1: T[2] to rank 0, recv[2] = 21     i = 3: recv[0] to rank 0, T[0] = 23
//   round w = 2   i = 2: T[3] to rank 3, recv[3] = 31     i = 3: T[0] to rank 3, recv[0] = 01
Schedule zero_copy_bruck_dt(const Problem& problem) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  bruck::Plan plan(problem, bruck::Transfer::direct, ranks > 1 ? ranks : 0);
  const std::vector<bool> odd = odd_moves(ranks, plan.radix);
  plan.builder.begin_round();
  for (int i = 0; i < ranks; ++i) {
    const Buffer first = odd[static_cast<std::size_t>(i)] ? Buffer::scratch : Buffer::recv;
    plan.builder.copy(Buffer::send, cyclic(me - i, ranks), first, cyclic(me + i, ranks));
  }
  const auto source = [&](const bruck::Moved& moved) {
    const bool to_recv = odd[static_cast<std::size_t>(moved.high)];
    return Span{me, cyclic(me + moved.block, ranks), to_recv ? Buffer::scratch : Buffer::recv};
  };
  const auto target = [&](const bruck::Moved& moved) {
    const bool to_recv = odd[static_cast<std::size_t>(moved.high)];
    return Span{me, cyclic(me + moved.block, ranks), to_recv ? Buffer::recv : Buffer::scratch};
  };
  plan.add_rounds(bruck::Direction::down, source, target);
  return plan.builder.take();
}

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
Schedule zero_rotation_bruck(const Problem& problem) {
  bruck::Plan plan(problem, bruck::Transfer::packed, 0);
  plan.builder.begin_round();
  plan.builder.copy(Buffer::send, plan.me, Buffer::recv, plan.me);
  const auto place = [&](const bruck::Moved& moved) { return plan.in_recv(moved); };
  const auto source = [&](const bruck::Moved& moved) { return moved.first ? plan.in_send(moved) : place(moved); };
  plan.add_rounds(bruck::Direction::down, source, place);
  return plan.builder.take();
}

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
//         (r - 1) log_r P. Working memory: see run/carried_blocks.hpp.
//
// Example, P = 4, r = 2, rank 1. "sd" is the block from rank s to rank d.
//   copy          recv[1] = 11
//   round w = 1   i = 1, 3: send[0] = 10, for rank 0 itself, and send[2] = 12. Phase 1: the sizes of 10 and 12 go
//                 to rank 0, those of 21 and 23 come from rank 2. Phase 2: 10 and 12 go; 21 comes into recv[2],
//                 23 into the only slot: of the blocks that travel 1, 2 and 3 ranks the third moves twice
//   round w = 2   i = 2, 3: the sizes, then send[3] = 13 and the slot, 23, go to rank 3; 31 and 01 come into
//                 recv[3] and recv[0]
Schedule two_phase_bruck(const Problem& problem) {
  const int slots = bruck::waiting_blocks(problem.ranks, bruck::radix_of(problem));
  bruck::Plan plan(problem, bruck::Transfer::packed, slots);
  plan.builder.sizes(Sizes::carried);
  plan.builder.begin_round();
  plan.builder.copy(Buffer::send, plan.me, Buffer::recv, plan.me);
  plan.add_rounds_with_slots();
  return plan.builder.take();
}

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
Schedule sloav(const Problem& problem) {
  const int ranks = problem.ranks;
  bruck::Plan plan(problem, bruck::Transfer::packed, ranks > 1 ? ranks : 0);
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
