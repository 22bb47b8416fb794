#include "memory/stream_tuner.hpp"

#include <algorithm>
#include <bit>

namespace quadrille::memory {

std::size_t StreamTuner::class_of(std::size_t call_bytes) const {
  return static_cast<std::size_t>(std::bit_width(call_bytes) - std::bit_width(from_));
}

bool StreamTuner::has_decided(std::size_t call_bytes) const {
  if (call_bytes < from_) return true;
  const std::size_t index = class_of(call_bytes);
  return index < classes_.size() && classes_[index].decided;
}

void StreamTuner::begin(SizeClass& c) const {
  c.warm = true;
  c.candidates = {{all_temporal}, {start_}, {0}};
  c.halved = start_ / 2;
}

void StreamTuner::decide(SizeClass& c, const Candidate& best) {
  c.decided = true;
  c.candidates = {Candidate{best}};
}

StreamTuner::Use StreamTuner::next(std::size_t call_bytes) {
  if (call_bytes < from_) return {};
  const std::size_t index = class_of(call_bytes);
  if (index >= classes_.size()) classes_.resize(index + 1);
  SizeClass& c = classes_[index];
  if (!c.warm) {
    begin(c);
    return {};
  }
  if (c.decided) return {c.candidates.front().temporal_bytes, false, index};
  const std::size_t turn = static_cast<std::size_t>(c.turn) % c.candidates.size();
  const bool timed = c.settled;
  c.settled = true;
  return {c.candidates[turn].temporal_bytes, timed, index};
}

void StreamTuner::record(const Use& use, std::size_t bytes, double time) {
  if (!use.timed || use.size_class >= classes_.size()) return;
  SizeClass& c = classes_[use.size_class];
  if (c.decided) return;
  if (bytes == 0) {
    if (++c.unusable >= settings_.most_unusable) decide(c, c.candidates.front());
    return;
  }
  Candidate& tried = c.candidates[static_cast<std::size_t>(c.turn) % c.candidates.size()];
  const double each = time / static_cast<double>(bytes);
  if (each < tried.time) tried.time = each;  // false for what is not a number
  c.settled = false;
  const int turns = settings_.repeats * static_cast<int>(c.candidates.size());
  if (++c.turn == turns) end_round(c);
}

// The best of the round meets the next T, measured again beside it.
void StreamTuner::end_round(SizeClass& c) const {
  const Candidate champion = c.candidates.front();
  const Candidate challenger = *std::min_element(
      c.candidates.begin() + 1, c.candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  if (!(challenger.time < champion.time * (1 - settings_.gain))) return decide(c, champion);
  if (c.halved < settings_.least) return decide(c, challenger);
  c.turn = 0;
  c.candidates = {{challenger.temporal_bytes}, {c.halved}};
  c.halved /= 2;
}

}  // namespace quadrille::memory
