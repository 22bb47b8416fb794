// The orders: each pair once, the curves as the papers draw them, the domains kept.
#include "plan/order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "plan/order_parts.hpp"
#include "tests/plan/pairs.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::plan {
namespace {

using testing::ElementsAre;

constexpr Order kSquares[] = {Order::square_and_row, Order::square_and_column, Order::square_and_morton};
constexpr Order kOrders[] = {Order::row,
                             Order::column,
                             Order::morton,
                             Order::hilbert,
                             Order::row_numa,
                             Order::morton_numa,
                             Order::square_and_row,
                             Order::square_and_column,
                             Order::square_and_morton};
constexpr int kLarge[] = {100, 127, 128, 129, 255, 256, 500, 512, 1000, 1023, 1024};

// The labels of all kinds of maps from ranks to domains; the first is empty.
std::vector<std::vector<int>> domain_maps(int ranks) {
  std::vector<std::vector<int>> maps = {{}};
  for (const NodeMap& map : tools::node_maps(ranks)) maps.push_back(map.node_of);
  return maps;
}

// How often each pair occurs, in the order source * ranks + destination.
class Tally {
 public:
  explicit Tally(int ranks) : ranks_(ranks), times_(place({ranks, 0})) {}
  void add(const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) {
      ASSERT_TRUE(0 <= pair.source && pair.source < ranks_);
      ASSERT_TRUE(0 <= pair.destination && pair.destination < ranks_);
      ++times_[place(pair)];
    }
  }
  bool all_once() const {
    return std::all_of(times_.begin(), times_.end(), [](int times) { return times == 1; });
  }

 private:
  std::size_t place(const Pair& pair) const {
    return static_cast<std::size_t>(pair.source) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(pair.destination);
  }

  const int ranks_;
  std::vector<int> times_;
};

void expect_each_pair_once(Order order, int ranks, const std::vector<int>& domains) {
  Tally tally(ranks);
  for (int me = 0; me < ranks; ++me) {
    const std::vector<Pair> part = part_of_order(order, ranks, me, domains);
    ASSERT_EQ(part.size(), static_cast<std::size_t>(ranks));
    ASSERT_EQ(part.capacity(), part.size());
    tally.add(part);
  }
  ASSERT_TRUE(tally.all_once()) << "order " << static_cast<int>(order) << ", " << ranks << " ranks";
}

TEST(OrderTest, TheRanksCopyEachPairOnceAndEquallyMany) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (const std::vector<int>& domains : domain_maps(ranks)) {
      for (const Order order : kOrders) {
        ASSERT_NO_FATAL_FAILURE(expect_each_pair_once(order, ranks, domains));
      }
    }
  }
}

TEST(OrderTest, ManyRanksToo) {
  for (const int ranks : kLarge) {
    NodeMap ragged;
    ASSERT_EQ(parse_node_map("ragged:1,30,64,7", ranks, ragged), "");
    for (const Order order : kOrders) {
      ASSERT_NO_FATAL_FAILURE(expect_each_pair_once(order, ranks, ragged.node_of));
    }
  }
}

TEST(OrderTest, RowFillsMyRecvBufferAndColumnEmptiesMySendBuffer) {
  EXPECT_THAT(part_of_order(Order::row, 3, 1), ElementsAre(Pair{0, 1}, Pair{1, 1}, Pair{2, 1}));
  EXPECT_THAT(part_of_order(Order::column, 3, 1), ElementsAre(Pair{1, 0}, Pair{1, 1}, Pair{1, 2}));
}

// --- Morton -------------------------------------------------------------------------------------

// What all ranks copy, one after the other.
std::vector<Pair> all_parts(Order order, int ranks) {
  std::vector<Pair> pairs;
  for (int me = 0; me < ranks; ++me) {
    const std::vector<Pair> part = part_of_order(order, ranks, me);
    pairs.insert(pairs.end(), part.begin(), part.end());
  }
  return pairs;
}

