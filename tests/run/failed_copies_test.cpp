// A copy that failed is told by the number of its call, which all ranks must know alike.
#include <gtest/gtest.h>

#include "team/team.hpp"

namespace quadrille::test {
namespace {

std::uint64_t& passed(team::Team& team, Reason why) { return team.counted.counters.passed[counted_as(why)]; }

// A rank that has made its team early, to bring data of a device to the host or to explain, counts the calls before the
// others have a team.
TEST(FailedCopies, AreToldToARankThatCountedNoEarlyCalls) {
  alignas(sys::cache_line) std::byte memory[memory::FailedCalls::bytes] = {};
  team::Team early, late;
  for (team::Team* const team : {&early, &late}) {
    team->failed_calls = memory::FailedCalls(memory);
    team->counted.counters.served = 5;
    passed(*team, Reason::mpi_inside_a_node) = 2;
  }
  passed(early, Reason::early) = 3;
  passed(late, Reason::argument) = 1;
  team::tell_failed(early, team::number_of_call(early, false));
  EXPECT_TRUE(team::has_failed(late, team::number_of_call(late, false), false));
  EXPECT_FALSE(team::has_failed(late, team::number_of_call(late, true), false));
  ++late.counted.counters.served;
  EXPECT_TRUE(team::has_failed(late, team::number_of_call(late, true), false));
  EXPECT_FALSE(team::has_failed(late, team::number_of_call(late, false), false));
}

}  // namespace
}  // namespace quadrille::test
