// Exchanges in chunks, played by ranks whose copies are made late, one at a time and in drawn orders: all blocks come
// home, no place of a ring is written while it is read, and nobody waits for ever. All small cases.
#include "plan/chunks.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>

namespace quadrille::plan {
namespace {

TEST(Chunks, ThatSuitTakeNoMoreThanTheirShare) {
  constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
  EXPECT_EQ(suiting_chunk(4, 2), 2 * MiB);
  EXPECT_EQ(suiting_chunk(4, 32), 2 * MiB);
  EXPECT_EQ(suiting_chunk(16, 128), MiB / 8);
  EXPECT_EQ(suiting_chunk(16, 100'000), least_suiting_chunk);
  for (std::uint64_t ranks = 33; ranks < 1024; ++ranks) {
    EXPECT_LE(suiting_chunk(4, ranks) * 4 * ranks, 256 * MiB) << ranks;
    EXPECT_EQ(suiting_chunk(4, ranks) % 4096, 0U);
  }
}

TEST(Chunks, RoundsAreMutualAndReachAll) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int me = 0; me < ranks; ++me) {
      std::vector<int> met(static_cast<std::size_t>(ranks), 0);
      for (int round = 0; round < ranks; ++round) {
        const int partner = partner_in_round(me, round, ranks);
        EXPECT_EQ(partner_in_round(partner, round, ranks), me);
        ++met[static_cast<std::size_t>(partner)];
      }
      EXPECT_EQ(met, std::vector<int>(static_cast<std::size_t>(ranks), 1));
    }
  }
}

TEST(Chunks, TheExampleIsWhatIsSaid) {
  ChunkExchange rank({0, 3, 4, 2});
  rank.send(10, [](int) { return 3; });
  EXPECT_EQ(rank.sent_to(1).at, 40U);
  EXPECT_EQ(rank.sent_to(2).at, 43U);
  EXPECT_EQ(rank.end(), 12U);
  std::string parts;
  for (const std::uint64_t number : {10U, 11U}) {
    rank.for_each_part(number, [&](int to, const ChunkPiece& piece) {
      parts += std::to_string(to) + ":" + std::to_string(piece.in_block) + "+" + std::to_string(piece.bytes) + "@" +
               std::to_string(piece.in_chunk) + " ";
    });
  }
  EXPECT_EQ(parts, "1:0+3@0 2:0+1@3 2:1+2@0 ");
}

// Small blocks share a chunk; of an allgather each byte is put once.
TEST(Chunks, AreAsFewAsTheBytesNeed) {
  ChunkExchange many({3, 64, 4096, 4}), gather({3, 64, 4096, 4, true});
  many.send(0, [](int) { return 8; });
  gather.send(0, [](int) { return 10000; });
  EXPECT_EQ(many.end(), 1U);
  EXPECT_EQ(gather.end(), 3U);
  gather.send(0, [](int) { return 8192; });
  EXPECT_EQ(gather.end(), 2U);
}

// ---- Played ----

struct Case {
  int ranks;
  std::uint64_t chunk, depth;
  bool gathers, in_place;
  std::function<std::uint64_t(int, int)> bytes;  // from, to
};

// A byte of a block: who sends it to whom, and its place there. For an allgather `to` is 0.
struct Token {
  int from = -1, to = -1;
  std::uint64_t at = 0;
  bool operator==(const Token&) const = default;
};

class Play {
 public:
  Play(const Case& of, unsigned seed) : of_(of), random_(seed) {
    for (int r = 0; r < of.ranks; ++r) {
      ranks_.push_back(std::make_unique<Rank>(of, r));
      Rank& rank = *ranks_.back();
      for (int b = 0; b < of.ranks; ++b) {
        rank.recv.emplace_back(of.bytes(b, r));
        rank.send.emplace_back();
        for (std::uint64_t i = 0; i < of.bytes(r, b); ++i) rank.send.back().push_back({r, of.gathers ? 0 : b, i});
        if (of.in_place) rank.recv.back() = rank.send.back();
      }
      rank.exchange.send(rank.first, [&](int to) { return of.bytes(r, to); });
    }
    for (int r = 0; r < of.ranks; ++r) {
      for (int from = 0; from < of.ranks; ++from) {
        if (from != r) at(r).exchange.receive(from, at(from).exchange.sent_to(r));
      }
    }
  }

  // What went wrong; empty: nothing.
  std::string run() {
    while (wrong_.empty()) {
      std::vector<std::function<void()>> can;
      for (int r = 0; r < of_.ranks; ++r) list(r, can);
      if (can.empty()) break;
      can[random_() % can.size()]();
    }
    if (!wrong_.empty()) return wrong_;
    for (int r = 0; r < of_.ranks; ++r) {
      if (!is_done(r)) return "rank " + std::to_string(r) + " waits for ever";
      for (int from = 0; from < of_.ranks; ++from) {
        for (std::uint64_t i = 0; i < of_.bytes(from, r) && from != r; ++i) {
          if (!(at(r).recv[index(from)][i] == Token{from, of_.gathers ? 0 : r, i})) return "wrong data";
        }
      }
    }
    return {};
  }

