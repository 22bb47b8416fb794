#include "collective/collective.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <tuple>
#include <utility>

namespace quadrille {
namespace {

TEST(CollectiveTest, WhatIsMeasuredOfARegularOneHoldsForThoseOfItsKind) {
  EXPECT_EQ(regular_of(Collective::alltoallv), Collective::alltoall);
  EXPECT_EQ(regular_of(Collective::alltoallw), Collective::alltoall);
  EXPECT_EQ(regular_of(Collective::allgatherv), Collective::allgather);
  EXPECT_EQ(regular_of(Collective::neighbor_alltoallv), Collective::neighbor_alltoall);
  EXPECT_EQ(regular_of(Collective::neighbor_alltoallw), Collective::neighbor_alltoall);
  EXPECT_EQ(regular_of(Collective::neighbor_allgatherv), Collective::neighbor_allgather);
  EXPECT_EQ(regular_of(Collective::neighbor_allgatherw), Collective::neighbor_allgather);
}

// The displacements that the function of a collective gets, of what it sends and of what it receives.
using Given = std::pair<const void*, const void*>;
template <Collective collective, class Side>
Given displacements_given(const Side& side) {
  Given given;
  const auto take = [&](const auto&... arguments) {
    const auto list = std::tie(arguments...);
    given = {std::get<2>(list), std::get<6>(list)};
    return 0;
  };
  call_with<collective>(take, side, side, 9);
  return given;
}

// A side has all of them: in extents, in bytes, and as addresses.
TEST(CollectiveTest, EachFunctionGetsItsOwnDisplacements) {
  constexpr int count = 1, extents = 2, bytes = 3, type = 4;
  constexpr std::ptrdiff_t address = 5;
  SideArguments<int, const int*, std::ptrdiff_t> side;
  side.counts = &count, side.types = &type;
  side.displacements = &extents, side.bytes = &bytes, side.addresses = &address;
  EXPECT_EQ(displacements_given<Collective::alltoallv>(side), Given(&extents, &extents));
  EXPECT_EQ(displacements_given<Collective::alltoallw>(side), Given(&bytes, &bytes));
  EXPECT_EQ(displacements_given<Collective::neighbor_alltoallv>(side), Given(&extents, &extents));
  EXPECT_EQ(displacements_given<Collective::neighbor_alltoallw>(side), Given(&address, &address));
}

TEST(CollectiveTest, EachWithAnArgumentListIsDoneAsItself) {
  const auto number = []<Collective one>(Of<one>) { return static_cast<int>(one); };
  for (const CollectiveRow& row : collectives) {
    const bool has_list = row.send != Form::other;
    EXPECT_EQ(do_as(row.collective, number, -1), has_list ? static_cast<int>(row.collective) : -1) << row.name;
  }
}

}  // namespace
}  // namespace quadrille
