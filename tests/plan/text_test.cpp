// Words and numbers that are compared, read or cut.
#include "text/text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

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

std::optional<std::size_t> bytes_in(std::string_view text) {
  std::size_t bytes = 0;
  if (!read_bytes(text, bytes)) return std::nullopt;
  return bytes;
}

TEST(BytesTest, HaveUnitsOf1024) {
  EXPECT_EQ(bytes_in("0"), std::size_t{0});
  EXPECT_EQ(bytes_in("64"), std::size_t{64});
  EXPECT_EQ(bytes_in("16K"), std::size_t{16} << 10);
  EXPECT_EQ(bytes_in("1m"), std::size_t{1} << 20);
  EXPECT_EQ(bytes_in("2G"), std::size_t{2} << 30);
  for (const char* wrong : {"", "K", "1KB", "1T", "-1", "1.5K"}) EXPECT_EQ(bytes_in(wrong), std::nullopt) << wrong;
}

TEST(BytesTest, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(bytes_in("17179869183G"), std::size_t{17179869183} << 30);
  EXPECT_EQ(bytes_in("17179869184G"), std::nullopt);
  EXPECT_EQ(bytes_in("18446744073709551615"), ~std::size_t{0});
  EXPECT_EQ(bytes_in("18446744073709551616"), std::nullopt);
}

TEST(CutTest, KeepsWholeCharacters) {
  EXPECT_EQ(beginning_of("abc", 3), "abc");
  EXPECT_EQ(beginning_of("abc", 2), "ab");
  EXPECT_EQ(beginning_of("abc", 0), "");
  EXPECT_EQ(beginning_of("a\303\244b", 3), "a\303\244");
  EXPECT_EQ(beginning_of("a\303\244b", 2), "a");
  EXPECT_EQ(beginning_of("\360\237\230\200", 3), "");
  // No code of characters: cut anywhere.
  EXPECT_EQ(beginning_of("ab\200\200\200\200\200", 6), "ab\200\200\200\200");
}

}  // namespace
}  // namespace quadrille::text
