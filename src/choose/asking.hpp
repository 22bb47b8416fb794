// How often ranks agree on the load of v and w calls before they choose (choose_by_load): agreeing
// is a reduction, which costs about as much as a few messages. While the answer stays the same,
// more and more calls keep it unasked.
//
//   answer   mpi  mpi   -   mpi   -  -  mpi ...      "-": a call that keeps the last answer
//   unasked       1         2          4             at most 64; for an algorithm of ours at most 8
//
// Ours is kept for fewer calls: if blocks grow all at once, it costs up to log P / 2 times as much
// as it should, the MPI's own only what it costs without Quadrille.
//
// Pure, and fed with nothing but what all ranks agreed on: so all ranks ask at the same calls.
#pragma once

#include <algorithm>

namespace quadrille::choose {

struct Asking {
  int same = 0;         // answers in a row that were the same
  int unasked = 0;      // calls that will keep the answer
  bool is_mpi = false;  // the last answer
};

constexpr int most_unasked_of_mpi = 64;
constexpr int most_unasked_of_ours = 8;

// Must this call ask?
inline bool must_ask(Asking& asking) {
  if (asking.unasked == 0) return true;
  --asking.unasked;
  return false;
}

inline void note_answer(Asking& asking, bool is_mpi) {
  asking.same = asking.is_mpi == is_mpi ? asking.same + 1 : 1;
  asking.is_mpi = is_mpi;
  if (asking.same < 2) return;
  const int most = is_mpi ? most_unasked_of_mpi : most_unasked_of_ours;
  asking.unasked = std::min(1 << std::min(asking.same - 2, 16), most);
}

}  // namespace quadrille::choose
