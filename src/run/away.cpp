#include "run/away.hpp"

#include <algorithm>

namespace quadrille::run {
namespace {

std::size_t round_of_messages(const plan::Schedule& schedule) {
  const auto found = std::find_if(schedule.rounds.begin(), schedule.rounds.end(), [](const plan::Round& round) {
    return round.sends.count + round.receives.count > 0;
  });
  return static_cast<std::size_t>(found - schedule.rounds.begin());
}

bool is_beside(const plan::Schedule& schedule) {
  const std::size_t round = round_of_messages(schedule);
  return round < schedule.rounds.size() && schedule.rounds[round].beside;
}

}  // namespace

// If a plan has scratch, ranks forward blocks. What is inside the node packs elsewhere meanwhile.
AwayMessages::AwayMessages(const Call& call, const plan::Schedule& schedule, Group& group, std::size_t eager)
    : waiter_(group.waiter),
      beside_(run::is_beside(schedule)),
      memory_({group.scratch.sure, group.scratch.away, group.scratch.carried, group.scratch.lists}),
      run_(call, schedule, Moving{.as_bytes = schedule.scratch_blocks > 0, .eager = eager},
           Traffic{group.messages().comm, group.messages().quiet, group.me, group.ranks}, memory_,
           BetweenNodes{group.reach().local, round_of_messages(schedule)}) {}

}  // namespace quadrille::run
