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

// In [0, end), the same on all ranks.
int draw(Asking& asking, int end) {
  std::uint64_t x = asking.drawn += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<int>((x >> 33) % static_cast<std::uint64_t>(end));
}

}  // namespace

void note_answer(Asking& asking, Answer answer) {
  const bool changed = asking.last != Answer::none && answer != asking.last;
  if (changed) asking.wanted = std::min(2 * asking.wanted, most_wanted);
  asking.same = answer == asking.last ? asking.same + 1 : 1;
  asking.last = answer;
  const int most = most_unasked(answer);
  if (asking.same < asking.wanted || most == 0) return;
  const int bound = std::min(2 << std::min(asking.same - asking.wanted, 16), 2 * most);
  asking.unasked = std::min(1 + draw(asking, bound), most);
}

}  // namespace quadrille::choose
