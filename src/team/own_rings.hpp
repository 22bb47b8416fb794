// Rings that one persistent call has for itself.
#pragma once

#include <optional>

#include "run/call.hpp"
#include "run/node_neighbors.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// Collective over a team whose ranks share a node and have rings, and whose neighbours are known. Nothing, on all
// ranks, if there is no memory left for them.
std::optional<run::OwnRings> own_rings(Team& team, const run::Call& call);

}  // namespace quadrille::team
