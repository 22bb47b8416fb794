// The inbox protocol with ranks as threads, and the layout of its segment.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "memory/control_memory.hpp"

namespace quadrille::memory {
namespace {

class Segment {
 public:
  explicit Segment(std::size_t bytes) : bytes_(bytes) {
    base_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~Segment() { munmap(base_, bytes_); }
  std::byte* base() const { return static_cast<std::byte*>(base_); }

 private:
  std::size_t bytes_;
  void* base_;
};

std::uint32_t word(int from, int to, int call) {
  return static_cast<std::uint32_t>(from * 1000003 + to * 10007 + call * 31 + 1);
}

TEST(InboxLayout, KeepsToItsMemoryForAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 20000; ranks = ranks < 64 ? ranks + 1 : ranks * 5 / 4) {
    const InboxLayout layout = inbox_layout(ranks);
    // A page may be needed to round up, never more.
    EXPECT_LE(layout.region_bytes, most_bytes_a_rank + 4096) << ranks;
    if (layout.capacity() == 0) {
      EXPECT_GT(ranks, 1000) << "only very many ranks go without inboxes";
      continue;
    }
    EXPECT_GE(layout.region_bytes, layout.slot_bytes * (2 * static_cast<std::size_t>(ranks) + 2));
    EXPECT_EQ(layout.slot_bytes % sys::cache_line, 0U);
    EXPECT_EQ(layout.slot_bytes / sys::cache_line % 2, 1U) << "heads must not share a cache set";
  }
}

// Ranks run freely: whoever is fast is a call ahead. Inbox and outbox calls are mixed.
void exchange(int ranks, int calls) {
  const InboxLayout layout = inbox_layout(ranks);
  const Segment segment(layout.segment_bytes());
  std::vector<int> wrong(static_cast<std::size_t>(ranks), 0);
  auto one_rank = [&](int me) {
    Inbox inbox(segment.base(), layout, me);
    sys::Waiter waiter;
    waiter.spins = 4;
    for (int call = 0; call < calls; ++call) {
      const bool to_all = call % 5 == 3 || (call > 400 && call < 1200);
      if (to_all) {
        inbox.begin_out();
        const std::uint32_t mine = word(me, -1, call);
        std::memcpy(inbox.block_to_all(), &mine, sizeof mine);
        inbox.publish_to_all(Carried::in_slot, sizeof mine);
      } else {
        inbox.begin();
        for (int to = 0; to < ranks; ++to) {
          if (to == me) continue;
          const std::uint32_t mine = word(me, to, call);
          std::memcpy(inbox.block_to(to), &mine, sizeof mine);
          inbox.publish(to, Carried::in_slot, sizeof mine);
        }
      }
      for (int from = 0; from < ranks; ++from) {
        if (from == me) continue;
        const Slot& slot = to_all ? inbox.await_out(from, sizeof(std::uint32_t), waiter)
                                  : inbox.await(from, sizeof(std::uint32_t), waiter);
        std::uint32_t got;
        std::memcpy(&got, Inbox::block_of(slot), sizeof got);
        if (got != word(from, to_all ? -1 : me, call)) ++wrong[static_cast<std::size_t>(me)];
      }
    }
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back(one_rank, r);
  for (std::thread& t : threads) t.join();
  for (const int w : wrong) EXPECT_EQ(w, 0);
}

// With one-byte sequence numbers (the wrap build) this passes several wraps of both counters.
TEST(Inbox, DeliversEveryBlockOnce) {
  for (const int ranks : {2, 3, 5, 8}) exchange(ranks, 3000);
}

// Every small length, with a guard behind the block: the tail is copied before the head.
TEST(Inbox, FillsBlocksOfEveryLength) {
  std::vector<std::byte> from(700), slot(800);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes <= from.size(); ++bytes) {
    std::fill(slot.begin(), slot.end(), std::byte{0xEE});
    Inbox::fill(slot.data(), from.data(), bytes);
    ASSERT_EQ(std::memcmp(slot.data(), from.data(), bytes), 0) << bytes;
    ASSERT_EQ(slot[bytes], std::byte{0xEE}) << bytes;
  }
}

TEST(Inbox, DrivesProgressWhileItWaits) {
  const InboxLayout layout = inbox_layout(2);
  const Segment segment(layout.segment_bytes());
  Inbox first(segment.base(), layout, 0), second(segment.base(), layout, 1);
  struct State {
    Inbox* peer;
    int calls = 0;
  } state{&second};
  sys::Waiter waiter;
  waiter.spins = 2;
  // The peer enters only because we drive it, as when it is stuck in a send to us.
  waiter.progress_data = &state;
  waiter.progress = [](void* data) {
    auto* s = static_cast<State*>(data);
    if (++s->calls != 3) return;
    s->peer->begin();
    s->peer->publish(0, Carried::in_slot, 0);
  };
  first.begin();
  first.publish(1, Carried::in_slot, 0);
  first.await(1, 0, waiter);
  EXPECT_EQ(state.calls, 3);
}

}  // namespace
}  // namespace quadrille::memory
