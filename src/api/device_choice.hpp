// Calls with a device's memory have choices of their own, where the MPI takes such memory (choose/select.hpp,
// select_for_devices).
#pragma once

#include <cstddef>

#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Collective, for a dense call that waits, on a team that is ready: has some rank its data in a device's memory, as far as
// the ranks know? They ask each other from time to time, less and less often while the answer is the same. What a rank
// gives is a matter of its own; all choose alike, and what an algorithm cannot take where it is goes over the host.
bool is_on_devices(const run::Call& call, team::Team& team);

}  // namespace quadrille::api
