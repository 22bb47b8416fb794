// A model of the inboxes and outboxes: src/memory/control_memory.hpp, and what src/run/run_inbox.cpp calls of it.
#include <gtest/gtest.h>

#include <vector>

#include "expect.hpp"

namespace quadrille::models::inbox {
namespace {

enum class Call { all_to_all, to_all };  // run_inbox_alltoall, run_inbox_allgather

enum class Wrong {
  nothing,
  number_before_block,     // publish_slot() first, then the block
  number_without_release,  // slot->sequence.store(relaxed)
  one_slot,                // not two by the parity of the call
  read_before_number,      // await_slot() without acquire: what follows may be read before
  no_wait_for_empty,       // rank 1 gets nothing from rank 0 and does not wait for it
  number_of_one_bit,
  one_counter,        // one sequence for inboxes and outboxes
  no_wait_in_gather,  // the rank that sends to all in a gather does not wait for the others
};
constexpr struct {
  Wrong wrong;
  const char* name;
} mutations[] = {
    {Wrong::number_before_block, "the number before the block"},
    {Wrong::number_without_release, "the number without release"},
    {Wrong::one_slot, "one slot instead of two"},
    {Wrong::read_before_number, "the block read before the number"},
    {Wrong::no_wait_for_empty, "no wait for a peer that sends nothing"},
    {Wrong::number_of_one_bit, "numbers of one bit"},
    {Wrong::one_counter, "one counter for inboxes and outboxes"},
    {Wrong::no_wait_in_gather, "no wait for the others in a gather"},
};

struct Size {
  int ranks, depth;
  std::vector<Call> calls;
};

class InboxModel {
 public:
  InboxModel(const Size& size, Wrong wrong) : ranks_(size.ranks), wrong_(wrong), machine_(size.ranks, size.depth) {
    for (int owner = 0; owner < ranks_; ++owner) {
      for (int index = 0; index < 2 * ranks_ + 2; ++index) {
        const std::string name = "slot " + std::to_string(index) + " of " + std::to_string(owner);
        const bool used = index >= 2 * ranks_ || index % ranks_ != owner;
        if (used) {
          slots_.push_back({machine_.cell(name + " sequence"), machine_.cell(name + " head"), machine_.cell(name)});
        } else {
          slots_.push_back({});
        }
      }
    }
    for (const Call call : size.calls) add(call);
  }
  const Machine& machine() const { return machine_; }

 private:
  struct Slot {
    int sequence, head, block;
  };
  // inbox_slot(), outbox_slot()
  const Slot& inbox(int to, int from, int sequence) const { return slot_at(to, parity(sequence) * ranks_ + from); }
  const Slot& outbox(int of, int sequence) const { return slot_at(of, 2 * ranks_ + parity(sequence)); }
  const Slot& slot_at(int rank, int index) const {
    return slots_[static_cast<std::size_t>(rank * (2 * ranks_ + 2) + index)];
  }
  int parity(int sequence) const { return wrong_ == Wrong::one_slot ? 0 : sequence & 1; }

  // What a block holds: its call, its source and its destination.
  int block_of(int from, int to) const { return 1 + (calls_ * ranks_ + from) * ranks_ + to; }

  void add(Call call) {
    const bool gather = call == Call::to_all;
    // begin(), begin_out()
    int& counter = gather && wrong_ != Wrong::one_counter ? outboxes_ : inboxes_;
    const int bits = wrong_ == Wrong::number_of_one_bit ? 1 : 2;
    const int sequence = ++counter & ((1 << bits) - 1);
    for (int me = 0; me < ranks_; ++me) {
      if (gather) {
        publish(me, outbox(me, sequence), sequence, block_of(me, me));
      } else {
        for (int step = 1; step < ranks_; ++step) {
          const int to = (me + step) % ranks_;
          publish(me, inbox(to, me, sequence), sequence, block_of(me, to));
        }
      }
      for (int step = 1; step < ranks_; ++step) {
        const int from = (me - step + ranks_) % ranks_;
        if (wrong_ == Wrong::no_wait_for_empty && from == 0 && me == 1) continue;
        if (wrong_ == Wrong::no_wait_in_gather && gather && me == 0) continue;
        take(me, gather ? outbox(from, sequence) : inbox(me, from, sequence), sequence,
             block_of(from, gather ? from : me));
      }
    }
    ++calls_;
  }

  void publish(int me, const Slot& slot, int sequence, int block) {
    const auto number = [&] {
      machine_.publish(me, "publish_slot: sequence.store(release)", slot.sequence, sequence,
                       wrong_ != Wrong::number_without_release);
    };
    if (wrong_ == Wrong::number_before_block) number();
    machine_.store(me, "Inbox::fill", slot.block, block);
    machine_.store(me, "publish_slot: carried, bytes", slot.head, calls_ + 1);
    if (wrong_ != Wrong::number_before_block) number();
  }

  // Each call receives elsewhere, and it is looked at when all is over: nothing but the protocol makes a rank read a
  // slot soon.
  void take(int me, const Slot& slot, int sequence, int block) {
    const int head = machine_.cell("head that was read"), received = machine_.cell("received");
    const auto copy = [&] {
      machine_.copy(me, "run_inbox_alltoall: copy", received, slot.block);
      machine_.copy(me, "run_inbox_alltoall: slot.bytes", head, slot.head);
    };
    if (wrong_ == Wrong::read_before_number) copy();
    machine_.wait(me, "await_slot: sequence.load(acquire)", slot.sequence, sequence);
    if (wrong_ != Wrong::read_before_number) copy();
    const int call = calls_ + 1;
    machine_.finally([=](Step& s) {
      s.check(s.load(received) == block, "a block was read before it was written, or after it was overwritten");
      s.check(s.load(head) == call, "the head is that of another call");
    });
  }

  const int ranks_;
  const Wrong wrong_;
  Machine machine_;
  std::vector<Slot> slots_;
  int inboxes_ = 0, outboxes_ = 0, calls_ = 0;
};

constexpr Call in = Call::all_to_all, out = Call::to_all;

// Sequence numbers have two bits: the fourth call has number 0, with which all slots begin.
const Size two_ranks{2, 30, {in, out, out, out, in, in, in, in, in}};
const Size three_ranks{3, 30, {in, in, in, in, in}};
const Size three_ranks_gather{3, 30, {out, in, out, out}};
const Size three_ranks_at_once{3, 0, {in, out, in, in, in, in}};

TEST(InboxModel, EveryBlockIsReadAfterItWasWrittenAndBeforeItIsOverwritten) {
  expect_good("inbox, 2 ranks, 9 calls, numbers wrap", InboxModel(two_ranks, Wrong::nothing).machine());
  expect_good("inbox, 3 ranks, 5 calls, numbers wrap", InboxModel(three_ranks, Wrong::nothing).machine());
  expect_good("inbox and outbox, 3 ranks, 4 calls", InboxModel(three_ranks_gather, Wrong::nothing).machine());
  expect_good("inbox, 3 ranks, 6 calls, stores seen at once",
              InboxModel(three_ranks_at_once, Wrong::nothing).machine());
}

TEST(InboxModel, EveryMutationIsFound) {
  for (const auto& [wrong, name] : mutations) {
    expect_found(std::string("inbox, ") + name, InboxModel(two_ranks, wrong).machine());
  }
}

}  // namespace
}  // namespace quadrille::models::inbox