TEST(MortonTest, InterleavesTheBits) {
  EXPECT_EQ(all_parts(Order::morton, 4)[6], (Pair{2, 1}));  // the paper's example, section 2.1
  for (int ranks = 1; ranks <= 1024; ranks *= 2) {
    const std::vector<Pair> pairs = all_parts(Order::morton, ranks);
    for (std::size_t code = 0; code < pairs.size(); ++code) {
      Pair expected{0, 0};
      for (int bit = 0; bit < 16; ++bit) {
        expected.source |= static_cast<int>(code >> (2 * bit) & 1) << bit;
        expected.destination |= static_cast<int>(code >> (2 * bit + 1) & 1) << bit;
      }
      ASSERT_EQ(pairs[code], expected) << ranks << " ranks";
    }
  }
}

// The place of a pair, by the paper's recursion (section 2.2) read from the pair to the place.
struct Matrix {
  int x, y, width, height;
};
long z_value(const Matrix& m, int x, int y) {
  if (m.width == 1 && m.height == 1) return 0;
  if (m.width > m.height) {
    const int half = m.width / 2;
    if (x < m.x + half) return z_value({m.x, m.y, half, m.height}, x, y);
    return long{half} * m.height + z_value({m.x + half, m.y, m.width - half, m.height}, x, y);
  }
  const int half = m.height / 2;
  if (y < m.y + half) return z_value({m.x, m.y, m.width, half}, x, y);
  return long{half} * m.width + z_value({m.x, m.y + half, m.width, m.height - half}, x, y);
}

void expect_z_curve(int ranks) {
  for (int me = 0; me < ranks; ++me) {
    const std::vector<Pair> part = part_of_order(Order::morton, ranks, me);
    for (int i = 0; i < ranks; ++i) {
      const Pair pair = part[static_cast<std::size_t>(i)];
      ASSERT_EQ(z_value({0, 0, ranks, ranks}, pair.source, pair.destination), long{ranks} * me + i)
          << ranks << " ranks";
    }
  }
}

TEST(MortonTest, RanksTakeTheirPieceOfTheHalvedSquare) {
  for (int ranks = 1; ranks <= 64; ++ranks) ASSERT_NO_FATAL_FAILURE(expect_z_curve(ranks));
  for (const int ranks : kLarge) ASSERT_NO_FATAL_FAILURE(expect_z_curve(ranks));
}

// Send and recv buffers that a rank touches.
std::size_t buffers_of(const std::vector<Pair>& part) {
  std::set<int> sources, destinations;
  for (const Pair& pair : part) {
    sources.insert(pair.source);
    destinations.insert(pair.destination);
  }
  return sources.size() + destinations.size();
}

// With bits alone, a rank of a P that is not a power of two may get a long line of the border.
TEST(CurveTest, PiecesAreNearlySquaresForAnyP) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr int step = 7;  // several times as slow
#else
  constexpr int step = 1;
#endif
  for (const Order order : {Order::morton, Order::hilbert}) {
    for (int ranks = 1; ranks <= 300; ranks += step) {
      for (int me = 0; me < ranks; ++me) {
        const std::size_t buffers = buffers_of(part_of_order(order, ranks, me));
        ASSERT_LE(static_cast<double>(buffers), 4 * std::sqrt(ranks) + 2)
            << ranks << " ranks, rank " << me << ", order " << static_cast<int>(order);
      }
    }
  }
}

TEST(MortonTest, EightRanksAsInThePaper) {
  // Section 2.5: with 8 ranks, rank 0 reads from ranks 0 to 3, and writes to ranks 0 and 1.
  EXPECT_THAT(part_of_order(Order::morton, 8, 0), ElementsAre(Pair{0, 0}, Pair{1, 0}, Pair{0, 1}, Pair{1, 1},
                                                              Pair{2, 0}, Pair{3, 0}, Pair{2, 1}, Pair{3, 1}));
}

// --- Hilbert ------------------------------------------------------------------------------------

int distance(const Pair& a, const Pair& b) {
  return std::abs(a.source - b.source) + std::abs(a.destination - b.destination);
}

std::vector<Pair> hilbert_curve(int ranks) {
  std::vector<Pair> pairs;
  append_hilbert(ranks, {0, Place{ranks} * ranks}, {0, 0, ranks, ranks}, pairs);
  return pairs;
}

