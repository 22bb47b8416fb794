// Counts equal the papers' closed forms. The expected numbers come from counting digits here, not
// from the index arithmetic of the algorithms.
#include "plan/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "lab/map/closed_forms.hpp"
#include "plan/algorithms.hpp"

namespace quadrille::plan {
namespace {

using U = std::uint64_t;

Counts counts_of(Build build, int ranks, int me, const Parameters& parameters = {}) {
  const NodeMap nodes = one_node(ranks);
  return count(build({ranks, me, &nodes, parameters}));
}

// ceil(log_radix(ranks)), by multiplication.
U log_up(int ranks, int radix) {
  U result = 0;
  for (long reach = 1; reach < ranks; reach *= radix) ++result;
  return result;
}

// What the Bruck rounds move, by looking at every digit of every block number.
struct Moved {
  std::vector<U> blocks;                   // [position]
  std::set<std::pair<int, int>> messages;  // (position, digit)
  U all = 0, most = 0;
  U waiting = 0;  // blocks with several digits that are not zero
};

Moved moved(int ranks, int radix) {
  Moved m;
  m.blocks.resize(log_up(ranks, radix));
  for (int i = 0; i < ranks; ++i) {
    int position = 0, moves = 0;
    for (int rest = i; rest > 0; rest /= radix, ++position) {
      if (rest % radix == 0) continue;
      ++m.blocks[static_cast<std::size_t>(position)];
      ++m.all;
      m.waiting += ++moves == 2 ? 1 : 0;
      m.messages.insert({position, rest % radix});
    }
  }
  for (const U blocks : m.blocks) m.most = std::max(m.most, blocks);
  return m;
}

std::vector<int> radices(int ranks) {
  std::vector<int> all = {2, 3, 4, 5, 6, 7, 8};
  if (ranks > 8) all.push_back(ranks);
  return all;
}

class BruckCostTest : public testing::Test {
 protected:
  // Calls check(ranks, counts, moved) for many ranks and radices.
  template <class Check>
  void for_all(Build build, Check check) {
    for (int ranks = 2; ranks <= 64; ++ranks) {
      for (const int radix : radices(ranks)) {
        const Moved m = moved(ranks, radix);
        for (const int me : {0, ranks / 2, ranks - 1}) {
          SCOPED_TRACE(testing::Message() << ranks << " ranks, radix " << radix << ", rank " << me);
          const Counts c = counts_of(build, ranks, me, {{"radix", radix}});
          EXPECT_EQ(c.rounds, log_up(ranks, radix));
          EXPECT_EQ(c.messages, m.messages.size());
          EXPECT_EQ(c.blocks_sent, m.all);
          check(static_cast<U>(ranks), c, m);
          if (HasFailure()) return;
        }
      }
    }
  }
};

TEST_F(BruckCostTest, Basic) {
  for_all(basic_bruck, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, 2 * ranks + 2 * m.all);
    EXPECT_EQ(c.scratch_blocks, ranks + 2 * m.most);
    EXPECT_EQ(c.derived_messages, 0u);
  });
}

TEST_F(BruckCostTest, BasicWithDatatypes) {
  for_all(basic_bruck_dt, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, 2 * ranks + m.all);
    EXPECT_EQ(c.scratch_blocks, ranks + m.most);
  });
}

TEST_F(BruckCostTest, Modified) {
  for_all(modified_bruck, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, ranks + 2 * m.all);
    EXPECT_EQ(c.scratch_blocks, 2 * m.most);
    EXPECT_EQ(c.derived_messages, 0u);
  });
}

TEST_F(BruckCostTest, ModifiedWithDatatypes) {
  for_all(modified_bruck_dt, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, ranks + m.all);
    EXPECT_EQ(c.scratch_blocks, m.most);
  });
}

TEST_F(BruckCostTest, ZeroCopy) {
  for_all(zero_copy_bruck_dt, [](U ranks, const Counts& c, const Moved&) {
    EXPECT_EQ(c.blocks_copied, ranks);
    EXPECT_EQ(c.scratch_blocks, ranks);
  });
}

TEST_F(BruckCostTest, ZeroRotation) {
  for_all(zero_rotation_bruck, [](U, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, 1 + 2 * m.all);
    EXPECT_EQ(c.scratch_blocks, 2 * m.most);
    EXPECT_EQ(c.derived_messages, 0u);
  });
}

// The size of each block travels with it, also to its last receiver.
TEST_F(BruckCostTest, TwoPhase) {
  for_all(two_phase_bruck, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, 1 + 2 * m.all);
    EXPECT_EQ(m.waiting, ranks - 1 - c.messages);
    EXPECT_EQ(c.scratch_blocks, m.waiting + 2 * m.most);
    EXPECT_EQ(c.sizes_sent, m.all);
    EXPECT_EQ(c.size_messages, m.messages.size());
  });
}

TEST_F(BruckCostTest, Sloav) {
  for_all(sloav, [](U ranks, const Counts& c, const Moved& m) {
    EXPECT_EQ(c.blocks_copied, ranks + 2 * m.all);
    EXPECT_EQ(c.scratch_blocks, ranks + 2 * m.most);
    EXPECT_EQ(c.sizes_sent, m.all);
    EXPECT_EQ(c.size_messages, m.messages.size());
  });
}

