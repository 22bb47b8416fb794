// Words and numbers that are compared.
#include <gtest/gtest.h>

#include <vector>

#include "text/edits.hpp"
#include "text/hash.hpp"

namespace quadrille::text {
namespace {

TEST(EditsTest, CountsTheFewestLetters) {
  EXPECT_EQ(edits("", ""), 0U);
  EXPECT_EQ(edits("pairwise", "pairwise"), 0U);
  EXPECT_EQ(edits("", "ring"), 4U);
  EXPECT_EQ(edits("ring", "rings"), 1U);
  EXPECT_EQ(edits("rings", "ring"), 1U);
  EXPECT_EQ(edits("kitten", "sitting"), 3U);
}

TEST(HashTest, TellsApartWhatRanksMayDifferIn) {
  EXPECT_EQ(Hash().add("a").add("b").value(), Hash().add("a").add("b").value());
  EXPECT_NE(Hash().add("a").add("b").value(), Hash().add("b").add("a").value());
  EXPECT_NE(Hash().add("ab").add("").value(), Hash().add("a").add("b").value());
  EXPECT_EQ(Hash().add_all(std::vector<int>{1, -2}).value(), Hash().add(1).add(-2).value());
  EXPECT_NE(Hash().add(-2).value(), Hash().add(2).value());
  EXPECT_NE(Hash().add(0).value(), Hash().value());
}

}  // namespace
}  // namespace quadrille::text
