#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "memory/control_memory.hpp"

namespace quadrille::memory {
namespace {

struct Shared {
  explicit Shared(std::size_t bytes)
      : memory(new (std::align_val_t{sys::cache_line}) std::byte[sizeof(RingHead) + bytes]{}),
        ring(reinterpret_cast<RingHead*>(memory.get()), bytes) {}
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{sys::cache_line}); }
  };
  std::unique_ptr<std::byte[], Free> memory;
  Ring ring;
};

std::byte value(std::size_t i) { return static_cast<std::byte>(i * 131 + i / 251); }

TEST(Ring, TakesWhatFitsAndGivesItBackInOrder) {
  Shared shared(64);
  std::vector<std::byte> from(100), to(100);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = value(i);
  EXPECT_EQ(shared.ring.pop(to.data(), 10), 0U) << "empty";
  EXPECT_EQ(shared.ring.push(from.data(), 100), 64U) << "full";
  EXPECT_EQ(shared.ring.push(from.data() + 64, 36), 0U);
  EXPECT_EQ(shared.ring.pop(to.data(), 20), 20U);
  EXPECT_EQ(shared.ring.push(from.data() + 64, 36), 20U) << "over the end";
  EXPECT_EQ(shared.ring.pop(to.data() + 20, 80), 64U);
  EXPECT_EQ(shared.ring.push(from.data() + 84, 16), 16U);
  EXPECT_EQ(shared.ring.pop(to.data() + 84, 16), 16U);
  EXPECT_EQ(from, to);
}

TEST(Ring, DropsWhatNobodyWants) {
  Shared shared(64);
  std::vector<std::byte> from(40), to(8);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = value(i);
  shared.ring.push(from.data(), 40);
  EXPECT_EQ(shared.ring.pop(nullptr, 32), 32U);
  EXPECT_EQ(shared.ring.pop(to.data(), 8), 8U);
  EXPECT_EQ(to[0], value(32));
}

TEST(Ring, PiecesAreAnnouncedTogetherAndFreedTogether) {
  Shared shared(64);
  std::vector<std::byte> from(80), to(80);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = value(i);
  {
    Ring::Writer out(shared.ring);
    EXPECT_FALSE(out.publish()) << "nothing was written";
    EXPECT_EQ(out.write(from.data(), 6), 6U);
    EXPECT_EQ(out.write(from.data() + 6, 5), 5U);
    EXPECT_EQ(Ring::Reader(shared.ring).waiting(), 0U) << "less than a quarter, not announced yet";
    EXPECT_TRUE(out.publish());
  }
  {
    Ring::Writer out(shared.ring);
    EXPECT_EQ(out.room(), 53U);
    EXPECT_EQ(out.write(from.data() + 11, 69), 53U) << "full";
    EXPECT_EQ(Ring::Reader(shared.ring).waiting(), 59U) << "large pieces are announced as they are written";
    EXPECT_TRUE(out.publish());
    EXPECT_EQ(Ring::Reader(shared.ring).waiting(), 64U);
  }
  {
    Ring::Reader in(shared.ring);
    EXPECT_EQ(in.read(to.data(), 7), 7U);
    EXPECT_EQ(in.read(nullptr, 3), 3U) << "dropped";
    EXPECT_EQ(Ring::Writer(shared.ring).room(), 0U);
    EXPECT_TRUE(in.release());
    EXPECT_FALSE(Ring::Reader(shared.ring).release());
  }
  Ring::Writer out(shared.ring);
  EXPECT_EQ(out.write(from.data() + 64, 16), 10U) << "over the end";
  EXPECT_TRUE(out.publish());
  Ring::Reader in(shared.ring);
  EXPECT_EQ(in.read(to.data() + 10, 80), 64U);
  in.release();
  for (std::size_t i = 0; i < 74; ++i) {
    if (i >= 7 && i < 10) continue;  // dropped
    EXPECT_EQ(to[i], value(i)) << i;
  }
}

// A writer that remembers what was read looks again before it takes the ring for full.
TEST(Ring, HasRoomAgainForAWriterThatRemembers) {
  Shared shared(64);
  std::vector<std::byte> bytes(64);
  std::uint64_t seen = 0;
  for (int turn = 0; turn < 5; ++turn) {
    Ring::Writer out(shared.ring, seen);
    ASSERT_EQ(out.room(), 64U) << turn;
    ASSERT_EQ(out.write(bytes.data(), 64), 64U);
    out.publish();
    EXPECT_EQ(Ring::Writer(shared.ring, seen).room(), 0U);
    ASSERT_EQ(shared.ring.pop(bytes.data(), 64), 64U);
  }
}

TEST(Ring, ClaimedPiecesLieInOnePiece) {
  Shared shared(64);
  std::vector<std::byte> to(64);
  std::size_t written = 0, read = 0;
  // 1, 2, .. 16 bytes each, so that pieces end at every place; between them ordinary ones, which may be cut in two.
  for (int turn = 0; turn < 200; ++turn) {
    const std::size_t want = static_cast<std::size_t>(turn % 16) + 1;
    Ring::Writer out(shared.ring);
    ASSERT_EQ(out.room(), 64U);
    const bool claims = out.room_in_one_piece() >= want;
    if (!claims) {
      for (std::size_t i = 0; i < want; ++i) to[i] = value(written + i);
      ASSERT_EQ(out.write(to.data(), want), want);
    } else {
      std::byte* const claimed = out.claim(want);
      ASSERT_EQ(out.room(), 64 - want);
      for (std::size_t i = 0; i < want; ++i) claimed[i] = value(written + i);
      EXPECT_EQ(Ring::Reader(shared.ring).waiting(), 0U) << "announced too early";
    }
    EXPECT_TRUE(out.publish());
    written += want;
    Ring::Reader in(shared.ring);
    ASSERT_EQ(in.waiting(), want);
    if (claims && turn % 2 == 0) {
      ASSERT_EQ(in.read(to.data(), 1), 1U) << "it may be taken in parts";
      const std::byte* const taken = in.take(want - 1);
      std::copy(taken, taken + want - 1, to.begin() + 1);
    } else {
      ASSERT_EQ(in.read(to.data(), want), want);
    }
    EXPECT_TRUE(in.release());
    for (std::size_t i = 0; i < want; ++i) ASSERT_EQ(to[i], value(read + i)) << turn;
    read += want;
  }
}