TEST(HilbertTest, IsAsFigure5OfThePaper) {
  // Sequence numbers of the figure, from 0 on; rows are sources.
  const int figure[4][4] = {{0, 1, 14, 15}, {3, 2, 13, 12}, {4, 7, 8, 11}, {5, 6, 9, 10}};
  const std::vector<Pair> pairs = hilbert_curve(4);
  for (int place = 0; place < 16; ++place) {
    const Pair pair = pairs[static_cast<std::size_t>(place)];
    EXPECT_EQ(figure[pair.source][pair.destination], place);
  }
  EXPECT_THAT(part_of_order(Order::hilbert, 4, 0), ElementsAre(Pair{0, 0}, Pair{0, 1}, Pair{1, 1}, Pair{1, 0}));
  EXPECT_THAT(part_of_order(Order::hilbert, 4, 1), ElementsAre(Pair{1, 3}, Pair{1, 2}, Pair{0, 2}, Pair{0, 3}));
}

TEST(HilbertTest, StepsGoToNeighboursForAnyP) {
  std::vector<int> counts(std::begin(kLarge), std::end(kLarge));
  for (int ranks = 1; ranks <= 300; ++ranks) counts.push_back(ranks);
  for (const int ranks : counts) {
    const std::vector<Pair> pairs = hilbert_curve(ranks);
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      ASSERT_EQ(distance(pairs[i - 1], pairs[i]), 1) << ranks << " ranks, place " << i;
    }
  }
}

// Quadrants one after the other, down to single pairs.
TEST(HilbertTest, PowersOfTwoAreRecursive) {
  for (int ranks = 2; ranks <= 256; ranks *= 2) {
    const std::vector<Pair> pairs = hilbert_curve(ranks);
    for (int side = 1; side < ranks; side *= 2) {
      const auto size = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Pair& first = pairs[i / size * size];
        ASSERT_EQ(pairs[i].source / side, first.source / side);
        ASSERT_EQ(pairs[i].destination / side, first.destination / side);
      }
    }
  }
}

// Algorithm 1 of the paper: the bounds of a rank's box.
TEST(HilbertTest, PowersOfTwoAreCutIntoBoxes) {
  for (int ranks = 1; ranks <= 256; ranks *= 2) {
    int rows = 1;
    while (rows * rows < ranks) rows *= 2;
    const int columns = ranks / rows;
    std::vector<Pair> whole = hilbert_curve(ranks);
    int x = 0, y = 0;
    for (int me = 0; me < ranks; ++me) {
      std::vector<Pair> expected;
      for (const Pair& p : whole) {
        if (x <= p.source && p.source < x + rows && y <= p.destination && p.destination < y + columns) {
          expected.push_back(p);
        }
      }
      ASSERT_EQ(part_of_order(Order::hilbert, ranks, me), expected) << ranks << " ranks";
      y += columns;
      if (y == ranks) y = 0, x += rows;
    }
  }
}

TEST(HilbertTest, OtherRanksTakePiecesOfTheCurve) {
  for (const int ranks : {3, 5, 6, 12, 63, 100}) {
    EXPECT_EQ(all_parts(Order::hilbert, ranks), hilbert_curve(ranks)) << ranks << " ranks";
  }
}

// --- Hilbert through a square, another order through the rest ------------------------------------

TEST(SquareTest, TheRanksCopyEachPairOnceForAllPUpTo300) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr int step = 7;  // several times as slow
#else
  constexpr int step = 1;
#endif
  for (const Order order : kSquares) {
    for (int ranks = 1; ranks <= 300; ranks += step) ASSERT_NO_FATAL_FAILURE(expect_each_pair_once(order, ranks, {}));
  }
}

TEST(SquareTest, PowersOfTwoAreHilbertAlone) {
  for (const Order order : kSquares) {
    for (int ranks = 1; ranks <= 256; ranks *= 2) {
      for (int me = 0; me < ranks; ++me) {
        ASSERT_EQ(part_of_order(order, ranks, me), part_of_order(Order::hilbert, ranks, me)) << ranks;
      }
    }
  }
}

// The first ranks begin with what they have of the square, as if they were alone; it is the largest.
TEST(SquareTest, OthersBeginWithTheSquare) {
  for (const Order order : kSquares) {
    for (const int ranks : {3, 5, 6, 7, 12, 63, 65, 100, 300}) {
      int side = 1;
      while (2 * side <= ranks) side *= 2;
      for (int me = 0; me < ranks; ++me) {
        const std::vector<Pair> part = part_of_order(order, ranks, me);
        const auto is_inside = [&](const Pair& pair) { return pair.source < side && pair.destination < side; };
        const auto rest = part.begin() + (me < side ? side : 0);
        if (me < side) {
          ASSERT_EQ(std::vector<Pair>(part.begin(), rest), part_of_order(Order::hilbert, side, me));
        }
        ASSERT_TRUE(std::none_of(rest, part.end(), is_inside)) << ranks << " ranks, rank " << me;
      }
    }
  }
}

