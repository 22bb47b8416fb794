#include <gtest/gtest.h>

#include "choose/select.hpp"
#include "choose/trial.hpp"

namespace quadrille::choose {
namespace {

constexpr auto a2a = Collective::alltoall;

Case case_on(const plan::NodeMap& nodes, bool crowded = false, std::size_t bytes = 7,
             const char* other = "single-copy") {
  const std::vector<Choice> candidates = {plain(a2a, "mpi"), plain(a2a, other)};
  return case_of(nodes, crowded, a2a, {bytes, 2 * bytes}, 0, candidates);
}

TEST(Verdicts, HoldForTheSameShapeKindAndCandidates) {
  const plan::NodeMap nodes = plan::node_map_from_labels({5, 5, 9});
  Verdicts verdicts;
  EXPECT_FALSE(verdicts.contains(case_on(nodes)));
  keep_verdict(verdicts, case_on(nodes), {plain(a2a, "mpi"), {Reason::first_calls_took}});
  const auto found = verdicts.find(case_on(plan::node_map_from_labels({1, 1, 0})));
  ASSERT_TRUE(found != verdicts.end()) << "whatever the nodes are called";
  EXPECT_EQ(to_string(found->second.best), "mpi");
  EXPECT_FALSE(verdicts.contains(case_on(plan::node_map_from_labels({5, 9, 9}))));
  EXPECT_FALSE(verdicts.contains(case_on(plan::node_map_from_labels({5, 9, 5}))));
  EXPECT_FALSE(verdicts.contains(case_on(nodes, true)));
  EXPECT_FALSE(verdicts.contains(case_on(nodes, false, 8)));
  EXPECT_FALSE(verdicts.contains(case_on(nodes, false, 7, "spread-out")));
  keep_verdict(verdicts, case_on(nodes), {plain(a2a, "single-copy"), {Reason::identical_plans}});
  EXPECT_EQ(verdicts.at(case_on(nodes)).why.reason, Reason::identical_plans);
  EXPECT_EQ(verdicts.size(), 1U);
}

TEST(Verdicts, AreNotTooMany) {
  const plan::NodeMap nodes = plan::one_node(2);
  Verdicts verdicts;
  for (std::size_t bytes = 0; bytes < 5000; ++bytes) {
    keep_verdict(verdicts, case_on(nodes, false, bytes), {plain(a2a, "mpi"), {}});
  }
  EXPECT_EQ(verdicts.size(), most_verdicts);
  keep_verdict(verdicts, case_on(nodes, false, 0), {plain(a2a, "mpi"), {Reason::identical_plans}});
  EXPECT_EQ(verdicts.at(case_on(nodes, false, 0)).why.reason, Reason::identical_plans);
}

}  // namespace
}  // namespace quadrille::choose
