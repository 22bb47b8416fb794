#include <algorithm>
#include <utility>

#include "choose/asking.hpp"

namespace quadrille::choose {
namespace {

// Calls that keep an answer.
int most_unasked(Answer answer) { return answer == Answer::mpi ? 64 : answer == Answer::ours ? 8 : 0; }

// At most `unasked` calls keep the answer, and at most `wanted` equal ones are wanted before any does.
bool note(Asking& asking, int now, int unasked, int wanted) {
  const int before = std::exchange(asking.now, now);
  const bool is_same = now == before;
  if (!is_same && before >= 0) asking.wanted = std::min(2 * asking.wanted, wanted);
  asking.same = is_same ? asking.same + 1 : 1;
  asking.unasked = 0;
  if (asking.same < asking.wanted || unasked == 0) return !is_same;
  const auto bound = static_cast<unsigned>(std::min(2 << std::min(asking.same - asking.wanted, 16), 2 * unasked));
  asking.unasked = std::min(1 + static_cast<int>(asking.random() % bound), unasked);
  return !is_same;
}

}  // namespace

bool note_answer(Asking& asking, Answer answer) {
  return note(asking, static_cast<int>(answer), most_unasked(answer), 1 << 20);
}

bool note_class(Asking& asking, int now, int unasked) { return note(asking, now, unasked, 2); }

bool note_class_to_keep(Asking& asking, int now, int unasked) {
  constexpr int most_changes = 16;
  const int before = std::exchange(asking.last, now);
  asking.changes = now != before ? asking.changes + 1 : asking.changes / 2;
  if (asking.changes < most_changes) return note_class(asking, now, unasked);
  asking.unasked = 1 + static_cast<int>(asking.random() % most_unasked_of_settled_class);
  return false;
}

}  // namespace quadrille::choose