// Fan et al., section 3.3: at most log P * (P + 1) / 2 blocks; for powers of two exactly
// log P * P / 2.
TEST(BruckBoundTest, BlocksOfRadixTwo) {
  for (int ranks = 1; ranks <= 256; ++ranks) {
    const Counts c = counts_of(zero_rotation_bruck, ranks, 0);
    EXPECT_LE(c.blocks_sent, log_up(ranks, 2) * static_cast<U>(ranks + 1) / 2);
    if ((ranks & (ranks - 1)) == 0) {
      EXPECT_EQ(c.blocks_sent, log_up(ranks, 2) * static_cast<U>(ranks) / 2);
    }
  }
}

TEST(BruckBoundTest, RadixOfAtLeastPSendsEachBlockOnce) {
  for (const int radix : {16, 17, 1 << 20}) {
    const Counts c = counts_of(modified_bruck, 16, 3, {{"radix", radix}});
    EXPECT_EQ(c.rounds, 1u);
    EXPECT_EQ(c.messages, 15u);
    EXPECT_EQ(c.blocks_sent, 15u);
  }
}

// A strided message needs a datatype: half of the blocks, every other one, in the first round.
TEST(BruckBoundTest, DatatypesAreCounted) {
  EXPECT_EQ(counts_of(basic_bruck_dt, 8, 0).derived_messages, 2u);  // 1 3 5 7 and 2 3 6 7
  EXPECT_EQ(counts_of(zero_copy_bruck_dt, 2, 0).derived_messages, 0u);
  EXPECT_GE(counts_of(zero_copy_bruck_dt, 8, 0).derived_messages, 4u);
}

TEST(DirectCostTest, RoundsFollowTheWindow) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const U others = static_cast<U>(ranks - 1);
    const U one = others > 0 ? 1 : 0;
    const Counts all = {one, others, others, 1, 0, 0};
    const Counts one_by_one = {others, others, others, 1, 0, 0};
    for (const int me : {0, ranks - 1}) {
      EXPECT_EQ(counts_of(spread_out, ranks, me), all);
      EXPECT_EQ(counts_of(nonblocking, ranks, me), all);
      EXPECT_EQ(counts_of(allgather_spread_out, ranks, me), all);
      EXPECT_EQ(counts_of(pairwise, ranks, me), one_by_one);
      EXPECT_EQ(counts_of(allgather_ring, ranks, me), one_by_one);
      for (const int stride : {1, 2, 5, 64}) {
        const U batches = (others + static_cast<U>(stride) - 1) / static_cast<U>(stride);
        const Counts batched = {batches, others, others, 1, 0, 0};
        for (const Build build : {waitall_stride, waitany_stride, testany_stride}) {
          EXPECT_EQ(counts_of(build, ranks, me, {{"stride", stride}}), batched);
        }
      }
    }
  }
}

TEST(AllgatherCostTest, Bruck) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (const int radix : radices(ranks)) {
      const Counts c = counts_of(allgather_bruck, ranks, ranks / 3, {{"radix", radix}});
      EXPECT_EQ(c.rounds, log_up(ranks, radix));
      EXPECT_EQ(c.messages, moved(ranks, radix).messages.size());
      EXPECT_EQ(c.blocks_sent, static_cast<U>(ranks - 1));
      EXPECT_EQ(c.blocks_copied, 1u);
      EXPECT_EQ(c.scratch_blocks, 0u);
    }
  }
}

TEST(AllgatherCostTest, RecursiveDoublingOfAPowerOfTwo) {
  for (int ranks = 1; ranks <= 64; ranks *= 2) {
    for (int me = 0; me < ranks; ++me) {
      const U log = log_up(ranks, 2);
      const Counts expected = {log, log, static_cast<U>(ranks - 1), 1, 0, 0};
      EXPECT_EQ(counts_of(allgather_recursive_doubling, ranks, me), expected);
    }
  }
}

TEST(AllgatherCostTest, RecursiveDoublingFoldsOtherNumbers) {
  for (int ranks = 3; ranks <= 64; ++ranks) {
    const U down = log_up(ranks, 2) - 1;  // log2 of the core, as ranks is no power of two
    if ((ranks & (ranks - 1)) == 0) continue;
    const int folded = ranks - (1 << down);
    U received = 0;
    for (int me = 0; me < ranks; ++me) {
      const Counts c = counts_of(allgather_recursive_doubling, ranks, me);
      const bool is_folded = me < 2 * folded && me % 2 == 1;
      const bool has_folded = me < 2 * folded && me % 2 == 0;
      EXPECT_EQ(c.rounds, is_folded ? 2 : has_folded ? down + 2 : down);
      EXPECT_EQ(c.messages, is_folded ? 1 : has_folded ? down + 1 : down);
      received += c.blocks_sent;
    }
    // Nobody receives a block twice, so all ranks together send each block P - 1 times.
    EXPECT_EQ(received, static_cast<U>(ranks) * static_cast<U>(ranks - 1));
  }
}

// Equation (1) of Fan et al., with P / 2 for (P + 1) / 2 as P is a power of two.
TEST(TimeTest, IsTheModelOfThePaper) {
  const Machine machine = {2e-6, 1e-9, 0};
  const Counts c = counts_of(zero_rotation_bruck, 1024, 0);
  EXPECT_DOUBLE_EQ(lab::time(c, machine, 32), 2e-6 * 10 + 1e-9 * 10 * 512 * 32);
}

TEST(TimeTest, CopiesCost) {
  const Machine machine = {0, 0, 1e-10};
  EXPECT_DOUBLE_EQ(lab::time(counts_of(zero_copy_bruck_dt, 64, 0), machine, 100), 64 * 100 * 1e-10);
}

}  // namespace
}  // namespace quadrille::plan
