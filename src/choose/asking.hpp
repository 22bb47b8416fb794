// How often ranks agree on the load of v and w calls before they choose (choose_by_load): agreeing
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

enum class Answer : std::uint8_t { none, mpi, ours, ours_for_once };

struct Asking {
  Answer last = Answer::none;
  int same = 0;             // answers in a row that were the same
  int wanted = 2;           // so many before any call keeps one
  int unasked = 0;          // calls that will keep the answer
  std::minstd_rand random;  // the standard says what it gives: the same on all ranks
};

void note_answer(Asking& asking, Answer answer);

// What no rank knows alone, in classes that the ranks agree on from time to time: of calls whose sizes differ, how much
// the busiest rank moves; whether some rank has its data in a device's memory. While the class stays the same, fewer
// and fewer calls ask; none keeps it for more than `most_unasked`.
struct AskedClass {
  static constexpr int most_unasked = 128;
  int now = -1;     // none so far
  int unasked = 0;  // calls that keep it
  int bound = 1;    // of unasked calls, next time
  std::minstd_rand random;
};

// The answer. True if the class is another one.
bool note_class(AskedClass& asked, int now);

// True if the call that begins must ask. Takes an Asking or an AskedClass.
template <class Asked>
bool must_ask(Asked& asked) {
  if (asked.unasked == 0) return true;
  --asked.unasked;
  return false;
}

}  // namespace quadrille::choose
