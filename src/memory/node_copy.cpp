#include "memory/node_copy.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sys/sys.hpp"
#include "text/text.hpp"

namespace quadrille::memory {

std::size_t StreamTuner::class_of(std::size_t call_bytes) const {
  return static_cast<std::size_t>(std::bit_width(call_bytes) - std::bit_width(from_));
}

StreamTuner::State StreamTuner::state_of(std::size_t call_bytes) const {
  if (call_bytes < from_) return State::decided;
  const std::size_t index = class_of(call_bytes);
  if (index >= classes_.size() || classes_[index].candidates.empty()) return State::unknown;
  const SizeClass& c = classes_[index];
  return c.decided() ? State::decided : c.unusable == 0 ? State::measuring : State::useless;
}

void StreamTuner::begin_round(SizeClass& c, std::vector<std::size_t> candidates) {
  c.calls = 0;
  c.unusable = 0;
  c.round = tuner::Contest(candidates.size(), rules);
  c.candidates = std::move(candidates);
}

void StreamTuner::search(SizeClass& c) const {
  std::vector<std::size_t> candidates = std::move(c.candidates);
  for (const std::size_t t : {all_temporal, start_, std::size_t{0}}) {
    if (std::ranges::find(candidates, t) == candidates.end()) candidates.push_back(t);
  }
  begin_round(c, std::move(candidates));
  c.halved = start_ / 2;
}

void StreamTuner::decide(SizeClass& c, std::size_t best) {
  c.candidates = {best};
  c.pause.begin(tuner::Pause::usual);
}

StreamTuner::Use StreamTuner::next(std::size_t call_bytes) {
  if (call_bytes < from_) return {};
  const bool is_held = held_ > 0;
  if (is_held) --held_;
  const std::size_t index = class_of(call_bytes);
  if (index >= classes_.size()) classes_.resize(index + 1);
  SizeClass& c = classes_[index];
  if (c.candidates.empty()) {
    search(c);
    return {};
  }
  if (c.decided()) {
    if (!c.pause.is_over(1) || is_held) return {c.candidates.front(), false, index};
    search(c);
  }
  const Use use{c.candidates[c.calls / 2], c.calls % 2 == 1, index};
  if (!use.timed) ++c.calls;
  return use;
}

void StreamTuner::record(const Use& use, std::size_t bytes, double time) {
  if (!use.timed || use.size_class >= classes_.size()) return;
  SizeClass& c = classes_[use.size_class];
  if (c.decided()) return;
  if (bytes == 0) {
    if (++c.unusable >= most_unusable) decide(c, c.candidates.front());
    return;
  }
  c.round.note(c.calls / 2, time / static_cast<double>(bytes));
  if (++c.calls < 2 * c.candidates.size()) return;
  c.calls = 0;
  c.round.end_visit();
  if (c.round.decided()) end_round(c);
}

// The best of the round meets the next T, measured again beside it.
void StreamTuner::end_round(SizeClass& c) {
  const std::size_t best = c.round.best();
  if (best == 0 || c.halved < least) return decide(c, c.candidates[best]);
  begin_round(c, {c.candidates[best], c.halved});
  c.halved /= 2;
}

std::string parse_stream(const std::string& text, StreamWish& wish) {
  using Mode = StreamWish::Mode;
  if (text == "auto" || text == "off" || text == "on") {
    wish = {text == "auto" ? Mode::choose : text == "off" ? Mode::off : Mode::on, 0};
    return {};
  }
  std::size_t bytes = 0;
  if (!text::read_number(text, bytes)) return "expected auto, off, on or a number of bytes";
  wish = {Mode::from, bytes};
  return {};
}

std::size_t first_threshold(std::size_t l2_bytes, int ranks) {
  if (l2_bytes == 0) l2_bytes = std::size_t{1} << 20;
  const std::size_t share = l2_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::max(share / sys::cache_line, std::size_t{1}) * sys::cache_line;
}

std::size_t least_streamed(const LastCaches& caches, std::size_t l2_bytes, int ranks) {
  constexpr std::size_t unknown = std::size_t{32} << 20;
  const std::size_t all = caches.all == 0 ? unknown : caches.all;
  const std::size_t share = all / static_cast<std::size_t>(std::max(ranks, 1));
  const std::size_t mine = caches.mine == 0 ? share : std::min(share, caches.mine);
  return std::max(mine, first_threshold(l2_bytes, 1));
}

CopyPlan copy_plan(const StreamWish& wish, std::size_t l2_bytes, const LastCaches& last, int ranks,
                   std::size_t measured) {
  const std::size_t share = first_threshold(l2_bytes, ranks), least = least_streamed(last, l2_bytes, ranks);
  using Mode = StreamWish::Mode;
  if (wish.mode == Mode::off) return {};
  if (wish.mode == Mode::on) return {0, 0, {}};
  if (wish.mode == Mode::from) return {wish.from, share, {}};
  if (measured != 0) return {std::max(measured, least), share, {}};
  CopyPlan plan;
  plan.tuner.emplace(least, share);
  return plan;
}

}  // namespace quadrille::memory
