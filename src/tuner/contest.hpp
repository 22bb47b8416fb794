// Which of several ways is the fastest: the one tuner of all that is found out by measuring, whoever measures.
//
// Idea    The ways are measured in turn, once each a visit, so that a program which gets faster or slower meanwhile
//         favours none. What has taken too long in a visit has lost and is not measured again. Of a way's times the
//         least counts, which nobody disturbed, or the median, or both. The first way is the one that would be taken
//         unmeasured: another must be better by a margin in all that counts. Where several ranks measure, the times are
//         the maxima over them, and all come to the same end.
// Later   Programs change, and what was measured may have been disturbed. So a race that repeats pauses (Pause): what
//         it found is checked after so many calls, four times as many each time. In a check the winner races a few
//         others, and stays unless one is better by the margin. All ways race again only if another wins.
// Cost    At most visits * ways times, one visit for a way that loses at once. Checks: in the long run below 1 % of the
//         calls.
//
// Example, three ways, B takes long, 3 visits:   A B C | A C | A C
//
// Pure: the caller measures. The trials of calls (choose/trial.hpp), streaming stores (memory/node_copy.hpp), the
// calibration of a program (api/trials.cpp) and `quadrille tune` differ in what they measure and in these rules.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace quadrille::tuner {

inline constexpr double never = std::numeric_limits<double>::infinity();

enum class Counts { least, median, both };

struct Rules {
  int visits = 3;
  Counts counts = Counts::both;
  // Another way must take less than so much of the time of the first one to replace it.
  double must_take = 1;
  // By visit: what takes so many times as long as the best of it has lost. The last number is that of all later visits.
  // The first way does not lose.
  std::array<double, 2> lost = {never, never};
};

// Calls go by what was found until the next race. Counted alike by all that race together.
struct Pause {
  static constexpr int usual = 4096, if_nothing_was_found = 64, times_as_long = 4, longest = 1 << 30;
  int length = 0;  // 0: for ever
  int left = 0;    // calls

  void begin(int least) {
    length = std::max(least, times_as_long * std::min(length, longest / times_as_long));
    left = length;
  }
  // Counts calls unless the next one begins a race.
  bool is_over(int calls) {
    if (left == 0 && length > 0) return true;
    left = std::max(left - calls, 0);
    return false;
  }
};

class Contest {
 public:
  Contest() = default;
  // At least one way. One alone has won. `racing`: only these, of which the first is the one to beat; none: all.
  Contest(std::size_t ways, const Rules& rules, std::span<const std::size_t> racing = {})
      : rules_(rules), times_(ways), is_in_(ways, racing.empty()), decided_(ways < 2) {
    for (const std::size_t way : racing) is_in_[way] = true;
    if (!racing.empty()) first_ = racing.front();
  }

  std::size_t ways() const { return times_.size(); }
  std::size_t first() const { return first_; }
  bool decided() const { return decided_; }
  bool is_in(std::size_t way) const { return is_in_[way]; }
  bool is_rival(std::size_t way) const { return is_in_[way] && way != first_; }
  int visit() const { return visit_; }
  // Of those still in: the way whose turn is number `turn` of a visit; ways() if there are not so many.
  std::size_t in_turn(std::size_t turn) const {
    for (std::size_t way = 0; way < ways(); ++way) {
      if (is_in_[way] && turn-- == 0) return way;
    }
    return ways();
  }

  // Of a way that is in, once a visit. What is no number is never the best. Also of one that is alone.
  void note(std::size_t way, double time) {
    const bool alone = ways() == 1;  // it has won, and its times are asked for all the same
    if ((!decided_ || alone) && is_in_[way]) times_[way].push_back(std::isnan(time) ? never : time);
  }
  // All that are in were noted. Nothing happens if it is decided.
  void end_visit() {
    end_visit([](std::size_t) { return true; });
  }
  // Likewise. Ways of which `tells(way)` is false stay, and no other way loses to them.
  template <class Tells>
  void end_visit(const Tells& tells) {
    if (decided_) return;
    double best = never;
    for (std::size_t way = 0; way < ways(); ++way) {
      if (is_in_[way] && tells(way)) best = std::min(best, times_[way].back());
    }
    const double lost = rules_.lost[visit_ == 0 ? 0 : 1];
    bool has_rival = false;
    for (std::size_t way = 0; way < ways(); ++way) {
      if (is_rival(way) && !tells(way)) has_rival = true;
      if (!is_rival(way) || !tells(way)) continue;
      // Of nothing that took for ever one can say how many times as long it took.
      is_in_[way] = lost == never || times_[way].back() <= lost * best;
      has_rival = has_rival || is_in_[way];
    }
    decided_ = ++visit_ >= rules_.visits || !has_rival;
  }
  // Before the end of a visit: goes on to as many of them, and no way loses any more.
  void go_on_to(int visits) { rules_.visits = visits, rules_.lost = {never, never}; }
  // No more visits: what was measured decides.
  void end() { decided_ = true; }

