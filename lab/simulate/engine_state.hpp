// What a run of the engine keeps: of messages on their way, of ranks, adapters and processors. For engine_run.cpp
// alone.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::simulate::running {

using Time = std::int64_t;  // picoseconds

inline Time picoseconds(double nanoseconds) { return static_cast<Time>(std::llround(nanoseconds * 1000)); }

// First in, first out, in one block of memory that is used again.
template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  void push(const T& item) {
    if (first_ > 32 && 2 * first_ > items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(item);
  }
  T pop() {
    const T item = items_[first_++];
    if (first_ == items_.size()) items_.clear(), first_ = 0;
    return item;
  }
  const T& front() const { return items_[first_]; }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

// What a message is, on its way: all of it, the question of a long one, or its data after the answer.
enum class Kind : std::uint8_t { whole, question, data };
struct Packet {
  std::uint32_t note;  // of the sender
  std::uint8_t part;   // sizes that travel ahead are part 0, what follows them part 1
  Kind kind;
};

// What a rank has to do when it next looks.
enum class Task : std::uint8_t { take, answer, send_data, sent };
struct Item {
  std::uint32_t note;  // its own
  std::uint8_t part;
  Task task;
};

// What happens when what a rank does is done.
enum class Then : std::uint8_t { nothing, leaves, complete_take, answered, data_leaves };

enum class Phase : std::uint8_t { ahead, enter, messages, leave, fence, done };

struct State {
  Fifo<Item> ready;
  std::uint32_t stage = 0, turn = 0;
  std::uint32_t next_pair = 0, batch_end = 0, open = 0;
  std::uint32_t note = 0;  // what `then` is about
  Then then = Then::nothing;
  Phase phase = Phase::enter;
  std::uint8_t part = 0, note_part = 0;
  bool waiting = false;
  bool ahead = false;  // the first messages of the stage beside the others are in flight
};

enum class What : std::uint8_t { step, adapter_free, link, arrive, deliver, near, answer, seen };
struct Event {
  Time at;
  std::uint64_t order;
  std::uint32_t subject;  // rank, node, or note
  std::uint8_t part;
  Kind kind;
  What what;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    if (a.at != b.at) return a.at > b.at;
    if (a.order != b.order) return a.order > b.order;
    return a.subject > b.subject;
  }
};

struct Adapter {
  Fifo<Packet> out;
  bool sending = false;
  Time in_free = 0, busy = 0;
};
struct Group {
  Time out_free = 0, in_free = 0;
};
struct Processor {
  Time free = 0;
  std::uint32_t last = UINT32_MAX;
};
struct FenceGroup {
  std::vector<std::uint32_t> members;
  std::uint32_t there = 0;
  Time last = 0;
};

}  // namespace quadrille::simulate::running
