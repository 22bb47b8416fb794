// The oracle of the benchmark must see every kind of mistake.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "memory/heap.hpp"
#include "tool/bench/data.hpp"
#include "tool/bench/named_neighborhoods.hpp"
#include "tool/bench/stack.hpp"

namespace quadrille::tools {
namespace {

constexpr std::uint64_t seed = 3, call_number = 5, salt = 11;

// What rank 2 of four ranks receives, as it should be.
class Received : public testing::Test {
 protected:
  Received() : buffer_(4, 8, 16) {
    for (int rank = 0; rank < 4; ++rank) buffer_.set_block(rank, 3);
    buffer_.allocate(BufferMemory::private_memory);
    buffer_.poison(salt);
    for (int rank = 0; rank < 4; ++rank) {
      buffer_.write(rank, seed, rank, 2, call_number);
      expected_.push_back({rank, 2});
    }
  }
  std::uint64_t mismatches() const { return buffer_.mismatches(expected_, seed, call_number, salt); }

  BlockBuffer buffer_;
  std::vector<BlockBuffer::Expected> expected_;
};

// A buffer of blocks of 100 bytes as rank 1 sends them to ranks 0, 1, ...
BlockBuffer sent_by_1(int blocks, std::uint64_t salt_of_it) {
  BlockBuffer buffer(blocks, 1, 1);
  for (int b = 0; b < blocks; ++b) buffer.set_block(b, 100);
  buffer.allocate(BufferMemory::private_memory);
  buffer.poison(salt_of_it);
  return buffer;
}

TEST(PlainCopy, FillsTheBufferAndNoMore) {
  for (const bool streaming : {false, true}) {
    BlockBuffer from = sent_by_1(3, 0), to = sent_by_1(3, salt);
    for (int b = 0; b < 3; ++b) from.write(b, seed, 1, b, call_number);
    copy_plainly(to, from, streaming);
    EXPECT_EQ(to.mismatches({{1, 0}, {1, 1}, {1, 2}}, seed, call_number, salt), 0u) << streaming;
  }
}

TEST(PlainCopy, OfAShorterBufferRepeatsIt) {
  BlockBuffer from = sent_by_1(1, 0), to = sent_by_1(3, salt), nothing = sent_by_1(0, 0);
  from.write(0, seed, 1, 0, call_number);
  copy_plainly(to, nothing, false);
  EXPECT_GT(to.mismatches({{1, 0}, {1, 0}, {1, 0}}, seed, call_number, salt), 0u);
  copy_plainly(to, from, false);
  EXPECT_EQ(to.mismatches({{1, 0}, {1, 0}, {1, 0}}, seed, call_number, salt), 0u);
}

TEST(Memory, OfAnyKindHoldsABuffer) {
  BenchCase c;
  c.bytes = 300;
  c.memory = BufferMemory::stack;
  const std::byte* mapped = nullptr;
  on_stack(frame_bytes(c), [&](std::byte* frame) {
    for (const BufferMemory from :
         {BufferMemory::heap, BufferMemory::private_memory, BufferMemory::stack, BufferMemory::mapped}) {
      BlockBuffer buffer(3, 1, 1);
      for (int b = 0; b < 3; ++b) buffer.set_block(b, 100);
      buffer.allocate(from, frame);
      buffer.poison(salt);
      for (int b = 0; b < 3; ++b) buffer.write(b, seed, 1, b, call_number);
      EXPECT_EQ(buffer.mismatches({{1, 0}, {1, 1}, {1, 2}}, seed, call_number, salt), 0u) << name_of(from);
      EXPECT_EQ(memory::heap_contains(buffer.data(), buffer.size()),
                from == BufferMemory::heap && memory::heap_active());
      const bool in_frame = buffer.data() > frame && buffer.data() + buffer.size() < frame + frame_bytes(c);
      EXPECT_EQ(in_frame, from == BufferMemory::stack) << name_of(from);
      if (from == BufferMemory::mapped) mapped = buffer.data() - 4096;
    }
  });
  unsigned char pages[1];
  EXPECT_NE(mincore(const_cast<std::byte*>(mapped), 1, pages), 0) << "it is not unmapped";
}

TEST(Memory, OfTheStackIsThatOfTheCaller) {
  EXPECT_FALSE(stack_holds(most_on_stack + 1));
  if (!stack_holds(most_on_stack)) GTEST_SKIP() << "the system's limit is low";
  const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
  on_stack(most_on_stack, [&](std::byte* frame) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame) % 4096, 0u);
    EXPECT_LT(frame + most_on_stack, here);
    EXPECT_GT(frame + most_on_stack + (1 << 20), here);
    std::fill(frame, frame + most_on_stack, std::byte{1});
  });
}