 private:
  struct Rank {
    Rank(const Case& of, int me)
        : exchange({me, of.ranks, of.chunk, of.depth, of.gathers, of.in_place && !of.gathers}),
          ring(of.chunk * of.depth),
          readers(of.depth, 0),
          first(static_cast<std::uint64_t>(7 * me)),
          published(first),
          taken(static_cast<std::size_t>(of.ranks)) {}
    ChunkExchange exchange;
    std::vector<std::vector<Token>> send, recv;
    std::vector<Token> ring;
    std::vector<int> readers;  // [place] copies out of it that are in flight
    std::uint64_t first, published;
    std::vector<std::uint64_t> taken;           // [source]
    std::deque<std::function<void()>> out, in;  // copies in flight: two streams
  };
  Rank& at(int rank) { return *ranks_[index(rank)]; }
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  // Everything that may happen next at a rank.
  void list(int r, std::vector<std::function<void()>>& can) {
    Rank& rank = at(r);
    const auto taken = [&](int by) { return at(by).taken[index(r)]; };
    if (!rank.exchange.has_put_all() && rank.exchange.next_put() - rank.exchange.next_published() < of_.depth &&
        rank.exchange.may_put(taken)) {
      can.emplace_back([this, r] { put(r); });
    }
    for (auto* stream : {&rank.out, &rank.in}) {
      if (stream->empty()) continue;
      can.emplace_back([stream] {
        const auto copy = std::move(stream->front());
        stream->pop_front();
        copy();
      });
    }
    for (int from = 0; from < of_.ranks; ++from) {
      if (from != r && rank.exchange.may_take(from, at(from).published))
        can.emplace_back([this, r, from] { take(r, from); });
    }
  }

  void put(int r) {
    Rank& rank = at(r);
    const std::uint64_t number = rank.exchange.next_put();
    rank.exchange.put();
    rank.out.emplace_back([this, r, number] {
      Rank& by = at(r);
      if (by.readers[number % of_.depth] != 0) wrong_ = "a place is written while it is read";
      by.exchange.for_each_part(number, [&](int to, const ChunkPiece& piece) {
        // What is sent in place may be gone.
        const auto& block = of_.in_place ? by.recv[index(of_.gathers ? r : to)] : by.send[index(of_.gathers ? r : to)];
        for (std::uint64_t i = 0; i < piece.bytes; ++i) {
          by.ring[number % of_.depth * of_.chunk + piece.in_chunk + i] = block[piece.in_block + i];
        }
      });
      by.exchange.publish();
      by.published = by.exchange.next_published();
    });
  }

  void take(int r, int from) {
    Rank& rank = at(r);
    const std::uint64_t number = rank.exchange.next_take(from);
    const ChunkPiece piece = rank.exchange.next_piece(from);
    rank.exchange.take(from);
    ++at(from).readers[number % of_.depth];
    rank.in.emplace_back([this, r, from, number, piece] {
      Rank& by = at(r);
      for (std::uint64_t i = 0; i < piece.bytes; ++i) {
        by.recv[index(from)][piece.in_block + i] = at(from).ring[number % of_.depth * of_.chunk + piece.in_chunk + i];
      }
      --at(from).readers[number % of_.depth];
      by.taken[index(from)] = number + 1;
    });
  }

  bool is_done(int r) {
    Rank& rank = at(r);
    bool all = rank.exchange.has_published_all();
    for (int from = 0; from < of_.ranks; ++from) all = all && (from == r || rank.exchange.has_all_of(from));
    return all;
  }

  const Case of_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::string wrong_;
};

void play_all(int ranks, const std::function<std::uint64_t(int, int)>& bytes, const std::string& what, unsigned seeds) {
  for (const std::uint64_t chunk : {1U, 2U, 3U, 5U}) {
    for (const std::uint64_t depth : {1U, 2U, 4U}) {
      for (const bool in_place : {false, true}) {
        for (const bool gathers : {false, true}) {
          const auto sizes = [&](int from, int to) {
            if (gathers) return bytes(from, 0);
            return in_place ? bytes(std::min(from, to), std::max(from, to)) : bytes(from, to);
          };
          for (unsigned seed = 0; seed < seeds; ++seed) {
            const Case of{ranks, chunk, depth, gathers, in_place, sizes};
            ASSERT_EQ(Play(of, seed).run(), "")
                << what << ", " << ranks << " ranks, chunk " << chunk << ", depth " << depth
                << (gathers ? ", allgather" : "") << (in_place ? ", in place" : "") << ", seed " << seed;
          }
        }
      }
    }
  }
}

TEST(Chunks, EvenBlocksComeHome) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    for (const std::uint64_t bytes : {0U, 1U, 2U, 4U, 7U}) {
      play_all(
          ranks, [&](int, int) { return bytes; }, std::to_string(bytes) + " bytes", 6);
    }
  }
}

// All tables of sizes 0 to 3 between two ranks and three, the own blocks left out; of three a part.
TEST(Chunks, UnevenBlocksComeHome) {
  for (int ranks = 2; ranks <= 3; ++ranks) {
    const int pairs = ranks * (ranks - 1);
    const unsigned step = ranks == 2 ? 1 : 37;
    for (unsigned table = 0; table < 1U << (2 * pairs); table += step) {
      const auto bytes = [&](int from, int to) {
        const int pair = from * (ranks - 1) + (to > from ? to - 1 : to);
        return std::uint64_t{from == to ? 1 : table >> (2 * std::min(pair, pairs - 1)) & 3U};
      };
      play_all(ranks, bytes, "table " + std::to_string(table), 2);
    }
  }
}

TEST(Chunks, DrawnBlocksComeHome) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 60; ++turn) {
    const int ranks = 2 + static_cast<int>(random() % 6);
    std::vector<std::uint64_t> sizes(64);
    for (auto& size : sizes) size = random() % 3 == 0 ? 0 : random() % 14;
    play_all(
        ranks, [&](int from, int to) { return sizes[static_cast<std::size_t>(from * 8 + to)]; }, "drawn", 2);
  }
}

}  // namespace
}  // namespace quadrille::plan
