#include "memory/stream_tuner.hpp"

#include <bit>
#include <utility>

namespace quadrille::memory {

std::size_t StreamTuner::class_of(std::size_t call_bytes) const {
  return static_cast<std::size_t>(std::bit_width(call_bytes) - std::bit_width(from_));
}

bool StreamTuner::has_decided(std::size_t call_bytes) const {
  if (call_bytes < from_) return true;
  const std::size_t index = class_of(call_bytes);
  return index < classes_.size() && classes_[index].decided;
}

bool StreamTuner::is_measuring(std::size_t call_bytes) const {
  if (has_decided(call_bytes)) return false;
  const std::size_t index = class_of(call_bytes);
  return index < classes_.size() && classes_[index].warm && classes_[index].unusable == 0;
}

void StreamTuner::begin_round(SizeClass& c, std::vector<std::size_t> candidates) const {
  c.turn = 0;
  c.round = tuner::Contest(candidates.size(), {repeats, tuner::Counts::least, 1 - gain});
  c.candidates = std::move(candidates);
}

void StreamTuner::decide(SizeClass& c, std::size_t best) {
  c.decided = true;
  c.candidates = {best};
}

StreamTuner::Use StreamTuner::next(std::size_t call_bytes) {
  if (call_bytes < from_) return {};
  const std::size_t index = class_of(call_bytes);
  if (index >= classes_.size()) classes_.resize(index + 1);
  SizeClass& c = classes_[index];
  if (!c.warm) {
    c.warm = true;
    begin_round(c, {all_temporal, start_, 0});
    c.halved = start_ / 2;
    return {};
  }
  if (c.decided) return {c.candidates.front(), false, index};
  const bool timed = c.settled;
  c.settled = true;
  return {c.candidates[c.turn], timed, index};
}

void StreamTuner::record(const Use& use, std::size_t bytes, double time) {
  if (!use.timed || use.size_class >= classes_.size()) return;
  SizeClass& c = classes_[use.size_class];
  if (c.decided) return;
  if (bytes == 0) {
    if (++c.unusable >= most_unusable) decide(c, c.candidates.front());
    return;
  }
  c.round.note(c.turn, time / static_cast<double>(bytes));
  c.settled = false;
  if (++c.turn < c.candidates.size()) return;
  c.turn = 0;
  c.round.end_visit();
  if (c.round.decided()) end_round(c);
}

// The best of the round meets the next T, measured again beside it.
void StreamTuner::end_round(SizeClass& c) const {
  const std::size_t best = c.round.best();
  if (best == 0 || c.halved < least) return decide(c, c.candidates[best]);
  begin_round(c, {c.candidates[best], c.halved});
  c.halved /= 2;
}

}  // namespace quadrille::memory
