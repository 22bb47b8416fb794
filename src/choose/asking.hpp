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

#include <cstdint>
#include <random>

namespace quadrille::choose {

enum class Answer : std::uint8_t { mpi, ours, ours_for_once };

struct Asking {
  int now = -1;                // the last answer; none so far
  int same = 0;                // answers in a row that were the same
  int wanted = 2;              // so many before any call keeps one
  int unasked = 0;             // calls that will keep the answer
  int last = -1, changes = 0;  // what was found last, also if it was not kept; how often it has differed of late
  std::minstd_rand random;     // the standard says what it gives: the same on all ranks
};

// True if it is another answer than the last, or the first.
bool note_answer(Asking& asking, Answer answer);
// Likewise, with the class of a call as the answer: of calls whose sizes differ, how much the busiest rank moves;
// whether some rank has its data in a device's memory. A class is kept for at most `unasked` calls, and a change does
// not make it asked about more often: what is found out for a class holds when it comes again.
inline constexpr int most_unasked_of_class = 128;
inline constexpr int most_unasked_of_settled_class = 1024;  // with nothing to try
bool note_class(Asking& asking, int now, int unasked = most_unasked_of_class);
// Where any choice serves any class: of a program that changes class again and again the first class is kept, and it is
// hardly asked.
bool note_class_to_keep(Asking& asking, int now, int unasked);

// True if the call that begins must ask.
inline bool must_ask(Asking& asking) {
  if (asking.unasked == 0) return true;
  --asking.unasked;
  return false;
}

}  // namespace quadrille::choose
