// The described bytes of a buffer, against one flag a byte.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "memory/device_pieces.hpp"

namespace {

using quadrille::memory::Region;
using quadrille::memory::Regions;

constexpr std::size_t room = 4096;

std::vector<bool> flags_of(const Regions& regions) {
  std::vector<bool> flags(room, false);
  for (const Region& region : regions) {
    for (std::size_t row = 0; row < region.rows; ++row) {
      for (std::size_t i = 0; i < region.bytes; ++i) {
        flags.at(static_cast<std::size_t>(region.begin) + row * region.pitch + i) = true;
      }
    }
  }
  return flags;
}

struct Piece {
  std::intptr_t begin;
  std::size_t bytes, rows;
  std::ptrdiff_t stride;
};

void expect_same(const std::vector<Piece>& pieces) {
  Regions regions;
  std::vector<bool> flags(room, false);
  std::intptr_t first = room, last = 0;
  for (const Piece& piece : pieces) {
    regions.add(piece.begin, piece.bytes, piece.rows, piece.stride);
    for (std::size_t row = 0; row < piece.rows; ++row) {
      const std::intptr_t at = piece.begin + static_cast<std::intptr_t>(row) * piece.stride;
      for (std::size_t i = 0; i < piece.bytes; ++i) flags.at(static_cast<std::size_t>(at) + i) = true;
      if (piece.bytes == 0) continue;
      first = std::min(first, at);
      last = std::max(last, at + static_cast<std::intptr_t>(piece.bytes));
    }
  }
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(flags_of(regions), flags);
    if (!regions.empty()) {
      EXPECT_EQ(regions.first(), first);
      EXPECT_EQ(regions.last(), last);
    }
    regions.put_in_order();
  }
}

TEST(Regions, AreExactlyWhatWasAdded) {
  std::mt19937 random(1);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  for (int turn = 0; turn < 20000; ++turn) {
    std::vector<Piece> pieces(draw(8));
    const std::size_t unit = 1 + draw(4);  // so that they often meet
    for (Piece& piece : pieces) {
      piece.bytes = unit * draw(4);
      piece.rows = 1 + draw(4);
      piece.stride = static_cast<std::ptrdiff_t>(unit * draw(6)) * (draw(4) == 0 ? -1 : 1);
      piece.begin = static_cast<std::intptr_t>(1024 + unit * draw(24));
    }
    expect_same(pieces);
  }
}

TEST(Regions, JoinWhatIsAdjacent) {
  Regions regions;
  for (int i = 0; i < 100; ++i) regions.add(i * 8, 8);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions.begin()->rows, 1U);
  EXPECT_EQ(regions.bytes(), 800U);
}

TEST(Regions, JoinWhatCameBackwards) {
  Regions regions;
  for (int i = 9; i >= 0; --i) regions.add(i * 8, i == 5 ? 4 : 8);
  regions.put_in_order();
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions.begin()->bytes, 44U);
}

TEST(Regions, EqualRowsAtEqualDistancesAreOne) {
  Regions regions;
  for (int i = 0; i < 100; ++i) regions.add(i * 24, 8);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions.begin()->rows, 100U);
  EXPECT_EQ(regions.begin()->pitch, 24U);
}

TEST(Regions, ColumnsBesideEachOtherAreAMatrix) {
  Regions regions;
  for (int column = 0; column < 4; ++column) regions.add(column * 8, 8, 10, 32);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions.begin()->rows, 1U);
  EXPECT_EQ(regions.begin()->bytes, 320U);
}

TEST(Regions, RowsTooFarApartForADriverStayAlone) {
  Regions regions;
  regions.add(0, 8, 3, std::ptrdiff_t{1} << 32);
  EXPECT_EQ(regions.size(), 3U);
  EXPECT_EQ(regions.last(), (std::intptr_t{2} << 32) + 8);
}

}  // namespace
