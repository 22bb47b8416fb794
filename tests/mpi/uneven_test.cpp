// Algorithms whose sizes travel, over many calls: other counts each time on one communicator, so that nothing
// kept from one call may serve the next.
#include <algorithm>
#include <numeric>
#include <vector>

#include "choices.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

class Uneven : public MpiTest, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Uneven,
                         testing::Values("two-phase-bruck", "two-phase-bruck:radix=4", "two-phase-bruck:eager=0",
                                         "two-phase-bruck:monolithic=1", "sloav", "tuna-hierarchical",
                                         "tuna-hierarchical:exchange=staggered", "padded-bruck", "padded-alltoall"),
                         [](const auto& info) {
                           return test_name({Collective::alltoallv, info.param});
                         });

// Ints from `source` to `destination`: mostly few, at times none or some thousand.
int count_of(int call, int source, int destination) {
  const std::uint64_t draw = mix(mix(static_cast<std::uint64_t>(call)) + static_cast<std::uint64_t>(source) * 1009 +
                                 static_cast<std::uint64_t>(destination));
  if (draw % 1000 == 0) return static_cast<int>(draw / 1000 % 3000);
  return draw % 4 == 0 ? 0 : static_cast<int>(draw / 4 % 17);
}

int value_of(int call, int source, int destination) { return call * 65536 + source * 256 + destination; }

// Displacements of blocks that lie one behind the other. Returns how many elements there are.
int lay_out(const std::vector<int>& counts, std::vector<int>& places) {
  places.resize(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  return places.back() + counts.back();
}

TEST_P(Uneven, TenThousandCallsWithChangingCounts) {
  if (!can_force) GTEST_SKIP() << "nothing can be forced through this door";
  Communicator where = duplicate("uneven");
  ASSERT_EQ(force(where.comm, Collective::alltoallv, GetParam()), MPI_SUCCESS);
  const bool first = GetParam() == std::string("two-phase-bruck");
  const int calls = first && where.size <= 8 ? 10000 : repeats(10000, 50);
  std::vector<int> out(static_cast<std::size_t>(where.size)), in(out.size()), to, from, send, receive;
  std::uint64_t wrong = 0;
  for (int call = 0; call < calls; ++call) {
    for (int p = 0; p < where.size; ++p) {
      out[static_cast<std::size_t>(p)] = count_of(call, where.rank, p);
      in[static_cast<std::size_t>(p)] = count_of(call, p, where.rank);
    }
    send.resize(static_cast<std::size_t>(lay_out(out, to)));
    receive.assign(static_cast<std::size_t>(lay_out(in, from)), -1);
    for (int p = 0; p < where.size; ++p) {
      const auto at = static_cast<std::size_t>(p);
      std::fill_n(send.begin() + to[at], out[at], value_of(call, where.rank, p));
    }
    const std::vector<int> before = out;
    ASSERT_EQ(tested.alltoallv(send.data(), out.data(), to.data(), MPI_INT, receive.data(), in.data(), from.data(),
                               MPI_INT, where.comm),
              MPI_SUCCESS);
    wrong += out != before;
    for (int p = 0; p < where.size; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const auto* block = receive.data() + from[at];
      const auto good = std::count(block, block + in[at], value_of(call, p, where.rank));
      wrong += static_cast<std::uint64_t>(in[at] - good);
    }
    if (wrong > 0) break;
  }
  EXPECT_EQ(wrong, 0U);
  release(where);
}

}  // namespace
}  // namespace quadrille::test
