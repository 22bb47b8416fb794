// How often ranks agree on what no rank knows alone, such as the load of v and w calls, before they choose: agreeing
// is a reduction, which costs about as much as a few messages. While the answer stays the same,
// more and more calls keep it unasked.
//
//   answer   mpi  mpi   -   mpi   -  -  mpi ...      "-": a call that keeps the last answer
//
// How many calls keep it is drawn at random below a bound that doubles, so that asking does not
// fall into step with a program whose calls repeat: what differs is found sooner or later. Each
// time it is, twice as many equal answers are wanted before any call keeps one. So a program whose
// calls change for ever is asked about each call after a while, and one that does not hardly any.
//
// An algorithm of ours is kept for at most 8 calls: if blocks grow all at once, two-phase Bruck
// costs up to log P / 2 times as much as it should, the MPI's own only what it costs without us.
// Padding, which may move any multiple of the data, is never kept.
//
// Pure, and fed with nothing but what all ranks agreed on: so all ranks ask at the same calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

namespace quadrille::choose {

enum class Answer : std::uint8_t { mpi, ours, ours_for_once };

struct Asking {
  int now = -1;                // the last answer; none so far
  int same = 0;                // answers in a row that were the same
  int wanted = 2;              // so many before any call keeps one
  int unasked = 0;             // calls that will keep the answer
  int last = -1, changes = 0;  // what was found last, also if it was not kept; how often it has differed of late
  std::minstd_rand random;     // the standard says what it gives: the same on all ranks

  // At most `most_unasked` calls keep the answer, and at most `most_wanted` equal ones are wanted before any does. True
  // if it is another answer than the last, or the first.
  bool answered(int answer, int most_unasked, int most_wanted) {
    const int before = std::exchange(now, answer);
    const bool is_same = now == before;
    if (!is_same && before >= 0) wanted = std::min(2 * wanted, most_wanted);
    same = is_same ? same + 1 : 1;
    unasked = 0;
    if (same < wanted || most_unasked == 0) return !is_same;
    const auto bound = static_cast<unsigned>(std::min(2 << std::min(same - wanted, 16), 2 * most_unasked));
    unasked = std::min(1 + static_cast<int>(random() % bound), most_unasked);
    return !is_same;
  }
};

inline bool note_answer(Asking& asking, Answer answer) {
  const int most_unasked = answer == Answer::mpi ? 64 : answer == Answer::ours ? 8 : 0;
  return asking.answered(static_cast<int>(answer), most_unasked, 1 << 20);
}
// Likewise, with the class of a call as the answer: of calls whose sizes differ, how much the busiest rank moves;
// whether some rank has its data in a device's memory. A class is kept for at most `unasked` calls, and a change does
// not make it asked about more often: what is found out for a class holds when it comes again.
inline constexpr int most_unasked_of_class = 128;
inline constexpr int most_unasked_of_settled_class = 1024;  // with nothing to try
inline bool note_class(Asking& asking, int now, int unasked = most_unasked_of_class) {
  return asking.answered(now, unasked, 2);
}
// Where any choice serves any class: of a program that changes class again and again the first class is kept, and it is
// hardly asked.
inline bool note_class_to_keep(Asking& asking, int now, int unasked) {
  constexpr int most_changes = 16;
  const int before = std::exchange(asking.last, now);
  asking.changes = now != before ? asking.changes + 1 : asking.changes / 2;
  if (asking.changes < most_changes) return note_class(asking, now, unasked);
  asking.unasked = 1 + static_cast<int>(asking.random() % most_unasked_of_settled_class);
  return false;
}

// Takes one of the calls that go by what was decided before; false if none is left, or `left` is null. A call takes one
// whether or not its thread has cached it: ranks differ in that, and all must count alike.
inline bool take_one(int* left) {
  if (left == nullptr || *left == 0) return false;
  --*left;
  return true;
}
// True if the call that begins must ask.
inline bool must_ask(Asking& asking) { return !take_one(&asking.unasked); }

}  // namespace quadrille::choose
