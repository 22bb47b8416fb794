// Every algorithm of the registry is proved, for every collective that it serves.
#include "plan/algorithms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/schedule.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille {
namespace {

using choose::Algorithm;

struct Served {
  const Algorithm* algorithm;
  Collective collective;
};

// GoogleTest prints parameters into the names of tests; the bytes of a pointer would change each
// run.
void PrintTo(const Served& served, std::ostream* out) {
  *out << name_of(served.collective) << ' ' << served.algorithm->name;
}

std::vector<Served> all_served() {
  std::vector<Served> all;
  for (const Algorithm& algorithm : choose::algorithms()) {
    // The schedules between padded blocks are those of the uniform algorithms, which are proved
    // anyway.
    if (algorithm.build == nullptr || algorithm.engine == choose::Engine::padded) continue;
    for (const Collective collective : algorithm.collectives) {
      all.push_back({&algorithm, collective});
    }
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<Served>& info) {
  std::string name(name_of(info.param.collective));
  name += '_';
  for (const char c : info.param.algorithm->name) name += c == '-' ? '_' : c;
  return name;
}

class AlgorithmTest : public testing::TestWithParam<Served> {};

// Every number up to QUADRILLE_TEST_PROOF_RANKS. If that is not set, every number up to 17, and five up to 33: large
// ones take longest. With a sanitizer every fourth number.
std::vector<int> proved_ranks() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int step = 4;
  constexpr bool some_more = false;
#else
  constexpr int step = 1;
  constexpr bool some_more = true;
#endif
  const char* const most = std::getenv("QUADRILLE_TEST_PROOF_RANKS");
  const int last = most != nullptr ? std::atoi(most) : some_more ? 17 : 33;
  std::vector<int> all;
  for (int ranks = 1; ranks <= last; ranks += step) all.push_back(ranks);
  if (most == nullptr && some_more) all.insert(all.end(), {19, 24, 31, 32, 33});
  return all;
}

TEST_P(AlgorithmTest, IsProvedUpTo33RanksWithAllParametersAndPlacements) {
  for (const int ranks : proved_ranks()) {
    long cases = 0;
    const plan::Report report = tools::prove(*GetParam().algorithm, GetParam().collective, ranks, 3, cases);
    ASSERT_TRUE(report.ok) << report.what;
    ASSERT_GT(cases, 0);
  }
}

TEST_P(AlgorithmTest, IsProvedAroundPowersOfTwo) {
  for (const int ranks : {64, 100, 127, 128}) {
    const plan::NodeMap nodes = plan::one_node(ranks);
    std::vector<plan::Parameters> cases = {{}};
    for (const choose::ParameterRange& range : GetParam().algorithm->parameters) {
      cases = {{{std::string(range.name), range.standard}},
               {{std::string(range.name), std::clamp<std::int64_t>(7, range.least, range.most)}}};
    }
    for (const plan::Parameters& parameters : cases) {
      const auto schedules = plan::build_all(GetParam().algorithm->build, nodes, parameters);
      const plan::Report report =
          plan::verify(schedules, nodes, tools::goal_of(*GetParam().algorithm, GetParam().collective), 2);
      ASSERT_TRUE(report.ok) << ranks << " ranks: " << report.what;
    }
  }
}

TEST_P(AlgorithmTest, OneRankCopiesItsOwnBlockAndNoMore) {
  const plan::NodeMap nodes = plan::one_node(1);
  const plan::Schedule schedule = GetParam().algorithm->build({1, 0, &nodes, {}});
  if (GetParam().algorithm->engine == choose::Engine::leaders) {  // in the area of its node and out of it
    EXPECT_EQ(schedule.copies.size(), 2u);
    EXPECT_TRUE(schedule.messages.empty());
    return;
  }
  if (row_of(GetParam().algorithm->engine).plans == choose::Plans::between_nodes) {
    EXPECT_TRUE(schedule.rounds.empty());
    return;
  }
  ASSERT_EQ(schedule.copies.size(), 1u);
  EXPECT_EQ(schedule.copies[0].from, (plan::Span{0, 0, plan::Buffer::send}));
  EXPECT_EQ(schedule.copies[0].to, (plan::Span{0, 0, plan::Buffer::recv}));
  EXPECT_TRUE(schedule.messages.empty());
  EXPECT_EQ(schedule.scratch_blocks, 0u);
}

TEST_P(AlgorithmTest, IsAPureFunction) {
  const plan::NodeMap nodes = plan::one_node(13);
  const plan::Problem problem{13, 5, &nodes, {}};
  const plan::Build build = GetParam().algorithm->build;
  EXPECT_EQ(build(problem), build(problem));
}

// The v and w collectives have no common block size, so without sizes that travel there is nothing
// to make scratch of.
TEST(UnevenTest, CollectivesUseNoScratchUnlessSizesTravel) {
  for (const auto& [algorithm, collective] : all_served()) {
    if (!tools::goal_of(*algorithm, collective).uneven) continue;
    if (algorithm->engine == choose::Engine::leaders) continue;  // its places are as large as the blocks in them
    const std::string_view name = algorithm->name;
    const bool travel = name == "two-phase-bruck" || name == "sloav" || name == "tuna-hierarchical" ||
                        (name == "mn-co" && !is_allgather(collective));
    for (const int ranks : {2, 6, 17}) {
      const plan::NodeMap nodes = plan::one_node(ranks);
      for (const plan::Schedule& s : plan::build_all(algorithm->build, nodes, {})) {
        if (ranks > 2) {
          EXPECT_EQ(s.scratch_blocks > 0, travel) << name;
        }
        EXPECT_EQ(s.sizes != plan::Sizes::known, travel) << name;
      }
    }
  }
}

// Of blocks of one size a rank takes room for them all, and for scratch, after it has asked the others if that is more
// than before. So all must need as much.
TEST(SizedTest, AllRanksNeedAsMuchRoom) {
  for (const auto& [algorithm, collective] : all_served()) {
    const choose::Engine engine = algorithm->engine;
    const bool takes_room = engine == choose::Engine::schedule || engine == choose::Engine::node;
    if (!takes_room || !is_sized(collective)) continue;
    for (const int ranks : {2, 5, 13, 16, 24}) {
      for (const plan::NodeMap& nodes : tools::node_maps(ranks)) {
        for (const plan::Parameters& parameters : tools::parameter_cases(*algorithm, ranks)) {
          const auto room = [&](int me) {
            const std::uint32_t scratch = algorithm->build({ranks, me, &nodes, parameters}).scratch_blocks;
            return std::max(scratch, static_cast<std::uint32_t>(ranks));
          };
          for (int me = 1; me < ranks; ++me) {
            ASSERT_EQ(room(me), room(0)) << algorithm->name << ", " << ranks << " ranks, rank " << me;
          }
        }
      }
    }
  }
}

// The executor of schedules whose sizes travel begins all messages of a round: what bounds them is another round.
TEST(UnevenTest, WhereSizesTravelNoRoundHasAWindow) {
  for (const auto& [algorithm, collective] : all_served()) {
    if (algorithm->engine != choose::Engine::schedule) continue;
    for (const int ranks : {2, 6, 17}) {
      for (const plan::NodeMap& nodes : tools::node_maps(ranks)) {
        for (const plan::Parameters& parameters : tools::parameter_cases(*algorithm, ranks)) {
          const plan::Schedule s = algorithm->build({ranks, ranks / 2, &nodes, parameters});
          for (const plan::Round& round : s.rounds) {
            EXPECT_TRUE(s.sizes == plan::Sizes::known || round.window.pairs == 0) << algorithm->name;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, AlgorithmTest, testing::ValuesIn(all_served()), test_name);

// The worked examples at the head of the algorithms' files.
std::string drawn(plan::Build build, int ranks, int me, plan::Parameters parameters = {}) {
  const plan::NodeMap nodes = plan::one_node(ranks);
  return plan::draw(build({ranks, me, &nodes, std::move(parameters)}), me);
}

TEST(ExampleTest, ZeroRotationBruck) {
  EXPECT_EQ(drawn(plan::zero_rotation_bruck, 4, 1),
            "scratch 4 blocks\n"
            "round 0\n"
            "  copy  send[1] -> recv[1]\n"
            "round 1\n"
            "  copy  send[0] -> scratch[0]\n"
            "  copy  send[2] -> scratch[1]\n"
            "  send  to 0: scratch[0..1]\n"
            "  recv  from 2: scratch[2..3]\n"
            "  copy  scratch[2] -> recv[2]\n"
            "  copy  scratch[3] -> recv[0]\n"
            "round 2\n"
            "  copy  send[3] -> scratch[0]\n"
            "  copy  recv[0] -> scratch[1]\n"
            "  send  to 3: scratch[0..1]\n"
            "  recv  from 3: scratch[2..3]\n"
            "  copy  scratch[2] -> recv[3]\n"
            "  copy  scratch[3] -> recv[0]\n");
}

TEST(ExampleTest, TwoPhaseBruck) {
  EXPECT_EQ(drawn(plan::two_phase_bruck, 4, 1),
            "scratch 5 blocks; sizes travel before the data\n"
            "round 0\n"
            "  copy  send[1] -> recv[1]\n"
            "round 1\n"
            "  copy  send[0] -> scratch[1]\n"
            "  copy  send[2] -> scratch[2]\n"
            "  send  to 0: scratch[1..2]\n"
            "  recv  from 2: scratch[3..4]\n"
            "  copy  scratch[3] -> recv[2]\n"
            "  copy  scratch[4] -> scratch[0]\n"
            "round 2\n"
            "  copy  send[3] -> scratch[1]\n"
            "  copy  scratch[0] -> scratch[2]\n"
            "  send  to 3: scratch[1..2]\n"
            "  recv  from 3: scratch[3..4]\n"
            "  copy  scratch[3] -> recv[3]\n"
            "  copy  scratch[4] -> recv[0]\n");
}

TEST(ExampleTest, Sloav) {
  EXPECT_EQ(drawn(plan::sloav, 4, 1),
            "scratch 8 blocks; sizes travel with the data\n"
            "round 0\n"
            "  copy  send[0] -> scratch[4]\n"
            "  copy  send[2] -> scratch[5]\n"
            "  send  to 0: scratch[4..5]\n"
            "  recv  from 2: scratch[6..7]\n"
            "  copy  scratch[6] -> scratch[1]\n"
            "  copy  scratch[7] -> scratch[3]\n"
            "round 1\n"
            "  copy  send[3] -> scratch[4]\n"
            "  copy  scratch[3] -> scratch[5]\n"
            "  send  to 3: scratch[4..5]\n"
            "  recv  from 3: scratch[6..7]\n"
            "  copy  scratch[6..7] -> scratch[2..3]\n"
            "round 2\n"
            "  copy  send[1] -> recv[1]\n"
            "  copy  scratch[1..2] -> recv[2..3]\n"
            "  copy  scratch[3] -> recv[0]\n");
}

TEST(ExampleTest, ZeroCopyBruck) {
  EXPECT_EQ(drawn(plan::zero_copy_bruck_dt, 4, 1),
            "scratch 4 blocks\n"
            "round 0\n"
            "  copy  send[1] -> recv[1]\n"
            "  copy  send[0] -> scratch[2]\n"
            "  copy  send[3] -> scratch[3]\n"
            "  copy  send[2] -> recv[0]\n"
            "round 1\n"
            "  send  to 0: scratch[2], recv[0]\n"
            "  recv  from 2: recv[2], scratch[0]\n"
            "round 2\n"
            "  send  to 3: scratch[3], scratch[0]\n"
            "  recv  from 3: recv[3], recv[0]\n");
}

TEST(ExampleTest, Batched) {
  EXPECT_EQ(drawn(plan::waitall_stride, 4, 0, {{"stride", 2}}),
            "scratch 0 blocks\n"
            "round 0 (2 pairs in flight, waited for together)\n"
            "  copy  send[0] -> recv[0]\n"
            "  send  to 1: send[1]\n"
            "  send  to 2: send[2]\n"
            "  send  to 3: send[3]\n"
            "  recv  from 3: recv[3]\n"
            "  recv  from 2: recv[2]\n"
            "  recv  from 1: recv[1]\n");
}

TEST(ExampleTest, AllgatherBruck) {
  EXPECT_EQ(drawn(plan::allgather_bruck, 6, 4),
            "scratch 0 blocks\n"
            "round 0\n"
            "  copy  send[0] -> recv[4]\n"
            "round 1\n"
            "  send  to 3: recv[4]\n"
            "  recv  from 5: recv[5]\n"
            "round 2\n"
            "  send  to 2: recv[4..5]\n"
            "  recv  from 0: recv[0..1]\n"
            "round 3\n"
            "  send  to 0: recv[4..5]\n"
            "  recv  from 2: recv[2..3]\n");
}

TEST(ExampleTest, RecursiveDoubling) {
  EXPECT_EQ(drawn(plan::allgather_recursive_doubling, 6, 3),
            "scratch 0 blocks\n"
            "round 0\n"
            "  copy  send[0] -> recv[3]\n"
            "  send  to 2: recv[3]\n"
            "round 1\n"
            "  recv  from 2: recv[0..2], recv[4..5]\n");
}

}  // namespace
}  // namespace quadrille