  // Of the times that were noted; `never` if there are none.
  double least(std::size_t way) const { return sorted(way).front(); }
  double median(std::size_t way) const {
    const std::vector<double> times = sorted(way);
    return times[times.size() / 2];
  }
  // How far the middle half of its times reaches; `never` if there are none.
  double middle_half(std::size_t way) const {
    const std::vector<double> times = sorted(way);
    if (times[0] == never) return never;
    const auto at = [&](double part) {  // between two of them where need be
      const double place = part * static_cast<double>(times.size() - 1);
      const auto before = static_cast<std::size_t>(place);
      const double next = times[std::min(before + 1, times.size() - 1)];
      return times[before] + (place - static_cast<double>(before)) * (next - times[before]);
    };
    return at(0.75) - at(0.25);
  }
  // Of what was measured so far, and of the ways that still count.
  std::size_t best() const { return best_of_those_in(*this); }
  // Likewise of the first one and of those of which `counts(way)` is true.
  template <class Counting>
  std::size_t best(const Counting& counts) const {
    std::size_t best = first_;
    for (std::size_t way = 0; way < ways(); ++way) {
      if (way == first_ || !counts(way) || !beats_first(way)) continue;
      if (best == first_ || counted(way) < counted(best)) best = way;
    }
    return best;
  }
  // By the times of this contest, of the ways that are still in another one between the same ways.
  std::size_t best_of_those_in(const Contest& other) const {
    return best([&](std::size_t way) { return other.is_rival(way); });
  }

 private:
  // `never` if there are none.
  std::vector<double> sorted(std::size_t way) const {
    std::vector<double> times = times_[way];
    if (times.empty()) times = {never};
    std::ranges::sort(times);
    return times;
  }
  bool beats_first(std::size_t way) const {
    if (rules_.counts != Counts::least && !(median(way) < median(first_) * rules_.must_take)) return false;
    return rules_.counts == Counts::median || least(way) < least(first_) * rules_.must_take;
  }
  double counted(std::size_t way) const { return rules_.counts == Counts::least ? least(way) : median(way); }

  Rules rules_;
  std::vector<std::vector<double>> times_;  // [way][visit]
  std::vector<bool> is_in_;
  std::size_t first_ = 0;
  int visit_ = 0;
  bool decided_ = true;
};

// ---- From measured times to a switch point ----

// Two ways were measured at growing sizes; the first is better for small ones. Returns how many of
// the sizes are best left to it: with that cut, the product of the times is least, so that one
// disturbed measurement among good ones does not move it. Of equal cuts the largest, that is, the
// first way.
inline std::size_t best_cut(std::span<const double> first, std::span<const double> second) {
  const std::size_t sizes = std::min(first.size(), second.size());
  // What is lost, in the logarithm, by leaving the sizes up to a cut to the first way.
  double loss = 0, least = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < sizes; ++i) {
    if (first[i] > 0 && second[i] > 0) loss += std::log(first[i] / second[i]);
    if (loss <= least) {
      least = loss;
      best = i + 1;
    }
  }
  return best;
}

// The same as sizes. Largest block that is left to the first way; `all` if every size is.
inline std::size_t largest_of_first(std::span<const std::size_t> sizes, std::size_t cut, std::size_t all) {
  if (sizes.empty() || cut == sizes.size()) return all;
  return cut == 0 ? sizes.front() - 1 : sizes[cut - 1];
}
// Least block for the second way: just above what was measured if that is none of it.
inline std::size_t least_of_second(std::span<const std::size_t> sizes, std::size_t cut) {
  if (cut == 0 || sizes.empty()) return 0;
  return cut == sizes.size() ? sizes.back() + 1 : sizes[cut];
}

}  // namespace quadrille::tuner
