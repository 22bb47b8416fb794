#include "team/same_plans.hpp"

#include <cstddef>
#include <utility>

#include "team/ask.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

// Could a rank find that two choices do the same? Known without building a plan.
bool may_do_the_same(const choose::Choice& a, const choose::Choice& b) {
  const choose::Plans plans = row_of(a.algorithm->engine).plans;
  return a.algorithm->engine == b.algorithm->engine && a.algorithm->needs == b.algorithm->needs &&
         a.algorithm->build != nullptr && b.algorithm->build != nullptr &&
         (plans == choose::Plans::messages || plans == choose::Plans::node_copies);
}

// On this rank. Other ranks may do different things.
bool do_the_same(Team& team, Collective collective, const choose::Choice& a, const choose::Choice& b) {
  const Prepared one = prepare(team, collective, a), other = prepare(team, collective, b);
  return one.moving == other.moving && (one.schedule == other.schedule || *one.schedule == *other.schedule);
}

}  // namespace

std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // that may do the same; the later one is second
  std::vector<double> differ_here;
  for (std::size_t second = 1; second < candidates.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (!may_do_the_same(candidates[first], candidates[second])) continue;
      pairs.emplace_back(first, second);
      differ_here.push_back(do_the_same(team, collective, candidates[first], candidates[second]) ? 0 : 1);
    }
  }
  if (pairs.empty()) return candidates;
  std::vector<double> differ(pairs.size());
  largest_of_all(team, differ_here, differ);
  std::vector<bool> is_twin(candidates.size(), false);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (differ[p] == 0) is_twin[pairs[p].second] = true;
  }
  std::vector<choose::Choice> different;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!is_twin[c]) different.push_back(candidates[c]);
  }
  return different;
}

}  // namespace quadrille::team
