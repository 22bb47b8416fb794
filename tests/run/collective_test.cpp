#include "collective/collective.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace quadrille
