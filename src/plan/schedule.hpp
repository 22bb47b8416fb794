// A schedule says which blocks a rank copies, sends and receives, in which order. It is the one
// language that every algorithm of Quadrille speaks and that one executor runs.
//
// Glossary
//   Span      one block of one buffer of one rank. Never an address: addresses are bound at each start.
//   Copy      a block moves from one span to another inside a node.
//   Message   a send to, or a receive from, one peer: its spans travel in order, without gaps.
//   Round     copies, then messages, then copies. A rank leaves a round when all of it is done.
//   Window    how many of a round's messages are in flight, and how one waits for them.
//   Schedule  the rounds of one rank, and the scratch blocks that they need.
//
// A schedule is stored flat: rounds point into one array of messages and one array of copies,
// messages point into one array of spans. This keeps a Bruck plan for 32,768 ranks in a few MiB.
//
// This file knows nothing of MPI.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::plan {

// The three buffers a rank has during a collective.
//   send     the user's send blocks, one a destination (allgather: block 0 only). Never written.
//   recv     the user's receive blocks, one a source. May hold blocks in transit before the end.
//   scratch  private to the call; `Schedule::scratch_blocks` blocks; undefined at the start.
enum class Buffer : std::uint8_t { send, recv, scratch };
constexpr std::string_view name_of(Buffer buffer) {
  return buffer == Buffer::send ? "send" : buffer == Buffer::recv ? "recv" : "scratch";
}

struct Span {
  std::int32_t owner;  // rank that owns the buffer; `me` in messages
  std::int32_t block;  // block index inside the buffer
  Buffer buffer;
  friend bool operator==(const Span&, const Span&) = default;
};

struct Copy {
  Span from;
  Span to;
  friend bool operator==(const Copy&, const Copy&) = default;
};

// Part [first, first + count) of one of the flat arrays of a schedule.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Without spans it is none, on both sides: it keeps a place, so that the pairs of a round are the same steps on all
// ranks.
struct Message {
  std::int32_t peer;
  Range spans;  // into Schedule::spans
  friend bool operator==(const Message&, const Message&) = default;
};
constexpr bool is_none(const Message& message) { return message.spans.count == 0; }

// How messages of a round are kept in flight. The k-th send and the k-th receive form pair k.
//   all   pairs are posted in batches of `pairs`; a batch is waited for as a whole (waitall)
//   any   `pairs` pairs are in flight; one more is posted for each that completes (waitany)
//   test  as `any`, but completion is polled for all that are in flight (testany)
// pairs == 0 means: all pairs of the round at once.
struct Window {
  enum class Wait : std::uint8_t { all, any, test };
  Wait wait = Wait::all;
  std::uint32_t pairs = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

struct Round {
  Range before;    // into Schedule::copies; done first, in order
  Range sends;     // into Schedule::messages
  Range receives;  // into Schedule::messages
  Window window;
  Range after;              // into Schedule::copies; done when all messages are complete, in order
  bool node_fence = false;  // all ranks of the node pass here together, at the end of the round
  // Its messages are the only ones, and may be in flight from the start on, during the rounds before it.
  bool beside = false;
  friend bool operator==(const Round&, const Round&) = default;
};

// How a receiver learns the sizes of the blocks of a message.
//   known    from its own arguments (uniform collectives; direct v and w algorithms)
//   carried  from a size message that precedes each data message (two-phase Bruck)
//   coupled  from the head of the message itself, whose length a message before tells (SLOAV)
// With `carried` and `coupled` the sizes of all blocks of a message travel: a receiver that took them from its own
// arguments would cut the message at wrong places if its sender has others. A span of scratch holds a block of any
// size; a copy out of scratch into recv brings a block whose size the rank knows.
enum class Sizes : std::uint8_t { known, carried, coupled };

struct Schedule {
  std::vector<Round> rounds;
  std::vector<Message> messages;
  std::vector<Span> spans;
  std::vector<Copy> copies;
  std::uint32_t scratch_blocks = 0;
  Sizes sizes = Sizes::known;

