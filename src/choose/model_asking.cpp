#include <algorithm>

#include "choose/asking.hpp"

namespace quadrille::choose {
namespace {

constexpr int most_wanted = 1 << 20;

int most_unasked(Answer answer) {
  switch (answer) {
    case Answer::mpi:
      return 64;
    case Answer::ours:
      return 8;
    case Answer::none:
    case Answer::ours_for_once:
      break;
  }
  return 0;
}

}  // namespace

void note_answer(Asking& asking, Answer answer) {
  const bool changed = asking.last != Answer::none && answer != asking.last;
  if (changed) asking.wanted = std::min(2 * asking.wanted, most_wanted);
  asking.same = answer == asking.last ? asking.same + 1 : 1;
  asking.last = answer;
  const int most = most_unasked(answer);
  if (asking.same < asking.wanted || most == 0) return;
  const auto bound = static_cast<unsigned>(std::min(2 << std::min(asking.same - asking.wanted, 16), 2 * most));
  asking.unasked = std::min(1 + static_cast<int>(asking.random() % bound), most);
}

}  // namespace quadrille::choose
