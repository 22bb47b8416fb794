// Bruck of any radix for uneven blocks (Fan, Domke, Ba and Kumar, HPDC 2025): what is under way, and what it takes.
#include <gtest/gtest.h>

#include <vector>

#include "plan/algorithms.hpp"
#include "plan/bruck_index.hpp"
#include "plan/cost.hpp"

namespace quadrille::plan {
namespace {

using U = std::uint64_t;

int digits_not_zero(int block, int radix) {
  int count = 0;
  for (int rest = block; rest > 0; rest /= radix) count += rest % radix != 0 ? 1 : 0;
  return count;
}

// Slots are for the blocks that move more than once, in their order, without gaps.
TEST(Tuna, SlotsAreThoseOfTheBlocksThatWait) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    for (int radix = 2; radix <= ranks; ++radix) {
      int next = 0, direct = 0;
      for (int block = 1; block < ranks; ++block) {
        const int moves = digits_not_zero(block, radix);
        direct += moves == 1 ? 1 : 0;
        if (moves < 2) continue;
        ASSERT_EQ(bruck::waiting_slot(radix, block), next++) << block << " of " << ranks << ", radix " << radix;
      }
      ASSERT_EQ(bruck::waiting_blocks(ranks, radix), next) << ranks << " ranks, radix " << radix;
      ASSERT_EQ(next, ranks - 1 - direct);
    }
  }
  EXPECT_EQ(bruck::waiting_blocks(1000, 1 << 20), 0) << "all arrive by their first message";
}

// [slot] how often a block comes to wait there, and how often one goes on.
struct Uses {
  std::vector<U> came, went;
};
Uses uses_of(const Schedule& schedule) {
  const std::size_t slots = waiting_slots(schedule);
  Uses uses{std::vector<U>(slots), std::vector<U>(slots)};
  for (const Copy& copy : schedule.copies) {
    const auto is_slot = [&](const Span& span) {
      return span.buffer == Buffer::scratch && static_cast<std::size_t>(span.block) < slots;
    };
    if (is_slot(copy.to)) ++uses.came[static_cast<std::size_t>(copy.to.block)];
    if (is_slot(copy.from)) ++uses.went[static_cast<std::size_t>(copy.from.block)];
  }
  return uses;
}

// Working memory for P - 1 blocks, less those that arrive by their first message: as many as there are messages.
TEST(Tuna, TwoPhaseBruckKeepsOnlyWhatIsUnderWay) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    const NodeMap nodes = one_node(ranks);
    for (int radix = 2; radix <= ranks; ++radix) {
      const Schedule schedule = two_phase_bruck({ranks, ranks / 3, &nodes, {{"radix", radix}}});
      const U messages = count(schedule).messages;
      ASSERT_EQ(waiting_slots(schedule) + messages + 1, static_cast<U>(ranks)) << ranks << " ranks, radix " << radix;
      U positions = 0;
      for (std::int64_t reach = 1; reach < ranks; reach *= radix) ++positions;
      ASSERT_LE(messages, positions * static_cast<U>(radix - 1));
      const Uses uses = uses_of(schedule);
      ASSERT_EQ(uses.came, uses.went) << ranks << " ranks, radix " << radix;
      for (const U came : uses.came) ASSERT_GE(came, 1u) << ranks << " ranks, radix " << radix;
    }
  }
}

}  // namespace
}  // namespace quadrille::plan