TEST(SquareTest, TheExampleOfTheFile) {
  const int who[6][6] = {{0, 0, 2, 2, 0, 0}, {0, 0, 2, 2, 1, 1}, {1, 1, 3, 3, 2, 2},
                         {1, 1, 3, 3, 3, 3}, {4, 4, 4, 4, 4, 4}, {5, 5, 5, 5, 5, 5}};  // [destination][source]
  for (int me = 0; me < 6; ++me) {
    for (const Pair& pair : part_of_order(Order::square_and_row, 6, me)) {
      EXPECT_EQ(who[pair.destination][pair.source], me);
    }
  }
  EXPECT_THAT(part_of_order(Order::square_and_row, 6, 2),
              ElementsAre(Pair{2, 0}, Pair{3, 0}, Pair{3, 1}, Pair{2, 1}, Pair{4, 2}, Pair{5, 2}));
  EXPECT_THAT(part_of_order(Order::square_and_column, 5, 1),
              ElementsAre(Pair{1, 3}, Pair{1, 2}, Pair{0, 2}, Pair{0, 3}, Pair{1, 4}));
  // Of the strips with destinations 0 to 3 and sources 4 and 5, and with destinations 4 and 5.
  EXPECT_THAT(part_of_order(Order::square_and_morton, 6, 3),
              ElementsAre(Pair{2, 2}, Pair{3, 2}, Pair{3, 3}, Pair{2, 3}, Pair{4, 3}, Pair{5, 3}));
  EXPECT_THAT(part_of_order(Order::square_and_morton, 6, 4),
              ElementsAre(Pair{0, 4}, Pair{0, 5}, Pair{1, 4}, Pair{2, 4}, Pair{1, 5}, Pair{2, 5}));
}

// By rows a rank writes into no recv buffer but its own, and by columns reads no send buffer but its own, outside of
// the square.
TEST(SquareTest, TheRestIsTheOwnBuffer) {
  for (const auto& [ranks, side] : {std::pair{5, 4}, std::pair{12, 8}, std::pair{100, 64}}) {
    const auto is_outside = [side = side](const Pair& pair) { return pair.source >= side || pair.destination >= side; };
    for (int me = 0; me < ranks; ++me) {
      for (const Pair& pair : part_of_order(Order::square_and_row, ranks, me)) {
        ASSERT_TRUE(pair.destination == me || !is_outside(pair));
      }
      for (const Pair& pair : part_of_order(Order::square_and_column, ranks, me)) {
        ASSERT_TRUE(pair.source == me || !is_outside(pair));
      }
    }
  }
}

// --- NUMA ---------------------------------------------------------------------------------------

std::vector<int> labels_of(const std::string& text, int ranks) {
  NodeMap map;
  EXPECT_EQ(parse_node_map(text, ranks, map), "");
  return map.node_of;
}

// In which step a rank of domain `mine` reads from domain `source`.
int step_of(int mine, int source, int domains) { return (source - mine + domains) % domains; }

TEST(NumaTest, OnlyTheOwnDomainIsWrittenAndOneDomainIsReadAtATime) {
  for (const Order order : {Order::row_numa, Order::morton_numa}) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      for (const NodeMap& map : tools::node_maps(ranks)) {
        const auto domain = [&](int rank) { return map.node_of[static_cast<std::size_t>(rank)]; };
        for (int me = 0; me < ranks; ++me) {
          int last = 0;
          for (const Pair& pair : part_of_order(order, ranks, me, map.node_of)) {
            ASSERT_EQ(domain(pair.destination), domain(me));
            const int step = step_of(domain(me), domain(pair.source), map.nodes);
            ASSERT_LE(last, step);
            last = step;
          }
        }
      }
    }
  }
}