// Each byte gets another value, and guard zones stay as they are.
TEST_F(Received, IsReadAsItIsAndOverwrittenByteByByte) {
  buffer_.read_all();
  EXPECT_EQ(mismatches(), 0U);
  const std::size_t block = buffer_.block_bytes(1), size = buffer_.size();
  buffer_.overwrite(1, static_cast<std::size_t>(buffer_.address_displacements()[1]), block);
  EXPECT_LE(mismatches(), block);
  EXPECT_GT(mismatches(), block * 8 / 10);
  buffer_.overwrite(1, 0, size);
  EXPECT_LE(mismatches(), size);
  EXPECT_GT(mismatches(), size * 8 / 10);
}

TEST_F(Received, RightDataPasses) { EXPECT_EQ(mismatches(), 0u); }

TEST_F(Received, AnyWrongByteIsSeen) {
  // Data, gaps between elements, and the guard zones before and after.
  for (std::ptrdiff_t at = -64; at < static_cast<std::ptrdiff_t>(buffer_.size()) + 64; ++at) {
    std::byte* byte = buffer_.data() + at;
    *byte ^= std::byte{1};
    EXPECT_EQ(mismatches(), 1u) << at;
    *byte ^= std::byte{1};
  }
}

TEST_F(Received, BlocksFromAWrongPlaceAreSeen) {
  buffer_.write(1, seed, 3, 2, call_number);  // wrong source
  EXPECT_GT(mismatches(), 12u);
  buffer_.write(1, seed, 1, 0, call_number);  // meant for another rank
  EXPECT_GT(mismatches(), 12u);
  buffer_.write(1, seed, 1, 2, call_number - 1);  // left over from the call before
  EXPECT_GT(mismatches(), 12u);
  buffer_.write(1, seed, 1, 2, call_number);
  EXPECT_EQ(mismatches(), 0u);
}

TEST(Pattern, DependsOnEverything) {
  std::set<std::vector<std::byte>> seen;
  const auto take = [&](std::uint64_t s, int source, int destination, std::size_t from, std::uint64_t c) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < 16; ++i) bytes.push_back(pattern(s, source, destination, from + i, c));
    EXPECT_TRUE(seen.insert(bytes).second);
  };
  take(1, 2, 3, 0, 4);
  take(2, 2, 3, 0, 4);
  take(1, 3, 2, 0, 4);
  take(1, 2, 4, 0, 4);
  take(1, 2, 3, 1, 4);
  take(1, 2, 3, 8, 4);
  take(1, 2, 3, 0, 5);
}

BenchCase uniform_case(Collective collective, bool in_place) {
  BenchCase c;
  c.collective = collective;
  c.bytes = 100;
  c.traffic.kind = Distribution::uniform;
  c.in_place = in_place;
  c.ranks = 8;
  return c;
}

TEST(Elements, UniformSizesVaryWithinTheirBound) {
  const BenchCase c = uniform_case(Collective::alltoallv, false);
  std::set<std::size_t> sizes;
  bool asymmetric = false;
  for (int s = 0; s < c.ranks; ++s) {
    for (int d = 0; d < c.ranks; ++d) {
      sizes.insert(elements_of(c, s, d));
      asymmetric = asymmetric || elements_of(c, s, d) != elements_of(c, d, s);
    }
  }
  EXPECT_GT(sizes.size(), 20u);
  EXPECT_LE(*sizes.rbegin(), 100u);
  EXPECT_TRUE(asymmetric);
}

TEST(Elements, InPlaceSizesAreTheSameInBothDirections) {
  const BenchCase c = uniform_case(Collective::alltoallw, true);
  for (int s = 0; s < c.ranks; ++s) {
    for (int d = 0; d < c.ranks; ++d) EXPECT_EQ(elements_of(c, s, d), elements_of(c, d, s));
  }
}

TEST(Elements, AGatheredBlockHasOneSizeEverywhere) {
  const BenchCase c = uniform_case(Collective::allgatherv, true);
  for (int s = 0; s < c.ranks; ++s) {
    for (int d = 0; d < c.ranks; ++d) EXPECT_EQ(elements_of(c, s, d), elements_of(c, s, 0));
  }
}

