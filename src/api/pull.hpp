// Calls whose data lie in devices' memory of one node, by copies between the ranks' own buffers.
#pragma once

#include "choose/registry.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Carries out a dense call on one node, of which all ranks share memory. If some rank cannot take part so, all ranks
// exchange the data in the memory of the host. Returns an MPI error code.
int pull(const run::Call& call, const choose::Choice& choice, team::Team& team);

}  // namespace quadrille::api