  std::span<const Message> messages_of(Range range) const {
    return std::span(messages).subspan(range.first, range.count);
  }
  std::span<const Copy> copies_of(Range range) const { return std::span(copies).subspan(range.first, range.count); }
  std::span<const Span> spans_of(const Message& message) const {
    return std::span(spans).subspan(message.spans.first, message.spans.count);
  }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

inline std::uint32_t pairs_of(const Round& round) { return std::max(round.sends.count, round.receives.count); }
// How many of them are in flight at a time.
inline std::uint32_t window_of(const Round& round) {
  return round.window.pairs == 0 ? pairs_of(round) : std::min(round.window.pairs, pairs_of(round));
}
// The messages of `range` that belong to pairs [first, end).
inline Range part_of(Range range, std::uint32_t first, std::uint32_t end) {
  const std::uint32_t from = std::min(first, range.count);
  const std::uint32_t to = std::min(end, range.count);
  return {range.first + from, to - from};
}
// Whether the blocks of a message follow each other in one buffer.
bool is_one_run(const Schedule& schedule, const Message& message);

// The copies up to the last fence of the node. Those after it are a rank's own.
std::span<const Copy> copies_inside_node(const Schedule& schedule);

// Scratch blocks, the first ones, that copies after messages fill: in them blocks wait for a later round.
std::uint32_t waiting_slots(const Schedule& schedule);

// Heap memory held by a schedule, in bytes.
std::size_t memory_bytes(const Schedule& schedule);

// Writes a schedule in program order. Calls between two begin_round() belong to one round.
// Copies given before the first message of a round are its `before`, those after it its `after`;
// a round without messages has only `before`. Spans given after send()/receive() belong to that
// message. Sends must all be given before the first receive of a round (the builder checks).
class Builder {
 public:
  explicit Builder(int me) : me_(me) {}

  void begin_round(Window window = {});
  void copy(Buffer from, int from_block, Buffer to, int to_block);
  void copy(Span from, Span to);
  void send(int peer);
  void receive(int peer);
  void span(Buffer buffer, int block);
  // Takes the last message back if it has no spans.
  void drop_empty_message();
  // Takes the last round back if it has no messages and no copies.
  void drop_empty_round();
  bool round_has_messages() const { return pairs_of(schedule_.rounds.back()) > 0; }
  // Shorthands for a message of one span.
  void send(int peer, Buffer buffer, int block) { send(peer), span(buffer, block); }
  void receive(int peer, Buffer buffer, int block) { receive(peer), span(buffer, block); }
  void node_fence();
  void beside();

  void scratch(std::uint32_t blocks) { schedule_.scratch_blocks = blocks; }
  void sizes(Sizes sizes) { schedule_.sizes = sizes; }

  // In as much memory as it needs: plans are kept.
  Schedule take();

 private:
  int me_;
  Schedule schedule_;
};

// Makes the all-to-all of rank `me` one with blocks of different sizes; it has no copies after messages and no fence.
// Blocks that travel are blocks of scratch then, which is only to say where they are: first the own ones, [rank], then
// those that have come, [rank], then the scratch that there was.
Schedule with_sizes(Schedule plan, int me, int ranks);

// A schedule as text, for people: that of rank `me`, a line an action. Consecutive blocks are drawn together:
//
//   round 1
//     copy  send[0] -> scratch[0]
//     send  to 0: scratch[0..1]
//     recv  from 2: scratch[2..3]
//     copy  scratch[2..3] -> recv[1..2]
//
// "recv[3..1]" is recv[3], recv[2], recv[1].
std::string draw(const Schedule& schedule, int me);

// A large plan has a million spans and copies: these three are worth inlining.

inline void Builder::copy(Span from, Span to) {
  assert(!schedule_.rounds.empty());
  Round& round = schedule_.rounds.back();
  schedule_.copies.push_back({from, to});
  if (round_has_messages()) {
    ++round.after.count;
  } else {
    ++round.before.count;
    ++round.after.first;
  }
}

inline void Builder::copy(Buffer from, int from_block, Buffer to, int to_block) {
  copy(Span{me_, from_block, from}, Span{me_, to_block, to});
}

inline void Builder::span(Buffer buffer, int block) {
  assert(!schedule_.messages.empty());
  schedule_.spans.push_back({me_, block, buffer});
  ++schedule_.messages.back().spans.count;
}

}  // namespace quadrille::plan