// Ghost cells of a cube of 4 cells an edge; both ends of an edge agree, and so do neighbourhoods
// that meet a process several times.
TEST(Elements, OfAStencilShrinkWithTheCorner) {
  auto neighbors = std::make_shared<BenchNeighbors>();
  neighbors->neighborhood = plan::moore(3, 1);
  neighbors->grid = {{2, 1, 3}, {true, true, true}};
  for (int i = 0; i < neighbors->size(); ++i) {
    neighbors->destinations.push_back(plan::rank_at(neighbors->grid, 4, neighbors->neighborhood.offset(i), 1));
    neighbors->sources.push_back(plan::rank_at(neighbors->grid, 4, neighbors->neighborhood.offset(i), -1));
  }
  BenchCase c;
  c.collective = Collective::neighbor_alltoallw;
  c.traffic.kind = Distribution::stencil;
  c.bytes = 17;  // a face, between 4 x 4 and 5 x 5
  c.ranks = 6, c.me = 4;
  c.neighbors = neighbors;
  for (int i = 0; i < neighbors->size(); ++i) {
    const std::span<const int> offset = neighbors->neighborhood.offset(i);
    const auto zeros = std::count(offset.begin(), offset.end(), 0);
    const std::size_t expected = zeros == 2 ? 17 : zeros == 1 ? 4 : 1;
    EXPECT_EQ(elements_sent(c, i), expected) << i;
    EXPECT_EQ(elements_received(c, i), expected) << i;
  }
  c.traffic.kind = Distribution::uniform;
  std::set<std::size_t> different;
  for (int i = 0; i < neighbors->size(); ++i) {
    EXPECT_EQ(elements_sent(c, i), elements_of(c, 4, neighbors->destinations[static_cast<std::size_t>(i)]));
    EXPECT_EQ(elements_received(c, i), elements_of(c, neighbors->sources[static_cast<std::size_t>(i)], 4));
    different.insert(elements_sent(c, i));
  }
  EXPECT_GT(different.size(), 2u);
}

TEST(Elements, OfAGraphAreThoseOfEachEdge) {
  BenchCase c;
  c.collective = Collective::neighbor_alltoallv;
  c.bytes = 9;
  c.ranks = 3, c.me = 1;
  c.edges = std::make_shared<BenchEdges>(BenchEdges{{0, 2}, {2}, {3, 9}, {5}});
  EXPECT_EQ(c.sources(), 2);
  EXPECT_EQ(c.destinations(), 1);
  EXPECT_EQ(c.peers(), 2);
  EXPECT_EQ(elements_sent(c, 0), 5u);
  EXPECT_EQ(elements_received(c, 0), 3u);
  EXPECT_EQ(elements_received(c, 1), 9u);
}

TEST(Elements, AMatrixIsRoundedUpToWholeElements) {
  auto matrix = std::make_shared<TrafficMatrix>();
  ASSERT_EQ(parse_matrix("0 1\n17 800\n", "m", 2, *matrix), "");
  BenchCase c;
  c.collective = Collective::alltoallv;
  c.traffic.kind = Distribution::file;
  c.traffic.matrix = matrix;
  c.bytes = 800;
  c.ranks = 2;
  EXPECT_EQ(elements_of(c, 1, 0), 17u);
  c.element = ElementKind::double_float;
  EXPECT_EQ(elements_of(c, 0, 0), 0u);
  EXPECT_EQ(elements_of(c, 0, 1), 1u);
  EXPECT_EQ(elements_of(c, 1, 0), 3u);
  EXPECT_EQ(elements_of(c, 1, 1), 100u);
  c.in_place = true;  // as the lower rank sends to the higher
  EXPECT_EQ(elements_of(c, 1, 0), 1u);
}

TEST(Elements, SizesAreRoundedUpToWholeElements) {
  BenchCase c;
  c.bytes = 9;
  c.ranks = 4;
  c.element = ElementKind::strided;
  EXPECT_EQ(elements_of(c, 0, 1), 2u);
  EXPECT_EQ(buffer_bytes(c), 2u * 16 * 8);
}

TEST(Elements, WhatDoesNotFitAnIntIsRefused) {
  BenchCase c;
  c.ranks = 4;
  c.bytes = std::size_t{1} << 30;
  EXPECT_EQ(why_too_large(c), "");
  c.collective = Collective::alltoallv;
  EXPECT_NE(why_too_large(c), "");
  c.element = ElementKind::double_float;
  EXPECT_EQ(why_too_large(c), "");
  c.collective = Collective::alltoallw;
  EXPECT_NE(why_too_large(c), "");
}

}  // namespace
}  // namespace quadrille::tools
