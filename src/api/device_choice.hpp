// Calls with a device's memory have choices of their own, where the MPI takes such memory (choose/select.hpp,
// select_for_devices).
#pragma once

#include <cstddef>

#include "api/refused.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// When the ranks ask each other whether some of them has its data in a device's memory.
enum class Asks {
  now_and_then,  // less and less often while the answer is the same: in calls that wait
  for_itself,    // persistent requests: the answer is for this one alone
  once,          // what may wait in the first call only: if nobody has asked before
  never,         // what may not wait goes by what the others found
};

// Collective, on a team that is ready: has some rank its data in a device's memory, as far as the ranks know? What a
// rank gives is a matter of its own; all choose alike, and what an algorithm cannot take where it is goes over the
// host. `ahead`: of a call that asks now and then.
bool is_on_devices(const run::Call& call, team::Team& team, Asks asks = Asks::now_and_then,
                   CountedAhead* ahead = nullptr);

// What was selected for calls like this one; `drop_in` and `bytes` as in selection_for() (api/serve.hpp).
team::CachedSelection& device_selection_for(const run::Call& call, std::size_t bytes, team::Team& team, bool drop_in);

}  // namespace quadrille::api
