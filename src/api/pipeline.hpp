// Calls whose data go from devices' memory to devices' memory over memory of the host, in chunks.
#pragma once

#include "choose/registry.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Carries out a dense call. On one node, of which all ranks share memory, through that; between nodes in rounds, which
// the inner algorithm of the choice exchanges. If some rank cannot take part so, all ranks exchange the data in the
// memory of the host as a whole. Returns an MPI error code.
int pipeline(const run::Call& call, const choose::Choice& choice, team::Team& team);

// What the inner algorithm needs; see EngineWork::prepare.
bool prepare_pipeline(team::Team& team, Collective collective, const choose::Choice& choice);

}  // namespace quadrille::api