// Sockets of equal size: copy k of all ranks belongs to one step, and in a step no two domains read
// the same one.
TEST(NumaTest, NoTwoDomainsReadTheSameDomainAtOnce) {
  for (const Order order : {Order::row_numa, Order::morton_numa}) {
    for (const int domains : {2, 3, 4, 8}) {
      for (const int size : {1, 2, 3, 4, 7, 16}) {
        const int ranks = domains * size;
        const std::vector<int> labels = labels_of("blocked:" + std::to_string(size), ranks);
        std::vector<std::vector<Pair>> parts;
        for (int me = 0; me < ranks; ++me) {
          parts.push_back(part_of_order(order, ranks, me, labels));
        }
        for (std::size_t k = 0; k < static_cast<std::size_t>(ranks); ++k) {
          std::vector<int> read_by(static_cast<std::size_t>(domains), -1);
          for (int me = 0; me < ranks; ++me) {
            const int source = parts[static_cast<std::size_t>(me)][k].source / size;
            int& reader = read_by[static_cast<std::size_t>(source)];
            ASSERT_TRUE(reader == -1 || reader == me / size) << "copy " << k;
            reader = me / size;
          }
        }
      }
    }
  }
}

// By rows, copy k of the ranks of a domain: no rank is read by more of them than need be.
TEST(NumaTest, ReadersOfADomainAreSpreadOverIt) {
  for (const auto& [readers, sources] : {std::pair{4, 4}, {3, 3}, {4, 2}, {2, 4}, {5, 3}, {3, 5}, {16, 16}, {1, 7}}) {
    const std::vector<int> labels =
        labels_of("ragged:" + std::to_string(readers) + "," + std::to_string(sources), readers + sources);
    std::vector<std::vector<Pair>> parts;
    for (int me = 0; me < readers; ++me) {
      parts.push_back(part_of_order(Order::row_numa, readers + sources, me, labels));
      EXPECT_EQ(parts.back().front().source, me) << "a rank begins with itself";
    }
    for (int k = 0; k < readers + sources; ++k) {
      std::vector<int> times(labels.size());
      for (const auto& part : parts) ++times[static_cast<std::size_t>(part[static_cast<std::size_t>(k)].source)];
      const int read = k < readers ? readers : sources;
      EXPECT_LE(*std::max_element(times.begin(), times.end()), (readers + read - 1) / read)
          << readers << " readers of " << sources << ", copy " << k;
    }
  }
}

TEST(NumaTest, FourSocketsOfFourRanks) {
  const std::vector<int> labels = labels_of("blocked:4", 16);
  const std::vector<Pair> part = part_of_order(Order::morton_numa, 16, 5, labels);
  EXPECT_THAT(std::vector<Pair>(part.begin(), part.begin() + 8),
              ElementsAre(Pair{6, 4}, Pair{7, 4}, Pair{6, 5}, Pair{7, 5},  // own socket
                          Pair{10, 4}, Pair{11, 4}, Pair{10, 5}, Pair{11, 5}));
  EXPECT_EQ(part.back(), (Pair{3, 5}));
}

TEST(NumaTest, InOneDomainNothingChanges) {
  for (const int ranks : {1, 2, 7, 8, 33, 64}) {
    const std::vector<int> same(static_cast<std::size_t>(ranks), 7);
    for (int me = 0; me < ranks; ++me) {
      for (const std::vector<int>& labels : {std::vector<int>{}, same}) {
        EXPECT_EQ(part_of_order(Order::morton_numa, ranks, me, labels), part_of_order(Order::morton, ranks, me));
        std::vector<Pair> row = part_of_order(Order::row, ranks, me);
        std::rotate(row.begin(), row.begin() + me, row.end());
        EXPECT_EQ(part_of_order(Order::row_numa, ranks, me, labels), row) << "from itself on";
      }
    }
  }
}

TEST(NumaTest, LabelsAreOnlyNames) {
  const std::vector<int> labels = {5, -1, 5, 1000, -1, 5, 1000};
  const std::vector<int> numbered = {0, 1, 0, 2, 1, 0, 2};
  for (int me = 0; me < 7; ++me) {
    for (const Order order : {Order::row_numa, Order::morton_numa}) {
      EXPECT_EQ(part_of_order(order, 7, me, labels), part_of_order(order, 7, me, numbered));
    }
  }
}

}  // namespace
}  // namespace quadrille::plan
