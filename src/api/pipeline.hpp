// Calls whose data go from devices' memory to devices' memory of one node over memory of the host, in chunks.
#pragma once

#include "choose/registry.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Carries out a dense call on one node, of which all ranks share memory. If some rank cannot take part so, all ranks
// exchange the data in the memory of the host. Returns an MPI error code.
int pipeline(const run::Call& call, const choose::Choice& choice, team::Team& team);

}  // namespace quadrille::api
