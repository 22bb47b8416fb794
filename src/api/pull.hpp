// Calls whose data lie in devices' memory of one node, by copies between the ranks' own buffers.
#pragma once

#include <string>

#include "choose/registry.hpp"
#include "run/call.hpp"
#include "run/device_pull.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Notes what became of a call, and says it once a communicator where the user wants to know.
void note_pull(Collective collective, const std::string& choice, team::Team& team, bool pulled);

// How it is to be done, by the choice and the user's settings.
run::PullWays ways_of_pull(const choose::Choice& choice);

// The data of all ranks of a node go over the memory of the host, whole, and there by pairs. Returns an MPI error code.
int exchange_over_host(const run::Call& call, team::Team& team);

// Carries out a dense call on one node, of which all ranks share memory. If some rank cannot take part so, all ranks
// exchange the data in the memory of the host. Returns an MPI error code.
int pull(const run::Call& call, const choose::Choice& choice, team::Team& team);

}  // namespace quadrille::api
