#include "tool/tune/winners.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quadrille::tools {
namespace {

choose::Choice named(const std::string& name) {
  choose::Choice choice;
  if (!name.empty()) choose::parse_choice(Collective::alltoall, name, choice);
  return choice;
}

// "" is the default way.
std::string ranges(const std::vector<std::pair<std::size_t, std::string>>& winners) {
  std::vector<Winner> list;
  for (const auto& [bytes, name] : winners) list.push_back({bytes, named(name)});
  std::string text;
  for (const choose::SizedChoice& one : ranges_of(list)) {
    text += std::to_string(one.up_to) + " " + to_string(one.choice) + ";";
  }
  return text;
}

TEST(Winners, BoundariesLieHalfwayByRatio) {
  EXPECT_EQ(ranges({{100, ""}, {400, "sh-co"}, {1600, "mpi"}}), "200 ;800 sh-co;2262 mpi;");
  EXPECT_EQ(ranges({{100, "sh-co"}, {400, ""}}), "70 ;200 sh-co;565 ;");
}

TEST(Winners, NeighboursWithOneWinnerAreOneRange) {
  EXPECT_EQ(ranges({{8, ""}, {64, ""}, {256, "sh-co"}, {1024, "sh-co"}}), "128 ;1448 sh-co;");
  EXPECT_EQ(ranges({{256, "basic-bruck:radix=2"}, {1024, "basic-bruck:radix=4"}}),
            "181 ;512 basic-bruck:radix=2;1448 basic-bruck:radix=4;");
}

TEST(Winners, NothingIsSaidOfSizesFarFromThoseMeasured) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({{1, "mpi"}}), "1 mpi;");
  EXPECT_EQ(ranges({{1, ""}, {2, "mpi"}}), "1 ;2 mpi;");
  EXPECT_EQ(ranges({{1000, "mpi"}}), "707 ;1414 mpi;");
}

TEST(Winners, TheUsualWayStaysUnlessAnotherIsClearlyFaster) {
  EXPECT_FALSE(beats(1.0, 1.0));
  EXPECT_FALSE(beats(1.0, 1.04));
  EXPECT_TRUE(beats(1.0, 1.06));
}

TEST(Winners, WhatIsHopelessRestsForTwoSizes) {
  Rests rests(2);
  const auto measure = [&](double seconds) {  // of the first; what the second takes is right
    if (rests.rests(0)) return false;
    rests.note(0, seconds, 1);
    return true;
  };
  EXPECT_TRUE(measure(5));
  EXPECT_TRUE(measure(3)) << "not in a row";
  EXPECT_TRUE(measure(5));
  EXPECT_TRUE(measure(5));
  EXPECT_FALSE(measure(5));
  EXPECT_FALSE(measure(5));
  EXPECT_TRUE(measure(5)) << "looked at again";
  EXPECT_FALSE(measure(1));
  EXPECT_FALSE(measure(1));
  EXPECT_TRUE(measure(1));
  EXPECT_TRUE(measure(1));
  EXPECT_FALSE(rests.rests(1));
}

}  // namespace
}  // namespace quadrille::tools
