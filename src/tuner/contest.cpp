#include "tuner/contest.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::tuner {

Contest::Contest(std::size_t ways, const Rules& rules, std::span<const std::size_t> racing)
    : rules_(rules), times_(ways), is_in_(ways, racing.empty()), decided_(ways < 2) {
  for (const std::size_t way : racing) is_in_[way] = true;
  if (!racing.empty()) first_ = racing.front();
}

std::size_t Contest::in_turn(std::size_t turn) const {
  for (std::size_t way = 0; way < ways(); ++way) {
    if (is_in_[way] && turn-- == 0) return way;
  }
  return ways();
}

void Contest::note(std::size_t way, double time) {
  const bool alone = ways() == 1;  // it has won, and its times are asked for all the same
  if ((!decided_ || alone) && is_in_[way]) times_[way].push_back(std::isnan(time) ? never : time);
}

void Contest::end_visit() {
  if (decided_) return;
  double best = never;
  for (std::size_t way = 0; way < ways(); ++way) {
    if (is_in_[way]) best = std::min(best, times_[way].back());
  }
  const double lost = rules_.lost[visit_ == 0 ? 0 : 1];
  bool has_rival = false;
  for (std::size_t way = 0; way < ways(); ++way) {
    if (!is_rival(way)) continue;
    // Of nothing that took for ever one can say how many times as long it took.
    is_in_[way] = lost == never || times_[way].back() <= lost * best;
    has_rival = has_rival || is_in_[way];
  }
  decided_ = ++visit_ >= rules_.visits || !has_rival;
}

std::size_t Contest::best_of_those_in(const Contest& other) const {
  std::size_t best = first_;
  for (std::size_t way = 0; way < ways(); ++way) {
    if (!other.is_rival(way) || !beats_first(way)) continue;
    if (best == first_ || counted(way) < counted(best)) best = way;
  }
  return best;
}

std::vector<double> Contest::sorted(std::size_t way) const {
  std::vector<double> times = times_[way];
  if (times.empty()) times = {never};
  std::ranges::sort(times);
  return times;
}

double Contest::median(std::size_t way) const {
  const std::vector<double> times = sorted(way);
  return times[times.size() / 2];
}

double Contest::middle_half(std::size_t way) const {
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

double Contest::counted(std::size_t way) const { return rules_.counts == Counts::least ? least(way) : median(way); }

bool Contest::beats_first(std::size_t way) const {
  if (rules_.counts != Counts::least && !(median(way) < median(first_) * rules_.must_take)) return false;
  return rules_.counts == Counts::median || least(way) < least(first_) * rules_.must_take;
}

std::size_t best_cut(std::span<const double> first, std::span<const double> second) {
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

std::size_t largest_of_first(std::span<const std::size_t> sizes, std::size_t cut, std::size_t all) {
  if (sizes.empty() || cut == sizes.size()) return all;
  return cut == 0 ? sizes.front() - 1 : sizes[cut - 1];
}

std::size_t least_of_second(std::span<const std::size_t> sizes, std::size_t cut) {
  if (cut == 0 || sizes.empty()) return 0;
  return cut == sizes.size() ? sizes.back() + 1 : sizes[cut];
}

}  // namespace quadrille::tuner
