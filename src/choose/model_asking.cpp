#include <algorithm>
#include <utility>

#include "choose/asking.hpp"

namespace quadrille::choose {
namespace {

constexpr int most_wanted = 1 << 20;
// Calls that keep an answer.
int most_unasked(Answer answer) { return answer == Answer::mpi ? 64 : answer == Answer::ours ? 8 : 0; }

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

bool note_class(AskedClass& asked, int now) {
  const int before = std::exchange(asked.now, now);
  asked.bound = before == now ? std::min(2 * asked.bound, AskedClass::most_unasked) : 1;
  // Drawn, so that asking does not fall into step with a program whose calls repeat.
  asked.unasked = asked.bound / 2 + static_cast<int>(asked.random() % static_cast<unsigned>(asked.bound / 2 + 1));
  return before != now;
}

}  // namespace quadrille::choose
