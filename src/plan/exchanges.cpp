#include "plan/exchanges.hpp"

#include <algorithm>

namespace quadrille::plan {
namespace {

// Enough for several rounds of radix 2, and no power of it.
constexpr int few_ranks = 5;

template <class Fits>
bool fits_on_few_ranks(Build exchange, Fits fits) {
  const NodeMap nodes = one_node(few_ranks);
  for (int me = 0; me < few_ranks; ++me) {
    const Problem problem{few_ranks, me, &nodes, {}};
    if (!fits(problem, exchange(problem))) return false;
  }
  return true;
}

}  // namespace

std::optional<Window> direct_window(Build exchange, const Parameters& parameters) {
  const bool is_direct = fits_on_few_ranks(exchange, [](const Problem& problem, const Schedule& schedule) {
    return schedule == direct_exchange(problem, schedule.rounds.front().window);
  });
  if (!is_direct) return {};
  const NodeMap nodes = one_node(few_ranks);
  return exchange({few_ranks, 0, &nodes, parameters}).rounds.front().window;
}

bool sets_own_block_apart(Build all_to_all) {
  return fits_on_few_ranks(all_to_all, [](const Problem& problem, const Schedule& schedule) {
    const auto is_own = [&](const Span& span) { return span.buffer != Buffer::scratch && span.block == problem.me; };
    return std::none_of(schedule.spans.begin(), schedule.spans.end(), is_own) &&
           std::all_of(schedule.copies.begin(), schedule.copies.end(),
                       [&](const Copy& copy) { return is_own(copy.from) == is_own(copy.to); });
  });
}

bool gathers_in_place(Build allgather) {
  return fits_on_few_ranks(allgather, [](const Problem& problem, const Schedule& schedule) {
    const Copy own{{problem.me, 0, Buffer::send}, {problem.me, problem.me, Buffer::recv}};
    return schedule.scratch_blocks == 0 &&
           std::all_of(schedule.copies.begin(), schedule.copies.end(), [&](const Copy& copy) { return copy == own; });
  });
}

}  // namespace quadrille::plan