TEST(Ring, CarriesAStreamBetweenThreads) {
  for (const std::size_t ring_bytes : {std::size_t{64}, std::size_t{192}, std::size_t{4096}}) {
    Shared shared(ring_bytes);
    constexpr std::size_t total = 200'000;
    std::vector<std::byte> from(total), to(total);
    for (std::size_t i = 0; i < total; ++i) from[i] = value(i);
    std::thread producer([&] {
      // Pieces of odd sizes, so that every position of the ring is met.
      for (std::size_t done = 0, want = 1; done < total; want = want % 977 + 1) {
        const std::size_t n = shared.ring.push(from.data() + done, std::min(want, total - done));
        done += n;
        if (n == 0) std::this_thread::yield();
      }
    });
    for (std::size_t done = 0, want = 1; done < total; want = want % 613 + 1) {
      const std::size_t n = shared.ring.pop(to.data() + done, std::min(want, total - done));
      done += n;
      if (n == 0) std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(from, to) << ring_bytes;
  }
}

TEST(Pairs, StayWithinTheControlMemoryOfARank) {
  for (const int ranks : {1, 2, 3, 16, 64, 125, 250, 400, 1000, 5000}) {
    const PairsLayout pairs = pairs_layout(ranks);
    EXPECT_LE(inbox_layout(ranks).region_bytes + pairs.region_bytes, most_bytes_a_rank + 2 * 4096) << ranks;
    if (ranks <= 250) {
      EXPECT_GE(pairs.ring_bytes, 1024U) << ranks;
    }
  }
}

TEST(Pairs, RegionsDoNotOverlap) {
  const int ranks = 3;
  const PairsLayout layout = pairs_layout(ranks);
  std::unique_ptr<std::byte[]> memory(new std::byte[layout.segment_bytes() + 64]{});
  auto at = reinterpret_cast<std::uintptr_t>(memory.get());
  auto* base = reinterpret_cast<std::byte*>((at + 63) / 64 * 64);
  std::vector<Pairs> all;
  for (int me = 0; me < ranks; ++me) all.emplace_back(base, layout, me);
  for (Pairs& p : all) p.begin();
  // Every ring filled, every room given, before anything is read.
  std::vector<std::byte> block(layout.ring_bytes), got(layout.ring_bytes);
  for (int to = 0; to < ranks; ++to) {
    for (int from = 0; from < ranks; ++from) {
      std::fill(block.begin(), block.end(), static_cast<std::byte>(10 * to + from + 1));
      EXPECT_EQ(all[from].ring(to, from).push(block.data(), block.size()), block.size());
      all[to].give_room(from, {static_cast<std::uint64_t>(100 * to + from), 7});
    }
  }
  EXPECT_FALSE(all[0].has_finished(1));
  all[1].finish(Fenced::nothing_streamed());
  EXPECT_TRUE(all[0].has_finished(1));
  EXPECT_FALSE(all[0].has_finished(2));
  for (int to = 0; to < ranks; ++to) {
    for (int from = 0; from < ranks; ++from) {
      EXPECT_EQ(all[to].ring(to, from).pop(got.data(), got.size()), got.size());
      EXPECT_EQ(got.front(), static_cast<std::byte>(10 * to + from + 1));
      EXPECT_EQ(got.back(), got.front());
      EXPECT_EQ(all[from].room_at(to).address, static_cast<std::uint64_t>(100 * to + from));
    }
  }
}

// A receiver asks in some calls for the rings of some senders. Who would see an old one again would fill a ring that
// nobody empties.
TEST(Pairs, AnAskForTheRingIsSeenOnceAndInItsCallAlone) {
  const int ranks = 3;
  const PairsLayout layout = pairs_layout(ranks);
  std::unique_ptr<std::byte[]> memory(new std::byte[layout.segment_bytes() + 64]{});
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.get()) + 63) / 64 * 64);
  std::vector<Pairs> all;
  for (int me = 0; me < ranks; ++me) all.emplace_back(base, layout, me);
  for (unsigned call = 0; call < 64; ++call) {
    for (Pairs& p : all) p.begin();
    // Another set of pairs in each call; the same pair in calls that follow each other, and not.
    const auto asks = [call](int to, int from) { return to != from && ((call * 5) >> (2 * to + from) & 1U) != 0; };
    for (int to = 0; to < ranks; ++to) {
      for (int from = 0; from < ranks; ++from) {
        if (asks(to, from)) all[to].ask_for_ring(from);
      }
    }
    for (int to = 0; to < ranks; ++to) {
      for (int from = 0; from < ranks; ++from) {
        ASSERT_EQ(all[from].is_asked_for_ring(to), asks(to, from)) << "call " << call << ", " << to << " of " << from;
        ASSERT_FALSE(all[from].is_asked_for_ring(to)) << "call " << call << ", " << to << " of " << from << " again";
      }
    }
    for (Pairs& p : all) p.finish(Fenced::nothing_streamed());
  }
}

}  // namespace
}  // namespace quadrille::memory
